"""GPT: a decoder-only transformer that predicts the next token."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .. import functional as F
from .. import init
from ..attention import attend
from ..container import ModuleList
from ..dropout import Dropout
from ..generation.fast_decode import fast_decode
from ..generation.generate import generate
from ..generation.kv_cache import KVCache, LayerCache
from ..linear import Embedding, Linear
from ..module import Module
from ..norm import LayerNorm
from ..position import LearnedPosition, RotaryPosition


@dataclass
class GPTConfig:
    """The settings of a GPT; the defaults are GPT-2's smallest."""

    vocab_size: int = 50257
    block_size: int = 1024  # the longest sequence
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True  # in linear layers and norms
    position: str = "learned"  # or "rotary"
    tie_weights: bool = True  # the output layer shares the token embeddings


class CausalSelfAttention(Module):
    """Each token attends to itself and earlier tokens, in n_head heads of width D = C / n_head."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        width = config.n_embd
        self.n_head = config.n_head
        self.dropout = config.dropout
        self.qkv = Linear(width, 3 * width, bias=config.bias)
        self.proj = Linear(width, width, bias=config.bias)
        self.drop = Dropout(config.dropout)
        self.rotary = None
        if config.position == "rotary":
            self.rotary = RotaryPosition(width // config.n_head, max_len=config.block_size)

    def forward(self, x: Tensor, cache: LayerCache | None = None) -> Tensor:
        """x (N, T, C) → (N, T, C); with a cache, x holds the T tokens after the cached ones."""
        past = 0 if cache is None else cache.length
        q, k, v = map(self._split_heads, self.qkv(x).chunk(3, dim=-1))  # 3 × (N, H, T, D)
        if self.rotary is not None:
            q, k = self.rotary(q, k, offset=past)
        if cache is not None:
            k, v = cache.extend(k, v)  # (N, H, past + T, D)
        mask = self._mask_after(past, x) if past else None
        dropout_p = self.dropout if self.training else 0.0
        y, _ = attend(q, k, v, mask, dropout_p, is_causal=not past)
        y = y.transpose(1, 2).reshape(x.shape)  # (N, H, T, D) → (N, T, H, D) → (N, T, C)
        return self.drop(self.proj(y))

    def _split_heads(self, x: Tensor) -> Tensor:
        heads = x.reshape(*x.shape[:2], self.n_head, -1)  # (N, T, C) → (N, T, H, D)
        return heads.transpose(1, 2)  # (N, T, H, D) → (N, H, T, D)

    @staticmethod
    def _mask_after(past: int, x: Tensor) -> Tensor | None:
        """True where a token may attend, (T, past + T); None for a single token, which sees all."""
        new = x.shape[1]
        if new == 1:
            return None
        t = tt.arange(past, past + new, device=x.device)
        return tt.arange(past + new, device=x.device) <= t.unsqueeze(1)


class MLP(Module):
    """x ← proj(gelu(fc(x))), with a hidden layer four times as wide."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.fc = Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.proj = Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.drop = Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.proj(F.gelu(self.fc(x), approximate="tanh")))


class Block(Module):
    """x ← x + attn(norm1(x)),  x ← x + mlp(norm2(x))"""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.norm1 = LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.norm2 = LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, cache: LayerCache | None = None) -> Tensor:
        if cache is not None:
            y = fast_decode(self, x, cache)
            if y is not None:
                return y
        x = x + self.attn(self.norm1(x), cache)
        x = x + self.mlp(self.norm2(x))
        return x


class GPT(Module):
    """logits = head(norm(blocks(tokens[idx] + positions)))

    Weights start as in GPT-2: normal with standard deviation 0.02, or 0.02 / √(2·n_layer) for the
    two projections of each block that feed the skip connection. Biases start at zero.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        if config.n_embd % config.n_head:
            raise ValueError(
                f"GPT: n_embd={config.n_embd} is not divisible by n_head={config.n_head}, "
                "expected heads of equal width"
            )
        if config.position not in ("learned", "rotary"):
            raise ValueError(
                f"GPT: got position={config.position!r}, expected 'learned' or 'rotary'"
            )
        self.config = config
        self.tokens = Embedding(config.vocab_size, config.n_embd)
        self.positions = None
        if config.position == "learned":
            self.positions = LearnedPosition(config.n_embd, config.block_size)
        self.drop = Dropout(config.dropout)
        self.blocks = ModuleList([Block(config) for _ in range(config.n_layer)])
        self.norm = LayerNorm(config.n_embd, bias=config.bias)
        self.head = Linear(config.n_embd, config.vocab_size, bias=False)
        if config.tie_weights:
            self.head.weight = self.tokens.weight
        self.reset_parameters()

    def reset_parameters(self) -> None:
        residual_std = 0.02 / math.sqrt(2 * self.config.n_layer)
        for path, parameter in self.named_parameters():
            if path.endswith("bias"):
                init.zeros_(parameter)
            elif parameter.ndim > 1:  # norm weights stay at one
                init.normal_(parameter, std=residual_std if path.endswith("proj.weight") else 0.02)

    def forward(
        self, idx: Tensor, targets: Tensor | None = None, cache: KVCache | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """(logits (N, T, vocab_size), loss or None) for token ids idx (N, T).

        targets (N, T): the tokens to predict, −1 at positions to ignore; the loss is the mean cross
        entropy. cache: keys and values of the tokens before idx; those of idx are added. Needs
        no_grad.
        """
        past = 0 if cache is None else cache.length
        if past + idx.shape[1] > self.config.block_size:
            raise ShapeError(
                f"GPT: got {past + idx.shape[1]} tokens, expected at most "
                f"block_size={self.config.block_size}; cut the sequence"
            )
        x = self.tokens(idx)  # (N, T) → (N, T, C)
        if self.positions is not None:
            x = self.positions(x, offset=past)
        x = self.drop(x)
        for i, block in enumerate(self.blocks):
            x = block(x, None if cache is None else cache.layers[i])
        logits = self.head(self.norm(x))  # (N, T, C) → (N, T, V)
        if targets is None:
            return logits, None
        # (N, T, V) → (N·T, V), (N, T) → (N·T)
        flat = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
        return logits, F.cross_entropy(*flat, ignore_index=-1)

    def new_cache(self, batch_size: int, max_len: int | None = None) -> KVCache:
        """An empty cache for batch_size sequences of up to max_len (default block_size) tokens."""
        config, weight = self.config, self.tokens.weight
        longest = config.block_size if max_len is None else max_len
        shape = (batch_size, config.n_head, longest, config.n_embd // config.n_head)
        return KVCache(config.n_layer, shape, device=weight.device, dtype=weight.dtype)

    def generate(
        self,
        idx: Tensor,
        max_new_tokens: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        **options: Any,
    ) -> Tensor:
        """Append max_new_tokens tokens to idx (N, T), drawn at random unless temperature is 0.

        options: passed on to `nn.generate`.
        """
        return generate(self, idx, max_new_tokens, temperature, top_k, **options)


__all__ = ["GPT", "GPTConfig"]
