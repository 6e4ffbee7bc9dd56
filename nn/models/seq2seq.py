"""Seq2SeqTransformer: a translator, from source and target token ids to next-token logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tinytensor.tensor import Tensor

from .. import functional as F
from .. import init
from ..attention_masks import padding_mask
from ..generation.generate import generate
from ..generation.kv_cache import DecoderCache
from ..generation.next_logits import inference, modules_of
from ..linear import Embedding, Linear
from ..module import Module
from ..position import SinusoidalPosition
from ..transformer import Transformer


class Seq2SeqTransformer(Module):
    """logits = head(transformer(√C·src_tokens[src] + positions, √C·tgt_tokens[tgt] + positions))

    pad: id of padding in the source, which is never attended to; None: no padding.
    max_len: the longest sequence. tie_weights: head shares the target embeddings.
    The other arguments are those of nn.Transformer; inputs are batch-first.
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
        """Embeddings get standard deviation 1/√C, so that √C·embedding has 1."""
        for table in (self.src_tokens, self.tgt_tokens):
            init.normal_(table.weight, std=1 / math.sqrt(self.d_model))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Next-token logits (N, T, tgt_vocab_size) at each position of tgt.

        src (N, S), tgt (N, T): token ids. In training, tgt is the translation without its last
        token, and the target of the loss is the translation without its first.
        """
        return self.decode(tgt, self.encode(src), self.padding(src))

    def encode(self, src: Tensor) -> Tensor:
        """The encoder's output, the memory (N, S, C), for token ids src (N, S)."""
        return self.transformer.encoder(
            self._embed(self.src_tokens, src), src_key_padding_mask=self.padding(src)
        )

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        memory_key_padding_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Next-token logits (N, T, tgt_vocab_size) at each position of tgt (N, T).

        memory: from `encode(src)`; memory_key_padding_mask: from `padding(src)`. Padding at the end
        of tgt needs no mask, as no token sees later ones. cache: from `new_cache`, keys and values
        of the tokens before tgt; those of tgt are added. Needs no_grad.
        """
        past = 0 if cache is None else cache.length
        look_ahead = None
        if not past or tgt.shape[1] > 1:  # a single new token may see all
            look_ahead = Transformer.generate_square_subsequent_mask(
                past + tgt.shape[1], device=memory.device, dtype=memory.dtype
            )[past:]  # (past + T, past + T) → (T, past + T)
        x = self.transformer.decoder(
            self._embed(self.tgt_tokens, tgt, past),
            memory,
            tgt_mask=look_ahead,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=not past,
            cache=cache,
        )
        return self.head(x)

    def generate(
        self, src: Tensor, bos: int, eos: int, max_len: int, beams: int = 1, **options: Any
    ) -> Tensor:
        """Translate src (N, S) to (N, T): bos, up to max_len − 2 tokens, eos, then padding.

        A translation that is cut off at max_len tokens has no eos. options: passed on to
        `nn.generate`; pad is by default that of the source, or else eos.
        """
        if not 1 <= max_len <= self.positions.max_len:
            raise ValueError(
                f"Seq2SeqTransformer: got max_len={max_len}, expected 1 to "
                f"{self.positions.max_len}, the longest sequence it was made for"
            )
        options = {"pad": self.pad, "stop": eos, **options}
        with inference(modules_of(self)):
            prompt = src.new_full((len(src), 1), bos)  # (N, 1)
            return generate(_Translation(self, src), prompt, max_len - 1, beams=beams, **options)

    def padding(self, src: Tensor) -> Tensor | None:
        """True where src is padding, (N, S); None if pad is None."""
        return None if self.pad is None else padding_mask(src, self.pad)

    def new_cache(self, batch_size: int, max_len: int | None = None) -> DecoderCache:
        """An empty cache for batch_size translations of up to max_len tokens."""
        layers, weight = self.transformer.decoder.layers, self.tgt_tokens.weight
        longest = self.positions.max_len if max_len is None else max_len
        heads = self.transformer.nhead
        shape = (batch_size, heads, longest, self.d_model // heads)
        return DecoderCache(len(layers), shape, device=weight.device, dtype=weight.dtype)

    def _embed(self, table: Embedding, idx: Tensor, offset: int = 0) -> Tensor:
        x = table(idx) * math.sqrt(self.d_model)  # (N, T) → (N, T, C)
        return self.positions(x, offset)


class _Translation:
    """The translator as a function of tgt alone, for fixed sources, as `nn.generate` expects."""

    def __init__(self, model: Seq2SeqTransformer, src: Tensor) -> None:
        self.model, self.new_cache = model, model.new_cache
        self.memory, self.padding = model.encode(src), model.padding(src)

    def __call__(self, tgt: Tensor, cache: DecoderCache | None = None) -> Tensor:
        beams = len(tgt) // len(self.memory)
        if beams > 1:  # the hypotheses of a source are adjacent rows
            self.memory = self.memory.repeat_interleave(beams, dim=0)
            if self.padding is not None:
                self.padding = self.padding.repeat_interleave(beams, dim=0)
        return self.model.decode(tgt, self.memory, self.padding, cache)


__all__ = ["Seq2SeqTransformer"]
