"""Attention in tiles, so that memory grows with the sequence and not with its square.

Forward runs over the keys block by block with a softmax that corrects itself (Milakov and
Gimelshein 2018; Dao et al. 2022): m is the largest score so far and l the sum of exp(s − m), and
when m grows, what has been summed shrinks by exp(m_before − m). What is kept for backward is one
number for each query, log Σ exp s, from which each tile's weights A = exp(s − log Σ exp s) are made
again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from .blas import gemm
from .compile import parallel_for, part
from .memory import empty
from .vector_math import exp_up_to_0, f32, largest

QUERIES = 64
KEYS, KEYS_BACKWARD = 512, 256  # with the queries, the size of tiles of scores: 128 KB

_matrices = types.Array(types.float32, 4, "A", readonly=True)  # (N, H, length, width)
_result = types.Array(types.float32, 4, "A")
_numbers = types.Array(types.float32, 3, "C")  # (N, H, length)
_NONE = np.empty((0, 0, 0, 0), dtype=np.float32)  # stands for no bias, or no dropout


@part
def scores(q, k, scale, bias, n, h, first_query, first_key, causal, s):
    """s ← q·kᵀ·scale + bias for one tile; −inf where the key comes after the query.

    The tile starts at (first_query, first_key) of head h in sample n. bias may be empty.
    """
    gemm(q, False, k, True, s, scale, 0.0)
    if bias.size:
        for i in range(s.shape[0]):
            for j in range(s.shape[1]):
                s[i, j] += bias[n, h, first_query + i, first_key + j]
    if causal and first_key + s.shape[1] > first_query + 1:
        for i in range(s.shape[0]):
            for j in range(max(0, first_query + i + 1 - first_key), s.shape[1]):
                s[i, j] = f32(-np.inf)


@part
def soften(s, top, total, y):
    """s ← exp(s − top), row by row; when top grows, total and y shrink to match."""
    for i in range(s.shape[0]):
        highest = max(top[i], largest(s, i))
        # A row that may not attend to anything yet: exp(−inf − 0) = 0, not NaN.
        base = f32(0.0) if highest == f32(-np.inf) else highest
        shrink = exp_up_to_0(top[i] - base)
        row_total = f32(0.0)
        for j in range(s.shape[1]):
            p = exp_up_to_0(s[i, j] - base)
            s[i, j] = p
            row_total += p
        total[i] = total[i] * shrink + row_total
        top[i] = highest
        if shrink != f32(1.0):
            for j in range(y.shape[1]):
                y[i, j] *= shrink


@parallel_for(
    _matrices, _matrices, _matrices, _matrices, _matrices, types.float32, types.boolean, _result,
    _numbers,
)  # fmt: skip
def attention(start, stop, query, key, value, bias, drop, scale, causal, y, normalizer):
    """y = softmax(Q·Kᵀ·scale + bias)·V; normalizer = log Σ exp of each row of scores.

    A row that may attend to nothing gives zeros; its normalizer is +inf, so that A is 0 there.
    """
    heads, length, width = query.shape[1], query.shape[2], value.shape[3]
    blocks = (length + QUERIES - 1) // QUERIES
    for task in range(start, stop):
        n, h, first = task // blocks // heads, task // blocks % heads, task % blocks * QUERIES
        last = min(first + QUERIES, length)
        rows = last - first
        q, out = query[n, h, first:last], np.zeros((rows, width), dtype=np.float32)
        top, total = np.empty(rows, dtype=np.float32), np.empty(rows, dtype=np.float32)
        for i in range(rows):
            top[i], total[i] = f32(-np.inf), f32(0.0)
        tile = np.empty(rows * KEYS, dtype=np.float32)
        end = min(key.shape[2], last) if causal else key.shape[2]
        for begin in range(0, end, KEYS):
            until = min(begin + KEYS, end)
            s = tile[: rows * (until - begin)].reshape(rows, until - begin)
            scores(q, key[n, h, begin:until], scale, bias, n, h, first, begin, causal, s)
            soften(s, top, total, out)
            if drop.size:
                for i in range(rows):
                    for j in range(until - begin):
                        s[i, j] *= drop[n, h, first + i, begin + j]
            gemm(s, False, value[n, h, begin:until], False, out, 1.0, 1.0)
        for i in range(rows):
            empty_row = total[i] == f32(0.0)
            normalizer[n, h, first + i] = f32(np.inf) if empty_row else top[i] + math.log(total[i])
            divided = f32(0.0) if empty_row else f32(1.0) / total[i]
            for j in range(width):
                y[n, h, first + i, j] = out[i, j] * divided


@parallel_for(
    _matrices, _matrices, _matrices, _matrices, _matrices, types.float32, types.boolean, _matrices,
    _numbers, _matrices, _result, _result, _result,
)  # fmt: skip
def attention_gradient(
    start, stop, query, key, value, bias, drop, scale, causal, y, normalizer, g, dq, dk, dv
):  # fmt: skip
    """dV = Aᵀ·g,  dA = g·Vᵀ,  dS = A·(dA − Σ g·y),  dQ = dS·K·scale,  dK = dSᵀ·Q·scale

    Σ dA·A over the keys equals Σ g·y over the width, which needs no weights.
    """
    heads, length = query.shape[1], query.shape[2]
    for head in range(start, stop):
        n, h = head // heads, head % heads
        delta = np.empty(length, dtype=np.float32)
        for i in range(length):
            total = f32(0.0)
            for j in range(g.shape[3]):
                total += g[n, h, i, j] * y[n, h, i, j]
            delta[i] = total
        tiles = np.empty((2, QUERIES * KEYS_BACKWARD), dtype=np.float32)
        for begin in range(0, key.shape[2], KEYS_BACKWARD):
            end = min(begin + KEYS_BACKWARD, key.shape[2])
            clear(dk, n, h, begin, end)
            clear(dv, n, h, begin, end)
            for first in range(begin // QUERIES * QUERIES if causal else 0, length, QUERIES):
                last = min(first + QUERIES, length)
                until = min(end, last) if causal else end
                k, v = key[n, h, begin:until], value[n, h, begin:until]
                q, g_rows = query[n, h, first:last], g[n, h, first:last]
                size = (last - first) * (until - begin)
                a = tiles[0, :size].reshape(last - first, until - begin)
                da = tiles[1, :size].reshape(last - first, until - begin)
                scores(q, k, scale, bias, n, h, first, begin, causal, a)
                gemm(g_rows, False, v, True, da, 1.0, 0.0)
                weights_and_gradient(a, da, drop, n, h, first, begin, normalizer[n, h], delta)
                # The first keys come first, so that no dQ is there yet.
                gemm(da, False, k, False, dq[n, h, first:last], scale, 1.0 if begin else 0.0)
                gemm(da, True, q, False, dk[n, h, begin:until], scale, 1.0)
                gemm(a, True, g_rows, False, dv[n, h, begin:until], 1.0, 1.0)


@part
def clear(x, n, h, start, end):
    """x ← 0 in the rows start … end of a head."""
    for i in range(start, end):
        for j in range(x.shape[3]):
            x[n, h, i, j] = f32(0.0)


@part
def weights_and_gradient(s, da, drop, n, h, first, start, normalizer, delta):
    """s ← A (with dropout, A·D) and da ← dS, for one tile of scores s and of g·Vᵀ."""
    for i in range(s.shape[0]):
        z, along = normalizer[first + i], delta[first + i]
        if drop.size:
            for j in range(s.shape[1]):
                a, kept = exp_up_to_0(s[i, j] - z), drop[n, h, first + i, start + j]
                s[i, j] = a * kept
                da[i, j] = a * (da[i, j] * kept - along)
        else:
            for j in range(s.shape[1]):
                a = exp_up_to_0(s[i, j] - z)
                s[i, j] = a
                da[i, j] = a * (da[i, j] - along)


def score_normalizer(op: Any) -> None:
    """Under this name the op keeps log Σ exp of each row of scores, (N, H, L)."""


def _as_heads(x: Any) -> Any:
    """(…, L, E) → (N, H, L, E) with contiguous rows; N and H are 1 where there are none."""
    x = x.reshape((1,) * (4 - x.ndim) + x.shape)
    # Rows of an expanded array lie on top of each other, which BLAS does not know.
    in_rows = x.strides[3] == x.itemsize and x.strides[2] >= x.itemsize * x.shape[3]
    return x if in_rows else np.ascontiguousarray(x)


def _expanded(x: Any, shape: tuple) -> Any:
    """A bias or dropout mask for each score: a view of `shape`, or nothing."""
    return _NONE if x is None else np.broadcast_to(x, shape).reshape(shape)


def _empty_heads(shape: tuple) -> Any:
    """An empty (N, H, L, E) that lies in memory as (N, L, H, E): heads are joined next."""
    n, h, length, width = shape
    return empty((n, length, h, width)).swapaxes(1, 2)


def _empty_gradients(query: Any, key: Any, value: Any) -> list:
    """Empty arrays of their shapes; side by side in memory where q, k and v are.

    That is so if one product made them, whose gradient is then there in one piece.
    """
    n, h, length, width = query.shape
    by_one = query.shape == key.shape == value.shape and (
        query.strides[2] == key.strides[2] == value.strides[2] == 3 * h * width * query.itemsize
    )
    if not by_one:
        return [_empty_heads(x.shape) for x in (query, key, value)]
    whole = empty((n, length, 3, h, width))
    return list(whole.transpose(2, 0, 3, 1, 4))  # (N, L, 3, H, E) → 3 × (N, H, L, E)


def _fits(query: Any, key: Any, value: Any) -> bool:
    """Whether these are (…, L, E) with the same batch and heads, and none is empty."""
    same = query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
    return same and query.ndim <= 4 and bool(query.size and key.size and value.size)


def scaled_dot_product_attention_forward(
    op: Any, query: Any, key: Any, bias: Any, value: Any, drop: Any, scale: float, causal: bool
) -> Any:
    if not _fits(query, key, value):
        return NotImplemented
    op.scale, op.causal = scale, causal
    shape = query.shape[:-1] + value.shape[-1:]
    query, key, value = _as_heads(query), _as_heads(key), _as_heads(value)
    scores_shape = (*query.shape[:3], key.shape[2])
    bias, drop = _expanded(bias, scores_shape), _expanded(drop, scores_shape)
    y = _empty_heads((*query.shape[:3], value.shape[3]))
    normalizer = np.empty(query.shape[:3], dtype=query.dtype)
    blocks = (query.shape[2] + QUERIES - 1) // QUERIES
    tasks = query.shape[0] * query.shape[1] * blocks
    attention(tasks, query, key, value, bias, drop, f32(scale), causal, y, normalizer)
    op.remember(score_normalizer, normalizer)
    return y.reshape(shape)


def scaled_dot_product_attention_backward(op: Any, g: Any) -> Any:
    query, key, value, bias, drop, y = op.saved
    normalizer = op.kept(score_normalizer)
    if normalizer is None or op.needs(2):
        return NotImplemented
    shapes = query.shape, key.shape, value.shape
    query, key, value, y, g = map(_as_heads, (query, key, value, y, g))
    scores_shape = (*query.shape[:3], key.shape[2])
    bias, drop = _expanded(bias, scores_shape), _expanded(drop, scores_shape)
    dq, dk, dv = _empty_gradients(query, key, value)
    attention_gradient(
        query.shape[0] * query.shape[1], query, key, value, bias, drop, f32(op.scale), op.causal,
        y, normalizer, g, dq, dk, dv,
    )  # fmt: skip
    return dq.reshape(shapes[0]), dk.reshape(shapes[1]), None, dv.reshape(shapes[2])
