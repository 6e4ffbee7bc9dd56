"""A translator: token ids in, scores of the next token of the translation out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tinytensor.tensor import Tensor

from . import functional as F
from . import init
from .attention_masks import padding_mask
from .linear import Embedding, Linear
from .module import Module
from .position import SinusoidalPosition
from .transformer import Transformer


class Seq2SeqTransformer(Module):
    """logits = head(transformer(√C·src_tokens[src] + positions, √C·tgt_tokens[tgt] + positions))

    pad: the id of padding in the source, which is never attended to; None: there is none.
    max_len: the longest sequence. tie_weights: head uses the table of target embeddings.
    The other arguments are those of nn.Transformer; sequences have the batch first.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        norm_first: bool = False,
        max_len: int = 1024,
        pad: int | None = None,
        tie_weights: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.d_model, self.pad = d_model, pad
        self.src_tokens = Embedding(src_vocab_size, d_model, **options)
        self.tgt_tokens = Embedding(tgt_vocab_size, d_model, **options)
        self.positions = SinusoidalPosition(d_model, max_len, dropout=dropout, **options)
        self.transformer = Transformer(
            d_model,
            nhead,
            num_encoder_layers,
            num_decoder_layers,
            dim_feedforward,
            dropout,
            activation,
            batch_first=True,
            norm_first=norm_first,
            **options,
        )
        self.head = Linear(d_model, tgt_vocab_size, **options)
        if tie_weights:
            self.head.weight = self.tgt_tokens.weight
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Embeddings that have, times √C, deviation 1; the transformer has set its own."""
        for table in (self.src_tokens, self.tgt_tokens):
            init.normal_(table.weight, std=1 / math.sqrt(self.d_model))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits (N, T, tgt_vocab_size) of the token after each one of tgt.

        src (N, S), tgt (N, T): token ids. In training tgt is the translation without its last
        token, and the logits are compared with the translation without its first.
        """
        return self.decode(tgt, self.encode(src), self.padding(src))

    def encode(self, src: Tensor) -> Tensor:
        """The memory (N, S, C) that the decoder reads, of token ids src (N, S)."""
        return self.transformer.encoder(
            self._embed(self.src_tokens, src), src_key_padding_mask=self.padding(src)
        )

    def decode(
        self, tgt: Tensor, memory: Tensor, memory_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Logits (N, T, tgt_vocab_size) of the token after each one of tgt (N, T).

        memory: of `encode(src)`; memory_key_padding_mask: of `padding(src)`. Padding at the end of
        tgt needs no mask: no token sees those after it.
        """
        look_ahead = Transformer.generate_square_subsequent_mask(
            tgt.shape[1], device=memory.device, dtype=memory.dtype
        )
        x = self.transformer.decoder(
            self._embed(self.tgt_tokens, tgt),
            memory,
            tgt_mask=look_ahead,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=True,
        )
        return self.head(x)

    def padding(self, src: Tensor) -> Tensor | None:
        """True where src is padding, (N, S); None if there is no such token."""
        return None if self.pad is None else padding_mask(src, self.pad)

    def _embed(self, table: Embedding, idx: Tensor) -> Tensor:
        return self.positions(table(idx) * math.sqrt(self.d_model))  # (N, T) → (N, T, C)


__all__ = ["Seq2SeqTransformer"]
