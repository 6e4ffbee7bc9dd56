"""BERT: a transformer encoder that fills in masked tokens."""

from __future__ import annotations

from dataclasses import dataclass

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .. import functional as F
from .. import init
from ..attention_masks import padding_mask
from ..dropout import Dropout
from ..linear import Embedding, Linear
from ..module import Module
from ..norm import LayerNorm
from ..parameter import Parameter
from ..position import LearnedPosition
from ..transformer import TransformerEncoder
from ..transformer_layers import TransformerEncoderLayer


@dataclass
class BERTConfig:
    """The settings of a BERT; the defaults are those of BERT-base."""

    vocab_size: int = 30522
    block_size: int = 512  # the longest sequence
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    n_segment: int = 2
    dropout: float = 0.1
    layer_norm_eps: float = 1e-12
    pad: int | None = 0  # id of padding, which is never attended to; None: no padding


class MaskedLanguageHead(Module):
    """logits = norm(gelu(dense(x)))·tableᵀ + bias, where `table` is the token embeddings."""

    def __init__(self, config: BERTConfig, table: Parameter) -> None:
        super().__init__()
        self.dense = Linear(config.n_embd, config.n_embd)
        self.norm = LayerNorm(config.n_embd, eps=config.layer_norm_eps)
        self.decoder = Linear(config.n_embd, config.vocab_size)
        self.decoder.weight = table

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.norm(F.gelu(self.dense(x))))


class BERT(Module):
    """logits = head(encoder(norm(tokens[idx] + positions + segments[segment])))

    Every token attends to all others, before and after it. Post-norm; the output layer shares the
    token embeddings. Weights start normal with standard deviation 0.02, biases at zero.
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = Embedding(config.vocab_size, config.n_embd)
        self.positions = LearnedPosition(config.n_embd, config.block_size)
        self.segments = Embedding(config.n_segment, config.n_embd)
        self.norm = LayerNorm(config.n_embd, eps=config.layer_norm_eps)
        self.drop = Dropout(config.dropout)
        layer = TransformerEncoderLayer(
            config.n_embd,
            config.n_head,
            dim_feedforward=4 * config.n_embd,
            dropout=config.dropout,
            activation="gelu",
            layer_norm_eps=config.layer_norm_eps,
            batch_first=True,
        )
        self.encoder = TransformerEncoder(layer, config.n_layer)
        self.head = MaskedLanguageHead(config, self.tokens.weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for path, parameter in self.named_parameters():
            if path.endswith("bias"):
                init.zeros_(parameter)
            elif parameter.ndim > 1:  # norm weights stay at one
                init.normal_(parameter, std=0.02)

    def encode(
        self,
        idx: Tensor,
        segment: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """A vector for each token, (N, T, C); the arguments are those of forward."""
        if idx.shape[1] > self.config.block_size:
            raise ShapeError(
                f"BERT: got {idx.shape[1]} tokens, expected at most "
                f"block_size={self.config.block_size}; cut the sequence"
            )
        if segment is None:
            segment = tt.zeros_like(idx)
        if key_padding_mask is None and self.config.pad is not None:
            key_padding_mask = padding_mask(idx, self.config.pad)
        x = self.positions(self.tokens(idx)) + self.segments(segment)  # (N, T) → (N, T, C)
        x = self.drop(self.norm(x))
        return self.encoder(x, src_key_padding_mask=key_padding_mask)

    def forward(
        self,
        idx: Tensor,
        segment: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        targets: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """(logits (N, T, vocab_size), loss or None) for token ids idx (N, T).

        segment (N, T): the number of the text that a token belongs to, by default 0.
        key_padding_mask (N, T): True at padding, by default where idx is config.pad.
        targets (N, T): the original tokens at masked positions, −100 everywhere else; the loss is
        the mean cross entropy.
        """
        logits = self.head(self.encode(idx, segment, key_padding_mask))
        if targets is None:
            return logits, None
        # (N, T, V) → (N·T, V), (N, T) → (N·T)
        flat = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
        return logits, F.cross_entropy(*flat)


__all__ = ["BERT", "BERTConfig"]
