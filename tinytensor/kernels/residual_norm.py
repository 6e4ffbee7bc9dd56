"""A residual sum and the norm after it; equations as in ops/residual_norm.py.

A row is read from memory once: what is summed is normalised while it is in the cache. Backward
makes the sum again from its two parts, so that nothing is kept for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.layer_norm import center_of, mean_square
from .blas import share
from .compile import parallel
from .layout import as_rows, flat
from .memory import empty_like
from .norm import (
    BLOCK,
    add_and_clear,
    gradient,
    kept_shape,
    normalized,
    normalizes_rows,
    or_ones,
    rest_of,
    row_length,
    settled,
    sum_of_threads,
)
from .threads import get_num_threads
from .vector_math import f32, minus, plus, times


@parallel
def add_layer_norm(start, stop, x, residual, weight, bias, eps, total, y, centers, variances):
    """total = x + residual and its layer norm y, row by row (M, N); means and variances (M)."""
    size = f32(x.shape[1])
    for row in range(start, stop):
        plain = f32(0.0)
        for j in range(x.shape[1]):
            t = x[row, j] + residual[row, j]
            total[row, j] = t
            plain += t
        center = plain / size
        second = f32(0.0)
        for j in range(x.shape[1]):
            second += (total[row, j] - center) * (total[row, j] - center)
        center, rest, variance = settled(total, row, center, second / size)
        scale = f32(1.0) / np.sqrt(variance + eps)
        for j in range(x.shape[1]):
            y[row, j] = plus(normalized(total[row, j], center, rest, scale, weight[j]), bias[j])
        centers[row] = center
        variances[row] = variance


@parallel
def add_layer_norm_gradient(
    start, stop, x, residual, weight, eps, centers, variances, d_total, g, dx, dw, db
):  # fmt: skip
    """dx = d_total + s·(dn − mean dn − n·mean(dn·n)),  dn = g·w,  dw = Σ g·n,  db = Σ g

    dw and db (T, N): each of T threads sums over its own rows.
    """
    parts, size = dw.shape[0], f32(x.shape[1])
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        normal = np.empty((1, x.shape[1]), dtype=np.float32)  # x + residual, then n, of one row
        dw_here, db_here = np.zeros_like(normal[0]), np.zeros_like(normal[0])  # of a block of rows
        dw[i], db[i] = 0.0, 0.0
        for row in range(first, last):
            center, scale = centers[row], f32(1.0) / np.sqrt(variances[row] + eps)
            for j in range(x.shape[1]):
                normal[0, j] = plus(x[row, j], residual[row, j])  # as it was rounded in forward
            rest = rest_of(normal, 0, center, variances[row])
            plain = f32(0.0)
            along = f32(0.0)
            for j in range(x.shape[1]):
                n = times(minus(minus(normal[0, j], center), rest), scale)
                normal[0, j] = n
                dn = times(g[row, j], weight[j])
                plain += dn
                along += dn * n
            plain /= size
            along /= size
            for j in range(x.shape[1]):
                dw_here[j] += g[row, j] * normal[0, j]
                db_here[j] += g[row, j]
            for j in range(x.shape[1]):
                dn = times(g[row, j], weight[j])
                dx[row, j] = plus(d_total[row, j], gradient(dn, plain, normal[0, j], along, scale))
            if row == last - 1 or row % BLOCK == BLOCK - 1:
                add_and_clear(dw_here, dw, i)
                add_and_clear(db_here, db, i)


@parallel
def add_rms_norm(start, stop, x, residual, weight, eps, total, y, squares):
    """total = x + residual and its rms norm y, row by row (M, N); the mean squares (M)."""
    size = f32(x.shape[1])
    for row in range(start, stop):
        square = f32(0.0)
        for j in range(x.shape[1]):
            t = x[row, j] + residual[row, j]
            total[row, j] = t
            square += t * t
        squares[row] = square / size
        scale = f32(1.0) / np.sqrt(squares[row] + eps)
        for j in range(x.shape[1]):
            y[row, j] = times(times(total[row, j], scale), weight[j])


@parallel
def add_rms_norm_gradient(start, stop, x, residual, weight, eps, squares, d_total, g, dx, dw):
    """dx = d_total + s·(dn − n·mean(dn·n)),  dn = g·w,  dw = Σ g·n, (T, N)"""
    parts, size = dw.shape[0], f32(x.shape[1])
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        normal = np.empty(x.shape[1], dtype=np.float32)  # n of one row
        dw_here = np.zeros_like(normal)  # of a block of rows
        dw[i] = 0.0
        for row in range(first, last):
            scale = f32(1.0) / np.sqrt(squares[row] + eps)
            along = f32(0.0)
            for j in range(x.shape[1]):
                n = times(plus(x[row, j], residual[row, j]), scale)
                normal[j] = n
                along += times(g[row, j], weight[j]) * n
            along /= size
            for j in range(x.shape[1]):
                dw_here[j] += g[row, j] * normal[j]
            for j in range(x.shape[1]):
                dn = times(g[row, j], weight[j])
                dx[row, j] = plus(d_total[row, j], gradient(dn, f32(0.0), normal[j], along, scale))
            if row == last - 1 or row % BLOCK == BLOCK - 1:
                add_and_clear(dw_here, dw, i)


def _rows(size: int, *arrays: Any) -> list:
    """(…, *normalized) → (M, N) of each"""
    return [as_rows(x.reshape(-1, size)) for x in arrays]


def add_layer_norm_forward(
    op: Any, x: Any, weight: Any, bias: Any, residual: Any, axes: tuple, eps: float
) -> Any:
    if not normalizes_rows(x, axes, weight, bias):
        return NotImplemented
    op.axes, op.eps = axes, eps
    size = row_length(x, axes)
    total, y = empty_like(x), empty_like(x)
    rows = _rows(size, x, residual)
    centers, variances = np.empty((2, rows[0].shape[0]), dtype=x.dtype)
    shift = np.zeros(size, dtype=x.dtype) if bias is None else flat(bias)
    add_layer_norm(
        centers.size, *rows, or_ones(weight, size), shift, f32(eps), *_rows(size, total, y),
        centers, variances,
    )  # fmt: skip
    kept = kept_shape(x, axes)  # (M) → (…, 1, …)
    op.remember(center_of, centers.reshape(kept))
    op.remember(mean_square, variances.reshape(kept))
    return total, y


def add_layer_norm_backward(op: Any, d_total: Any, g: Any) -> Any:
    x, weight, residual = op.saved
    centers, variances = op.kept(center_of), op.kept(mean_square)
    if centers is None or not normalizes_rows(x, op.axes, weight):
        return NotImplemented
    size = row_length(x, op.axes)
    dx = empty_like(x)
    dw, db = np.empty((2, get_num_threads(), size), dtype=np.float64)
    add_layer_norm_gradient(
        dw.shape[0], *_rows(size, x, residual), or_ones(weight, size), f32(op.eps), flat(centers),
        flat(variances), *_rows(size, d_total, g, dx), dw, db,
    )  # fmt: skip
    shape = x.shape[-len(op.axes) :]  # (T, N) → (N) → normalized shape
    return dx, sum_of_threads(dw, shape), sum_of_threads(db, shape), dx


def add_rms_norm_forward(
    op: Any, x: Any, weight: Any, residual: Any, axes: tuple, eps: float
) -> Any:
    if not normalizes_rows(x, axes, weight):
        return NotImplemented
    op.axes, op.eps = axes, eps
    size = row_length(x, axes)
    total, y = empty_like(x), empty_like(x)
    rows = _rows(size, x, residual)
    squares = np.empty(rows[0].shape[0], dtype=x.dtype)
    add_rms_norm(
        squares.size, *rows, or_ones(weight, size), f32(eps), *_rows(size, total, y), squares
    )
    op.remember(mean_square, squares.reshape(kept_shape(x, axes)))
    return total, y


def add_rms_norm_backward(op: Any, d_total: Any, g: Any) -> Any:
    x, weight, residual = op.saved
    squares = op.kept(mean_square)
    if squares is None or not normalizes_rows(x, op.axes, weight):
        return NotImplemented
    size = row_length(x, op.axes)
    dx = empty_like(x)
    dw = np.empty((get_num_threads(), size), dtype=np.float64)
    add_rms_norm_gradient(
        dw.shape[0], *_rows(size, x, residual), or_ones(weight, size), f32(op.eps), flat(squares),
        *_rows(size, d_total, g, dx), dw,
    )  # fmt: skip
    return dx, sum_of_threads(dw, x.shape[-len(op.axes) :]), dx
