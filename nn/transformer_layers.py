"""One layer of a transformer's encoder, and one of its decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytensor.tensor import Tensor

from . import functional as F
from .attention import MultiheadAttention
from .dropout import Dropout
from .generation.kv_cache import LayerCache, MemoryCache
from .linear import Linear
from .module import Module
from .norm import LayerNorm


class TransformerEncoderLayer(Module):
    """Self-attention, then a feed-forward network, each with a skip connection.

    post-norm (the default):  x ← norm1(x + attn(x)),   x ← norm2(x + ff(x))
    pre-norm (norm_first):    x ← x + attn(norm1(x)),   x ← x + ff(norm2(x))
    where ff(x) = linear2(activation(linear1(x))), with a hidden layer of width dim_feedforward.

    activation: "relu", "gelu", a function or a module. dropout: on the attention weights, inside
    ff, and on the outputs of attn and ff. bias: in all linear layers and norms. batch_first:
    sequences are (N, S, E), not (S, N, E).
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **options
        )
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = activation_function(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """src (S, N, E), (N, S, E) if batch_first, or (S, E); the output has the same shape.

        src_mask: (S, S) or (N·nhead, S, S). src_key_padding_mask: (N, S). Both as in
        MultiheadAttention. is_causal: a hint that src_mask is the look-ahead mask.
        """
        x, masks = src, (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *masks)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, *masks))
            x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        """The output of self-attention, after dropout."""
        y, _ = self.self_attn(
            x, x, x, key_padding_mask, need_weights=False, attn_mask=attn_mask, is_causal=is_causal
        )
        return self.dropout1(y)

    def _ff_block(self, x: Tensor) -> Tensor:
        """The output of the feed-forward network, after dropout."""
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output, and a feed-forward network.

    post-norm:  x ← norm1(x + attn(x)),  x ← norm2(x + cross(x, memory)),  x ← norm3(x + ff(x))
    pre-norm:   x ← x + attn(norm1(x)),  x ← x + cross(norm2(x), memory),  x ← x + ff(norm3(x))

    The arguments are those of TransformerEncoderLayer.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **options
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **options
        )
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_function(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
        cache: tuple[LayerCache, MemoryCache] | None = None,
    ) -> Tensor:
        """tgt (T, N, E), memory (S, N, E), with N first if batch_first → the shape of tgt.

        tgt_mask: (T, T) or (N·nhead, T, T). memory_mask: (T, S) or (N·nhead, T, S).
        tgt_key_padding_mask: (N, T). memory_key_padding_mask: (N, S). As in MultiheadAttention.
        cache: keys and values of the tokens before tgt, and of the memory.
        """
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        cross = (memory_mask, memory_key_padding_mask, memory_is_causal)
        # Passed only if there is one: a user's own _sa_block or attention may not take a cache.
        own_cache: dict = {} if cache is None else {"cache": cache[0]}
        cross_cache: dict = {} if cache is None else {"cache": cache[1]}
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own, **own_cache)
            x = x + self._mha_block(self.norm2(x), memory, *cross, **cross_cache)
            x = x + self._ff_block(self.norm3(x))
        else:
            x = self.norm1(x + self._sa_block(x, *own, **own_cache))
            x = self.norm2(x + self._mha_block(x, memory, *cross, **cross_cache))
            x = self.norm3(x + self._ff_block(x))
        return x

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
        **cache: LayerCache,
    ) -> Tensor:
        """The output of self-attention, after dropout."""
        y, _ = self.self_attn(
            x, x, x, key_padding_mask, need_weights=False, attn_mask=attn_mask,
            is_causal=is_causal, **cache,
        )  # fmt: skip
        return self.dropout1(y)

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
        **cache: MemoryCache,
    ) -> Tensor:
        """The output of attention to the memory, after dropout."""
        y, _ = self.multihead_attn(
            x, mem, mem, key_padding_mask, need_weights=False, attn_mask=attn_mask,
            is_causal=is_causal, **cache,
        )  # fmt: skip
        return self.dropout2(y)

    def _ff_block(self, x: Tensor) -> Tensor:
        """The output of the feed-forward network, after dropout."""
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def activation_function(activation: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Look up a function by name; return a function or module unchanged."""
    if not isinstance(activation, str):
        return activation
    functions: dict[str, Callable] = {"relu": F.relu, "gelu": F.gelu}
    if activation not in functions:
        raise RuntimeError(
            f"transformer layer: got activation={activation!r}, expected 'relu', 'gelu' or a "
            "function"
        )
    return functions[activation]


__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]
