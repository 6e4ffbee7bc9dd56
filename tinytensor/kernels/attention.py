"""Attention in tiles: memory grows with the sequence length, not with its square.

Forward goes over the keys block by block with an online softmax (Milakov and Gimelshein 2018; Dao
et al. 2022): m is the largest score so far and l the sum of exp(s − m). When m grows, the sums so
far are multiplied by exp(m_before − m). Forward saves m and 1/l of each query, from which backward
recomputes the weights A = exp(s − m)/l of each tile. (The sum m + log l would lose the logarithm
where m is large.)

Scores are computed as s / ln 2 and exponentiated with base 2, which takes fewer steps than base e.
Keys and values are multiplied with many blocks of queries, so they are rearranged into panels first
(machinery/packed_product.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ..backend import Array
from .machinery.compile import parallel_for, part
from .machinery.contiguous import line
from .machinery.memory import empty
from .machinery.packed_product import COLUMNS, empty_panels, multiply, pack
from .machinery.vector_math import LOG2_E, exp2_up_to_0, f32, largest

# The size of a tile of scores, in whole panels: it fits in the cache, and its row length is no
# power of 2, as numbers at such distances evict each other.
QUERIES, KEYS = 24, 224

_matrices = types.Array(types.float32, 4, "A", readonly=True)  # (N, H, length, width)
_result = types.Array(types.float32, 4, "A")
_numbers = types.Array(types.float32, 3, "C")  # (N, H, length)
_NONE = np.empty((0, 0, 0, 0), dtype=np.float32)  # no bias, or no dropout


@part
def scores(q, k, scale, bias, n, h, first_query, first_key, causal, s, keys):
    """s ← (q·kᵀ·scale + bias) / ln 2 for one tile; −inf where the key comes after the query.

    The tile starts at (first_query, first_key) of head h in sample n, and has `keys` columns; kᵀ is
    in panels. bias may be empty.
    """
    rows = q.shape[0]
    multiply(q, k, s[:rows, :keys], scale * LOG2_E, 0.0)
    if bias.size:
        for i in range(rows):
            for j in range(keys):
                s[i, j] += LOG2_E * bias[n, h, first_query + i, first_key + j]
    if causal and first_key + keys > first_query + 1:
        for i in range(rows):
            for j in range(max(0, first_query + i + 1 - first_key), keys):
                s[i, j] = f32(-np.inf)


@part
def soften(s, rows, keys, top, total, y):
    """s ← 2^(s − top), row by row; when top grows, total and y are scaled down accordingly."""
    for i in range(rows):
        highest = max(top[i], largest(s, i, keys))
        # A row without any allowed key yet: 2^(−inf − 0) is 0, not NaN.
        base = f32(0.0) if highest == f32(-np.inf) else highest
        shrink = exp2_up_to_0(top[i] - base)
        row_total = f32(0.0)
        for j in range(keys):
            p = exp2_up_to_0(s[i, j] - base)
            s[i, j] = p
            row_total += p
        total[i] = total[i] * shrink + row_total
        top[i] = highest
        if shrink != f32(1.0):
            for j in range(y.shape[1]):
                y[i, j] *= shrink


@part
def keys_of(panels, begin, until):
    """The panels with columns begin … until of a matrix; a panel starts at begin."""
    return panels[begin // COLUMNS : (until + COLUMNS - 1) // COLUMNS]


@parallel_for(
    _matrices, _matrices, _matrices, _matrices, _matrices, types.float32, types.boolean, _result,
    _numbers, _numbers,
)  # fmt: skip
def attention(start, stop, query, key, value, bias, drop, scale, causal, y, tops, shares):
    """y = softmax(Q·Kᵀ·scale + bias)·V; tops = m and shares = 1/l of each row of scores.

    A row without allowed keys gives zeros; its share is 0, so A is 0 there.
    """
    heads, length, width = query.shape[1], query.shape[2], value.shape[3]
    blocks = (length + QUERIES - 1) // QUERIES
    k, v = empty_panels(key.shape[3], key.shape[2]), empty_panels(key.shape[2], width)
    s, out = np.empty((QUERIES, KEYS), np.float32), np.empty((QUERIES, width), np.float32)
    top, total = np.empty(QUERIES, np.float32), np.empty(QUERIES, np.float32)
    for task in range(start, stop):
        n, h, first = task // blocks // heads, task // blocks % heads, task % blocks * QUERIES
        if task == start or first == 0:  # a new head
            pack(key[n, h].T, k)
            pack(value[n, h], v)
        last = min(first + QUERIES, length)
        rows, q = last - first, query[n, h, first:last]
        top[:], total[:], out[:] = f32(-np.inf), f32(0.0), f32(0.0)
        end = min(key.shape[2], last) if causal else key.shape[2]
        for begin in range(0, end, KEYS):
            until = min(begin + KEYS, end)
            keys, some = until - begin, keys_of(k, begin, until)
            scores(q, some, scale, bias, n, h, first, begin, causal, s, keys)
            soften(s, rows, keys, top, total, out)
            if drop.size:
                for i in range(rows):
                    for j in range(keys):
                        s[i, j] *= drop[n, h, first + i, begin + j]
            multiply(s[:rows, :keys], v[:, begin:until], out[:rows], 1.0, 1.0)
        for i in range(rows):
            result = line(y[n, h], first + i)
            if total[i] == f32(0.0):
                tops[n, h, first + i], shares[n, h, first + i] = f32(0.0), f32(0.0)
                result[:] = f32(0.0)
            else:
                tops[n, h, first + i], shares[n, h, first + i] = top[i], f32(1.0) / total[i]
                for j in range(width):
                    result[j] = out[i, j] / total[i]


@parallel_for(
    _matrices, _matrices, _matrices, _matrices, _matrices, types.float32, types.boolean, _matrices,
    _numbers, _numbers, _matrices, _result, _result, _result,
)  # fmt: skip
def attention_gradient(
    start, stop, query, key, value, bias, drop, scale, causal, y, tops, shares, g, dq, dk, dv
):  # fmt: skip
    """dV = Aᵀ·g,  dA = g·Vᵀ,  dS = A·(dA − Σ dA·A),  dQ = dS·K·scale,  dK = dSᵀ·Q·scale

    Σ dA·A over the keys equals Σ g·y over the width, which is used if one tile does not hold all
    keys. The first is more precise: equal values have equal rounding errors in dA.
    """
    (heads, length, width), keys, width_v = query.shape[1:], key.shape[2], value.shape[3]
    k_t, v_t, k = empty_panels(width, keys), empty_panels(width_v, keys), empty_panels(keys, width)
    q, g_panels = empty_panels(length, width), empty_panels(length, width_v)
    a, da = np.empty((QUERIES, KEYS), np.float32), np.empty((QUERIES, KEYS), np.float32)
    delta = np.empty(length, np.float32)
    for head in range(start, stop):
        n, h = head // heads, head % heads
        pack(key[n, h].T, k_t)
        pack(value[n, h].T, v_t)
        pack(key[n, h], k)
        pack(query[n, h], q)
        pack(g[n, h], g_panels)
        if keys > KEYS:
            along_width(g[n, h], y[n, h], delta)
        for begin in range(0, keys, KEYS):
            end = min(begin + KEYS, keys)
            clear(dk[n, h, begin:end])
            clear(dv[n, h, begin:end])
            for first in range(begin // QUERIES * QUERIES if causal else 0, length, QUERIES):
                last = min(first + QUERIES, length)
                until = min(end, last) if causal else end
                rows, some, g_rows = query[n, h, first:last], until - begin, g[n, h, first:last]
                scores(
                    rows, keys_of(k_t, begin, until), scale, bias, n, h, first, begin, causal,
                    a, some,
                )  # fmt: skip
                weights, ds = a[: last - first, :some], da[: last - first, :some]
                multiply(g_rows, keys_of(v_t, begin, until), ds, 1.0, 0.0)
                weights_of(a, some, n, h, first, last, tops, shares)
                if keys <= KEYS:
                    along_keys(a, da, some, drop, n, h, first, last, delta)
                weights_and_gradient(a, da, some, drop, n, h, first, last, begin, delta)
                # The first block of keys overwrites dQ, the others add to it.
                multiply(ds, k[:, begin:until], dq[n, h, first:last], scale, 1.0 if begin else 0.0)
                multiply(ds.T, q[:, first:last], dk[n, h, begin:until], scale, 1.0)
                multiply(weights.T, g_panels[:, first:last], dv[n, h, begin:until], 1.0, 1.0)


@part
def along_width(x, y, total):
    """total ← Σ x·y in each row, in the order in which products are summed.

    (`line` would change it. Where one key has all the weight, dA and Σ g·y must be equal.)
    """
    for i in range(x.shape[0]):
        sum = f32(0.0)
        for j in range(x.shape[1]):
            sum += x[i, j] * y[i, j]
        total[i] = sum


@part
def clear(x):
    """x ← 0"""
    for i in range(x.shape[0]):
        line(x, i)[:] = f32(0.0)


@part
def weights_of(s, keys, n, h, first, last, tops, shares):
    """s ← A, for a tile of scores s."""
    for i in range(last - first):
        top, share = tops[n, h, first + i], shares[n, h, first + i]
        for j in range(keys):
            s[i, j] = exp2_up_to_0(s[i, j] - top) * share


@part
def along_keys(a, da, keys, drop, n, h, first, last, total):
    """total ← Σ dA·A (with dropout, Σ dA·D·A) in each row of a tile that holds all keys."""
    for i in range(last - first):
        sum = f32(0.0)
        if drop.size:
            for j in range(keys):
                sum += a[i, j] * da[i, j] * drop[n, h, first + i, j]
        else:
            for j in range(keys):
                sum += a[i, j] * da[i, j]
        total[first + i] = sum


@part
def weights_and_gradient(a, da, keys, drop, n, h, first, last, start, delta):
    """da ← dS, for a tile of A and of g·Vᵀ; with dropout also a ← A·D."""
    for i in range(last - first):
        along = delta[first + i]
        if drop.size:
            for j in range(keys):
                kept = drop[n, h, first + i, start + j]
                da[i, j] = a[i, j] * (da[i, j] * kept - along)
                a[i, j] *= kept
        else:
            for j in range(keys):
                da[i, j] = a[i, j] * (da[i, j] - along)


def _as_heads(x: Array) -> Array:
    """(…, L, E) → (N, H, L, E) with contiguous rows; N and H are 1 where there are none."""
    x = x.reshape((1,) * (4 - x.ndim) + x.shape)
    # Rows of an expanded array overlap in memory, which BLAS does not support.
    in_rows = x.strides[3] == x.itemsize and x.strides[2] >= x.itemsize * x.shape[3]
    return x if in_rows else np.ascontiguousarray(x)


def _expanded(x: Array, shape: tuple) -> Array:
    """A bias or dropout mask, broadcast to `shape` as a view; empty for None."""
    return _NONE if x is None else np.broadcast_to(x, shape).reshape(shape)


def _empty_heads(shape: tuple) -> Array:
    """An uninitialised (N, H, L, E), stored as (N, L, H, E): heads are joined next."""
    n, h, length, width = shape
    return empty((n, length, h, width)).swapaxes(1, 2)


def _empty_gradients(query: Array, key: Array, value: Array) -> list:
    """Uninitialised arrays of their shapes; interleaved in memory if q, k and v are.

    They are if one product made them; its gradient is then one contiguous array.
    """
    n, h, length, width = query.shape
    by_one = query.shape == key.shape == value.shape and (
        query.strides[2] == key.strides[2] == value.strides[2] == 3 * h * width * query.itemsize
    )
    if not by_one:
        return [_empty_heads(x.shape) for x in (query, key, value)]
    whole = empty((n, length, 3, h, width))
    return list(whole.transpose(2, 0, 3, 1, 4))  # (N, L, 3, H, E) → 3 × (N, H, L, E)


def _fits(query: Array, key: Array, value: Array) -> bool:
    """True if these are (…, L, E) with equal batch and heads, and none is empty."""
    same = query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
    return same and query.ndim <= 4 and bool(query.size and key.size and value.size)


def scaled_dot_product_attention_forward(
    op: Any,
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None,
    drop: Array | None,
    scale: float,
    causal: bool,
) -> Array:
    if not _fits(query, key, value):
        return NotImplemented
    op.scale, op.causal = scale, causal
    shape = query.shape[:-1] + value.shape[-1:]
    query, key, value = _as_heads(query), _as_heads(key), _as_heads(value)
    scores_shape = (*query.shape[:3], key.shape[2])
    bias, drop = _expanded(bias, scores_shape), _expanded(drop, scores_shape)
    y = _empty_heads((*query.shape[:3], value.shape[3]))
    kept = np.empty((2, *query.shape[:3]), dtype=query.dtype)
    blocks = (query.shape[2] + QUERIES - 1) // QUERIES
    tasks = query.shape[0] * query.shape[1] * blocks
    attention(tasks, query, key, value, bias, drop, f32(scale), causal, y, *kept)
    op.remember("tops_and_shares", kept)  # m and 1/l of each row of scores, (2, N, H, L)
    return y.reshape(shape)


def scaled_dot_product_attention_backward(op: Any, g: Array) -> tuple:
    query, key, value, bias, drop, y = op.saved
    kept = op.kept("tops_and_shares")
    if kept is None or op.needs(3):
        return NotImplemented
    shapes = query.shape, key.shape, value.shape
    query, key, value, y, g = map(_as_heads, (query, key, value, y, g))
    scores_shape = (*query.shape[:3], key.shape[2])
    bias, drop = _expanded(bias, scores_shape), _expanded(drop, scores_shape)
    dq, dk, dv = _empty_gradients(query, key, value)
    attention_gradient(
        query.shape[0] * query.shape[1], query, key, value, bias, drop, f32(op.scale), op.causal,
        y, *kept, g, dq, dk, dv,
    )  # fmt: skip
    return dq.reshape(shapes[0]), dk.reshape(shapes[1]), dv.reshape(shapes[2]), None
