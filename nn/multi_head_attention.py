"""multi_head_attention_forward: multi-head attention as a function of its weights.

`nn.MultiheadAttention` is the module; it has caches and other orders of dimensions besides.
"""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .attention_masks import as_bias

__all__ = ["multi_head_attention_forward"]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """(output (L, N, E), weights (N, L, S) or None) of query (L, N, E), key and value (S, N, E).

    Without a batch: (L, E), (S, E), and weights (L, S).

    in_proj_weight (3·E, E) or, with use_separate_proj_weight, q_, k_ and v_proj_weight project the
    three; out_proj_weight (E, E) the result. bias_k, bias_v (1, 1, E): one more key and value.
    static_k, static_v (N·num_heads, S, E / num_heads): keys and values, projected already. Masks
    and other arguments: as in `nn.MultiheadAttention`.
    """
    name = "multi_head_attention_forward"
    single = query.ndim == 2
    if single:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)  # (L, 1, E)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    _check(name, query, key, value, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            f"{name}: got is_causal=True without attn_mask, expected both, as it is only a hint"
        )
    batch, width = query.shape[1], query.shape[2]
    q, k, v = _project(
        name,
        (query, key, value),
        (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None,
        in_proj_weight,
        in_proj_bias,
    )
    extra = 0  # keys that no mask hides
    if bias_k is not None and bias_v is not None:
        k = tt.cat([k, bias_k.expand(1, batch, width)])
        v = tt.cat([v, bias_v.expand(1, batch, width)])
        extra += 1
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else _given(name, static_k, q)
    v = _heads(v, num_heads) if static_v is None else _given(name, static_v, q)
    if add_zero_attn:
        zeros = tt.zeros(*k.shape[:2], 1, k.shape[3], dtype=k.dtype, device=k.device)
        k, v = tt.cat([k, zeros], dim=2), tt.cat([v, zeros], dim=2)
        extra += 1
    mask = _merged(name, attn_mask, key_padding_mask, q, k.shape[2], extra)
    p = dropout_p if training else 0.0
    scores = None
    if need_weights:
        scores = tt.dropout(tt.attention_weights(q, k, mask), p, p > 0)  # (N, H, L, S)
        y = scores @ v
    else:
        y = tt.scaled_dot_product_attention(q, k, v, mask, p)
    y = y.permute(2, 0, 1, 3).reshape(-1, batch, width)  # (N, H, L, D) → (L, N, E)
    y = tt.linear(y, out_proj_weight, out_proj_bias)
    if scores is not None and average_attn_weights:
        scores = scores.mean(dim=1)  # (N, H, L, S) → (N, L, S)
    if single:
        return y.squeeze(1), None if scores is None else scores.squeeze(0)
    return y, scores


def _project(
    name: str,
    inputs: tuple[Tensor, ...],
    separate: tuple[Tensor | None, ...] | None,
    packed: Tensor | None,
    packed_bias: Tensor | None,
) -> tuple[Tensor, ...]:
    """Queries, keys and values: x·Wᵀ + b of each input, W from three matrices or one (3·E, E)."""
    weights: Any = separate
    if separate is None:
        if packed is None:
            raise AssertionError(f"{name}: got no in_proj_weight, expected (3·E, E)")
        weights = packed.chunk(3)  # (3·E, E) → 3 × (E, E)
    elif any(weight is None for weight in separate):
        raise AssertionError(f"{name}: expected q_proj_weight, k_proj_weight and v_proj_weight")
    biases: Any = (None,) * 3 if packed_bias is None else packed_bias.chunk(3)
    return tuple(map(tt.linear, inputs, weights, biases))


def _heads(x: Tensor, num_heads: int) -> Tensor:
    """(L, N, E) → (L, N, H, D) → (N, H, L, D)"""
    return x.reshape(x.shape[0], x.shape[1], num_heads, -1).permute(1, 2, 0, 3)


def _given(name: str, x: Tensor, q: Tensor) -> Tensor:
    """(N·H, S, D) → (N, H, S, D)"""
    batch, num_heads, _, width = q.shape
    if x.ndim != 3 or x.shape[0] != batch * num_heads:
        raise ShapeError(
            f"{name}: got static keys or values of shape {tuple(x.shape)}, expected "
            f"({batch * num_heads}, S, {width})"
        )
    return x.reshape(batch, num_heads, *x.shape[1:])


def _merged(
    name: str, attn_mask: Tensor | None, padding: Tensor | None, q: Tensor, keys: int, extra: int
) -> Tensor | None:
    """The sum of both masks, to add to the scores; 0 for the last `extra` keys."""
    batch, heads, queries = q.shape[:3]
    keys -= extra
    total = None
    if attn_mask is not None:
        if tuple(attn_mask.shape) not in ((queries, keys), (batch * heads, queries, keys)):
            raise RuntimeError(
                f"{name}: attn_mask has shape {tuple(attn_mask.shape)}, expected "
                f"{(queries, keys)} or {(batch * heads, queries, keys)}"
            )
        total = as_bias(attn_mask, "attn_mask", q)
        if total.ndim == 3:
            total = total.reshape(batch, heads, queries, keys)
    if padding is not None:
        if tuple(padding.shape) != (batch, keys):
            raise AssertionError(
                f"{name}: key_padding_mask has shape {tuple(padding.shape)}, expected "
                f"{(batch, keys)}"
            )
        bias = as_bias(padding, "key_padding_mask", q).reshape(batch, 1, 1, keys)
        total = bias if total is None else total + bias
    return tt.pad(total, (0, extra)) if total is not None and extra else total


def _check(name: str, query: Tensor, key: Tensor, value: Tensor, width: int, heads: int) -> None:
    if not query.ndim == key.ndim == value.ndim == 3:
        raise AssertionError(
            f"{name}: got query {tuple(query.shape)}, key {tuple(key.shape)} and value "
            f"{tuple(value.shape)}, expected 3 dimensions each, or 2 without a batch"
        )
    if query.shape[2] != width:
        raise AssertionError(
            f"{name}: got a query of width {query.shape[2]}, expected embed_dim {width}"
        )
    if width % heads:
        raise AssertionError(f"{name}: embed_dim {width} is not divisible by num_heads {heads}")
    if tuple(key.shape[:2]) != tuple(value.shape[:2]):
        raise AssertionError(
            f"{name}: got key {tuple(key.shape)} and value {tuple(value.shape)}, expected the same "
            "length and batch"
        )
