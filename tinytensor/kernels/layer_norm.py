"""layer_norm and rms_norm over the last dimensions; equations as in ops/layer_norm.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array
from .machinery.blas import share
from .machinery.compile import ordered_part, parallel, part
from .machinery.contiguous import as_rows, flat
from .machinery.memory import empty_like
from .machinery.threads import get_num_threads
from .machinery.vector_math import f32, minus, plus, times

NEAR = f32(1e-4)  # a variance below this fraction of the squared mean is imprecise
BLOCK = 64  # rows whose gradients are summed in float32; see sum_rows in linear.py


@part
def add_and_clear(x, total, i):
    """total[i] ← total[i] + x, x ← 0"""
    for j in range(x.size):
        total[i, j] += x[j]
        x[j] = f32(0.0)


@part
def settled(x, row, center, variance):
    """Correct an imprecise mean: the mean of a row, its part beyond float32, and the variance.

    If the variance is small compared with the mean, the rounding error of the mean may exceed the
    differences between the numbers. Their mean distance from it belongs to the mean, not to the
    variance.
    """
    distance = rest_of(x, row, center, variance)
    better = plus(center, distance)
    rest = minus(distance, minus(better, center))
    return better, rest, max(variance - distance * distance, f32(0.0))


@part
def rest_of(x, row, center, variance):
    """The part of a row's mean beyond the float32 number `center`; 0 where it does not matter."""
    if not variance < NEAR * center * center:
        return f32(0.0)
    total = f32(0.0)
    for j in range(x.shape[1]):
        total += minus(x[row, j], center)
    return total / f32(x.shape[1])


@ordered_part
def normalized(x, center, rest, scale, weight):
    """w·n, n = (x − center − rest)·scale"""
    return (x - center - rest) * scale * weight


@ordered_part
def gradient(dn, mean, n, along, scale):
    """dx = scale·(dn − mean − n·along)"""
    return scale * (dn - mean - n * along)


@parallel
def layer_norm(start, stop, x, weight, bias, eps, y, centers, variances):
    """y = w·(x − m) / √(v + eps) + b for each row of x (M, N); m and v are kept, (M)."""
    size = f32(x.shape[1])
    for row in range(start, stop):
        total = f32(0.0)
        for j in range(x.shape[1]):
            total += x[row, j]
        center = total / size
        total = f32(0.0)
        for j in range(x.shape[1]):
            total += (x[row, j] - center) * (x[row, j] - center)
        center, rest, variance = settled(x, row, center, total / size)
        scale = f32(1.0) / np.sqrt(variance + eps)
        for j in range(x.shape[1]):
            y[row, j] = plus(normalized(x[row, j], center, rest, scale, weight[j]), bias[j])
        centers[row] = center
        variances[row] = variance


@parallel
def layer_norm_gradient(start, stop, x, weight, eps, centers, variances, g, dx, dw, db):
    """dn = g·w,  dx = s·(dn − mean dn − n·mean(dn·n)),  dw = Σ g·n,  db = Σ g

    dw and db (T, N): each of T threads sums its own rows in its own memory, as threads that write
    to neighbouring memory slow each other down.
    """
    parts, size = dw.shape[0], f32(x.shape[1])
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        normal = np.empty(x.shape[1], dtype=np.float32)  # n of one row
        dw_here, db_here = np.zeros_like(normal), np.zeros_like(normal)  # of a block of rows
        dw[i], db[i] = 0.0, 0.0
        for row in range(first, last):
            center, scale = centers[row], f32(1.0) / np.sqrt(variances[row] + eps)
            rest = rest_of(x, row, center, variances[row])
            total = f32(0.0)
            along = f32(0.0)
            for j in range(x.shape[1]):
                n = times(minus(minus(x[row, j], center), rest), scale)
                normal[j] = n
                dn = times(g[row, j], weight[j])
                total += dn
                along += dn * n
            total /= size
            along /= size
            for j in range(x.shape[1]):
                dw_here[j] += g[row, j] * normal[j]
                db_here[j] += g[row, j]
            for j in range(x.shape[1]):
                dx[row, j] = gradient(times(g[row, j], weight[j]), total, normal[j], along, scale)
            if row == last - 1 or row % BLOCK == BLOCK - 1:
                add_and_clear(dw_here, dw, i)
                add_and_clear(db_here, db, i)


@parallel
def rms_norm(start, stop, x, weight, eps, y, squares):
    """y = w·x / √(mean x² + eps) for each row of x (M, N); the mean squares are kept, (M)."""
    size = f32(x.shape[1])
    for row in range(start, stop):
        total = f32(0.0)
        for j in range(x.shape[1]):
            total += x[row, j] * x[row, j]
        squares[row] = total / size
        scale = f32(1.0) / np.sqrt(squares[row] + eps)
        for j in range(x.shape[1]):
            y[row, j] = times(times(x[row, j], scale), weight[j])


@parallel
def rms_norm_gradient(start, stop, x, weight, eps, squares, g, dx, dw):
    """dn = g·w,  dx = s·(dn − n·mean(dn·n)),  dw = Σ g·n, (T, N), as in layer_norm_gradient"""
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
                n = x[row, j] * scale
                normal[j] = n
                along += times(g[row, j], weight[j]) * n
            along /= size
            for j in range(x.shape[1]):
                dw_here[j] += g[row, j] * normal[j]
            for j in range(x.shape[1]):
                dx[row, j] = gradient(
                    times(g[row, j], weight[j]), f32(0.0), normal[j], along, scale
                )
            if row == last - 1 or row % BLOCK == BLOCK - 1:
                add_and_clear(dw_here, dw, i)


def normalizes_rows(x: Array, axes: tuple, *parameters: Any) -> bool:
    """True if the axes are the last ones, and weight and bias have their shape."""
    last = axes == tuple(range(-len(axes), 0))
    return last and all(p is None or p.shape == x.shape[-len(axes) :] for p in parameters)


def row_length(x: Array, axes: tuple) -> int:
    return math.prod(x.shape[-len(axes) :])


def sum_of_threads(x: Array, shape: tuple) -> Array:
    """(T, N) → (N) → `shape`, in float32"""
    return x.sum(axis=0).astype(np.float32).reshape(shape)


def or_ones(weight: Array | None, size: int) -> Array:
    return np.ones(size, dtype=np.float32) if weight is None else flat(weight)


def kept_shape(x: Array, axes: tuple) -> tuple:
    """The shape of means over `axes`, with keepdims."""
    return x.shape[: -len(axes)] + (1,) * len(axes)


def layer_norm_forward(
    op: Any,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    axes: tuple,
    eps: float,
    observe: Any = None,
) -> Array:
    if observe is not None or not normalizes_rows(x, axes, weight, bias):
        return NotImplemented
    op.axes, op.eps = axes, eps
    size = row_length(x, axes)
    rows = as_rows(x.reshape(-1, size))  # (…, *normalized) → (M, N)
    y = empty_like(x)
    centers, variances = np.empty((2, rows.shape[0]), dtype=x.dtype)
    shift = np.zeros(size, dtype=x.dtype) if bias is None else flat(bias)
    layer_norm(
        centers.size, rows, or_ones(weight, size), shift, f32(eps), y.reshape(-1, size), centers,
        variances,
    )  # fmt: skip
    kept = kept_shape(x, axes)  # (M) → (…, 1, …)
    op.remember("center_of", centers.reshape(kept))
    op.remember("mean_square", variances.reshape(kept))
    return y


def layer_norm_backward(op: Any, g: Array) -> tuple:
    x, weight = op.saved
    centers, variances = op.kept("center_of"), op.kept("mean_square")
    if centers is None or not normalizes_rows(x, op.axes, weight):
        return NotImplemented
    size = row_length(x, op.axes)
    dx = empty_like(x)
    dw, db = np.empty((2, get_num_threads(), size), dtype=np.float64)
    layer_norm_gradient(
        dw.shape[0], as_rows(x.reshape(-1, size)), or_ones(weight, size), f32(op.eps),
        flat(centers), flat(variances), as_rows(g.reshape(-1, size)), dx.reshape(-1, size), dw, db,
    )  # fmt: skip
    shape = x.shape[-len(op.axes) :]  # (T, N) → (N) → normalized shape
    return dx, sum_of_threads(dw, shape), sum_of_threads(db, shape)


def rms_norm_forward(op: Any, x: Array, weight: Array | None, axes: tuple, eps: float) -> Array:
    if not normalizes_rows(x, axes, weight):
        return NotImplemented
    op.axes, op.eps = axes, eps
    size = row_length(x, axes)
    rows = as_rows(x.reshape(-1, size))  # (…, *normalized) → (M, N)
    y = empty_like(x)
    squares = np.empty(rows.shape[0], dtype=x.dtype)
    rms_norm(squares.size, rows, or_ones(weight, size), f32(eps), y.reshape(-1, size), squares)
    op.remember("mean_square", squares.reshape(kept_shape(x, axes)))
    return y


def rms_norm_backward(op: Any, g: Array) -> tuple:
    x, weight = op.saved
    squares = op.kept("mean_square")
    if squares is None or not normalizes_rows(x, op.axes, weight):
        return NotImplemented
    size = row_length(x, op.axes)
    dx = empty_like(x)
    dw = np.empty((get_num_threads(), size), dtype=np.float64)
    rms_norm_gradient(
        dw.shape[0], as_rows(x.reshape(-1, size)), or_ones(weight, size), f32(op.eps),
        flat(squares), as_rows(g.reshape(-1, size)), dx.reshape(-1, size), dw,
    )  # fmt: skip
    return dx, sum_of_threads(dw, x.shape[-len(op.axes) :])
