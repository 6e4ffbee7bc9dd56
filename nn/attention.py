"""Attention: each query averages the values, weighted by how well it matches their keys.

The row convention, used throughout, has one token in each row: softmax(Q·Kᵀ/√d)·V, which is
`F.scaled_dot_product_attention`. The column convention has one token in each column, X·A; see
`attention_pooling`.

Boolean masks follow PyTorch's modules: True means "may not be attended to".
"""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor
from tinytensor.utils.attention_capture import capture_attention, capturing, record

from . import functional as F
from . import init
from .attention_masks import as_bias
from .generation.kv_cache import LayerCache, MemoryCache
from .linear import Linear
from .module import Module
from .parameter import Parameter
from .sdpa_kernel import SDPBackend as SDPBackend
from .sdpa_kernel import sdpa_kernel as sdpa_kernel

__path__: list[str] = []  # a package to importlib: compat.PATHS has a module below it


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    need_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """(softmax(query·keyᵀ/√D + mask)·value, weights or None): the core of dot-product attention.

    query (N, H, L, D), key and value (N, H, S, D) → (N, H, L, D) and (N, H, L, S). The arguments
    are those of `F.scaled_dot_product_attention`, which does the work unless the weights are needed
    or captured. Returned weights are after dropout, captured ones before.
    """
    if not need_weights and not capturing():
        y = F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal)
        return y, None
    weights = tt.attention_weights(query, key, attn_mask, is_causal)
    record(weights, query, key, attn_mask, is_causal)
    if dropout_p > 0:
        weights = F.dropout(weights, dropout_p)
    return weights @ value, weights if need_weights else None


def attention_pooling(X: Tensor, A: Tensor) -> Tensor:
    """Y = X·A: attention in the column convention, with given weights.

    X (…, d, n) has a token in each column. Column j of A (…, n, m) holds the weights with which
    the n tokens are mixed into output j, and sums to 1; Y is (…, d, m). The row convention is the
    transpose: Yᵀ = Aᵀ·Xᵀ, with a token in each row and rows of Aᵀ that sum to 1.
    """
    if X.ndim < 2 or A.ndim < 2 or X.shape[-1] != A.shape[-2]:
        raise ShapeError(
            f"attention_pooling: X has shape {tuple(X.shape)} and A {tuple(A.shape)}, expected "
            "(…, d, n) and (…, n, m): a row of A for each column of X"
        )
    return X @ A


class MultiheadAttention(Module):
    """concat(head₁, …, headₕ)·Woᵀ,  headᵢ = softmax(Qᵢ·Kᵢᵀ/√d)·Vᵢ,  d = embed_dim / num_heads

    where Q = query·Wqᵀ, K = key·Wkᵀ, V = value·Wvᵀ (plus biases), and head i has the i-th d columns
    of each. The three matrices are stacked in `in_proj_weight` (3·E, E). If keys or values have
    other widths (kdim, vdim), they are separate: `q_proj_weight`, `k_proj_weight`, `v_proj_weight`.

    dropout: on the attention weights. bias: in all four projections. add_bias_kv: append a learned
    key and value. add_zero_attn: append a key and value of zeros. batch_first: sequences are
    (N, L, E), not (L, N, E).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"MultiheadAttention: got embed_dim={embed_dim} and num_heads={num_heads}, "
                "expected both greater than 0"
            )
        if embed_dim % num_heads:
            raise AssertionError(
                f"MultiheadAttention: embed_dim={embed_dim} is not divisible by "
                f"num_heads={num_heads}, expected heads of equal width"
            )
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim = embed_dim // num_heads
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim

        def parameter(*shape: int) -> Parameter:
            return Parameter(tt.empty(*shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        if self.bias_k is not None and self.bias_v is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        cache: LayerCache | MemoryCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """(output of the query's shape, weights (N, L, S) or None)

        query (N, L, E), key (N, S, kdim), value (N, S, vdim) if batch_first; (L, N, E) and so on
        if not; or all without N.

        key_padding_mask: (N, S). attn_mask: (L, S) or (N·num_heads, L, S). Each is boolean, True
            where a key may not be attended to, or holds numbers that are added to the scores.
        need_weights: return the attention weights, averaged over the heads; with
            average_attn_weights=False those of each head, (N, num_heads, L, S).
        is_causal: a hint that attn_mask, which must be given too, is the look-ahead mask.
        cache: earlier keys and values, which precede the given ones. S counts all of them.

        For a query that may attend to no key, the average is 0 (in PyTorch: NaN).
        """
        self._check(query, key, value)
        q, k, v = self._heads(query, key, value, cache)
        if is_causal and attn_mask is None:
            raise RuntimeError(
                "MultiheadAttention: got is_causal=True without attn_mask, expected both; make it "
                "with nn.Transformer.generate_square_subsequent_mask"
            )
        if is_causal and key_padding_mask is None and not need_weights:
            mask = None
        else:
            mask = self._merge_masks(attn_mask, key_padding_mask, q, k)
            is_causal = False
        if self.bias_k is not None and self.bias_v is not None:
            k, v, mask = _append_key(k, self.bias_k, v, self.bias_v, mask)
        if self.add_zero_attn:
            zeros = tt.zeros(self.embed_dim, dtype=k.dtype, device=k.device)
            k, v, mask = _append_key(k, zeros, v, zeros, mask)
        dropout_p = self.dropout if self.training else 0.0
        y, weights = attend(q, k, v, mask, dropout_p, is_causal, need_weights)
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=-3)  # (N, H, L, S) → (N, L, S)
        return self.out_proj(self._join_heads(y)), weights

    def _heads(
        self, query: Tensor, key: Tensor, value: Tensor, cache: LayerCache | MemoryCache | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Q (N, H, L, D), K and V (N, H, S, D), the latter two including the cached ones."""
        if cache is not None and cache.complete:
            q = self._split_heads(self._project_query(query))
            return q, cache.keys, cache.values
        q, k, v = map(self._split_heads, self._project(query, key, value))
        return (q, k, v) if cache is None else (q, *cache.extend(k, v))

    def _project_query(self, query: Tensor) -> Tensor:
        """Q, of width E."""
        weight: Tensor = self.q_proj_weight  # (E, E)
        if self.in_proj_weight is not None:
            weight = self.in_proj_weight[: self.embed_dim]  # (3·E, E) → (E, E)
        bias = self.in_proj_bias
        return F.linear(query, weight, None if bias is None else bias[: self.embed_dim])

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """Q, K, V, each of width E; for self-attention in a single product."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if weight is not None and query is key and key is value:
            return F.linear(query, weight, bias).chunk(3, dim=-1)  # (…, 3·E) → 3 × (…, E)
        if weight is not None:
            weights = weight.chunk(3)  # (3·E, E) → 3 × (E, E)
        else:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return tuple(map(F.linear, (query, key, value), weights, biases))

    def _split_heads(self, x: Tensor) -> Tensor:
        """(N, L, E), (L, N, E) or (L, E) → (N, H, L, D), or (H, L, D) if there is no N."""
        x = x.reshape(*x.shape[:-1], self.num_heads, self.head_dim)  # (…, E) → (…, H, D)
        if x.ndim == 3:
            return x.permute(1, 0, 2)  # (L, H, D) → (H, L, D)
        if self.batch_first:
            return x.permute(0, 2, 1, 3)  # (N, L, H, D) → (N, H, L, D)
        return x.permute(1, 2, 0, 3)  # (L, N, H, D) → (N, H, L, D)

    def _join_heads(self, x: Tensor) -> Tensor:
        """The inverse of _split_heads."""
        if x.ndim == 3:
            x = x.permute(1, 0, 2)  # (H, L, D) → (L, H, D)
        elif self.batch_first:
            x = x.permute(0, 2, 1, 3)  # (N, H, L, D) → (N, L, H, D)
        else:
            x = x.permute(2, 0, 1, 3)  # (N, H, L, D) → (L, N, H, D)
        return x.reshape(*x.shape[:-2], self.embed_dim)  # (…, H, D) → (…, E)

    def _merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, q: Tensor, k: Tensor
    ) -> Tensor | None:
        """The sum of both masks, to add to the scores (N, H, L, S), or (H, L, S) without N."""
        batch, queries, keys = tuple(q.shape[:-3]), q.shape[-2], k.shape[-2]
        total = None
        if attn_mask is not None:
            stacked = (math.prod(batch) * self.num_heads, queries, keys)
            if tuple(attn_mask.shape) not in ((queries, keys), stacked):
                raise ShapeError(
                    f"MultiheadAttention: attn_mask has shape {tuple(attn_mask.shape)}, expected "
                    f"{(queries, keys)} or {stacked}"
                )
            total = as_bias(attn_mask, "attn_mask", q)
            if total.ndim == 3:  # (N·H, L, S) → (N, H, L, S)
                total = total.reshape(*batch, self.num_heads, queries, keys)
        if key_padding_mask is not None:
            if tuple(key_padding_mask.shape) != (*batch, keys):
                raise ShapeError(
                    "MultiheadAttention: key_padding_mask has shape "
                    f"{tuple(key_padding_mask.shape)}, expected {(*batch, keys)}"
                )
            padding = as_bias(key_padding_mask, "key_padding_mask", q)
            padding = padding.reshape(*batch, 1, 1, keys)  # (N, S) → (N, 1, 1, S)
            total = padding if total is None else total + padding
        return total

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        """Raise ShapeError if dimensions, batch sizes, widths or lengths do not match."""
        if query.ndim not in (2, 3):
            raise ShapeError(
                f"MultiheadAttention: query has shape {tuple(query.shape)}, expected 3 dimensions, "
                "or 2 without a batch"
            )
        batch_dim = 0 if self.batch_first else 1
        for name, x, width in (
            ("query", query, self.embed_dim), ("key", key, self.kdim), ("value", value, self.vdim)
        ):  # fmt: skip
            if x.ndim != query.ndim or x.shape[-1] != width:
                raise ShapeError(
                    f"MultiheadAttention: {name} has shape {tuple(x.shape)}, expected "
                    f"{query.ndim} dimensions as query has, the last of size {width}"
                )
            if x.ndim == 3 and x.shape[batch_dim] != query.shape[batch_dim]:
                raise ShapeError(
                    f"MultiheadAttention: {name} has shape {tuple(x.shape)}, expected "
                    f"{query.shape[batch_dim]} in dimension {batch_dim}, the batch, as query has"
                )
        length_dim = 1 - batch_dim if query.ndim == 3 else 0
        if key.shape[length_dim] != value.shape[length_dim]:
            raise ShapeError(
                f"MultiheadAttention: key {tuple(key.shape)} and value {tuple(value.shape)} differ "
                "in length, expected one value for each key"
            )


def _append_key(
    k: Tensor, extra_k: Tensor, v: Tensor, extra_v: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Append a token of H·D numbers to k and v (…, H, S, D); the mask does not hide it."""

    def append(x: Tensor, token: Tensor) -> Tensor:
        heads, width = x.shape[-3], x.shape[-1]
        token = token.reshape(heads, 1, width)  # (H·D) → (H, 1, D)
        return tt.cat([x, token.expand(*x.shape[:-2], 1, width)], dim=-2)

    mask = None if mask is None else F.pad(mask, (0, 1))
    return append(k, extra_k), append(v, extra_v), mask


class AdditiveAttention(Module):
    """scoreᵢⱼ = v · tanh(Wq·queryᵢ + Wk·keyⱼ),  A = softmax over j,  output = A·value

    Bahdanau's attention, where a small network compares each query with each key.
    query_dim, key_dim: widths of queries and keys. hidden_dim: width of the network, and of v.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        hidden_dim: int,
        dropout: float = 0.0,
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.query_proj = Linear(query_dim, hidden_dim, **options)
        self.key_proj = Linear(key_dim, hidden_dim, **options)
        self.score = Linear(hidden_dim, 1, bias=False, device=device, dtype=dtype)
        self.dropout = dropout

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """(output (N, L, value's width), weights (N, L, S))

        query (N, L, query_dim), or (N, query_dim) for one query; then (N, width) and (N, S).
        key (N, S, key_dim), value (N, S, width), by default the keys. key_padding_mask (N, S): True
        where a key may not be attended to; a query that may attend to no key gets zeros.
        """
        single = query.ndim == 2
        if single:
            query = query.unsqueeze(1)  # (N, Dq) → (N, 1, Dq)
        # (N, L, 1, hidden) + (N, 1, S, hidden) → (N, L, S, hidden)
        hidden = tt.tanh(self.query_proj(query).unsqueeze(2) + self.key_proj(key).unsqueeze(1))
        scores = self.score(hidden).squeeze(-1)  # (N, L, S, 1) → (N, L, S)
        weights = masked_softmax(scores, key_padding_mask)
        record(weights)
        dropped = F.dropout(weights, self.dropout, self.training)
        y = dropped @ (key if value is None else value)
        return (y.squeeze(1), weights.squeeze(1)) if single else (y, weights)

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}" if self.dropout else ""


def masked_softmax(scores: Tensor, key_padding_mask: Tensor | None) -> Tensor:
    """softmax over the last dimension, 0 where masked, even where a whole row is masked."""
    if key_padding_mask is None:
        return F.softmax(scores, dim=-1)
    mask = key_padding_mask.unsqueeze(1)  # (N, S) → (N, 1, S)
    lowest = tt.finfo(scores.dtype).min  # not −inf: a fully masked row would be NaN
    return F.softmax(scores.masked_fill(mask, lowest), dim=-1).masked_fill(mask, 0.0)


__all__ = ["AdditiveAttention", "MultiheadAttention", "attention_pooling", "capture_attention"]
