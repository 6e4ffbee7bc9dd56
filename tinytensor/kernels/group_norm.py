"""group_norm and instance_norm, group by group; equations as in ops/layer_norm.py.

In instance_norm a group is one channel. Letters: N samples, G groups, S channels in each, L
positions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array
from .batch_norm import POSITIONS, along, total, total_distance, total_square
from .layer_norm import NEAR, gradient
from .machinery.compile import parallel
from .machinery.contiguous import contiguous, flat
from .machinery.memory import empty
from .machinery.vector_math import f32, minus, plus, times


@parallel
def group_norm(start, stop, x, weight, bias, eps, y, centers, variances):
    """y = w·(x − m) / √(v + eps) + b for each group of x (1, N·G, S·L); weight and bias (G, S)."""
    size = weight.shape[1]
    length = x.shape[2] // size
    for i in range(start, stop):
        center, rest = f32(total(x, i) / x.shape[2]), f32(0.0)
        square = total_square(x, i, center) / x.shape[2]
        if square < NEAR * center * center:  # as in batch_norm.py
            distance = total_distance(x, i, center) / x.shape[2]
            rounded = f32(center + distance)
            rest, center = f32(center - np.float64(rounded) + distance), rounded
            square = max(square - distance * distance, 0.0)
        variance, group = f32(square), i % weight.shape[0]
        for s in range(size):
            scale, shift = weight[group, s] / np.sqrt(variance + eps), bias[group, s]
            line = x[0, i, s * length : (s + 1) * length]
            out = y[0, i, s * length : (s + 1) * length]
            for j in range(line.size):
                out[j] = plus(times(minus(minus(line[j], center), rest), scale), shift)
        centers[i] = center
        variances[i] = variance


@parallel
def group_norm_gradient(start, stop, x, weight, eps, centers, variances, g, dx, dw, db):
    """dn = g·w,  dx = s·(dn − mean dn − n·mean(dn·n)),  dw = Σ g·n,  db = Σ g

    dw and db (N·G, S): of each sample by itself.
    """
    size = weight.shape[1]
    length, count = x.shape[2] // size, x.shape[2]
    for i in range(start, stop):
        center, scale = centers[i], f32(1.0) / np.sqrt(variances[i] + eps)
        rest, group = f32(0.0), i % weight.shape[0]
        if variances[i] < NEAR * center * center:
            rest = f32(total_distance(x, i, center) / count)
        tilts, slopes = 0.0, 0.0
        for s in range(size):
            line = x[0, i, s * length : (s + 1) * length]
            slope = g[0, i, s * length : (s + 1) * length]
            tilt, sum = 0.0, 0.0
            for first in range(0, length, POSITIONS):
                last = min(length, first + POSITIONS)
                tilt += along(line[first:last], slope[first:last], center, rest)
            for j in range(length):
                sum += slope[j]
            dw[i, s], db[i, s] = tilt * scale, sum
            tilts += tilt * weight[group, s]
            slopes += sum * weight[group, s]
        middle, tilt = f32(slopes / count), f32(tilts * scale * scale / count)
        for s in range(size):
            line = x[0, i, s * length : (s + 1) * length]
            slope = g[0, i, s * length : (s + 1) * length]
            out = dx[0, i, s * length : (s + 1) * length]
            for j in range(line.size):
                distance = minus(minus(line[j], center), rest)
                out[j] = gradient(times(slope[j], weight[group, s]), middle, distance, tilt, scale)


def _groups(x: Array) -> Array:
    """(N, G, …) → (1, N·G, S·L)"""
    return contiguous(x.reshape(1, x.shape[0] * x.shape[1], math.prod(x.shape[2:])))


def _parameter(values: Array | None, groups: int, size: int, otherwise: float) -> Array:
    """(G, S)"""
    if values is None:
        return np.full((groups, size), otherwise, np.float32)
    return flat(values).reshape(groups, size)


def _forward(op: Any, x: Array, size: int, weight: Any, bias: Any, axes: tuple, eps: float,
             observe: Any = None) -> Array:  # fmt: skip
    if not x.size:
        return NotImplemented
    op.axes, op.eps = axes, eps
    groups, y = x.shape[1], empty(x.shape)
    centers, variances = np.empty((2, x.shape[0] * groups), np.float32)
    group_norm(
        centers.size, _groups(x), _parameter(weight, groups, size, 1),
        _parameter(bias, groups, size, 0), f32(eps), _groups(y), centers, variances,
    )  # fmt: skip
    kept = (*x.shape[:2], *(1,) * (x.ndim - 2))  # (N·G) → (N, G, 1, …)
    centers, variances = centers.reshape(kept), variances.reshape(kept)
    op.remember("center_of", centers)
    op.remember("mean_square", variances)
    if observe is not None:
        observe(centers, variances)
    return y


def _backward(op: Any, g: Array, size: int) -> tuple:
    x, weight = op.saved
    centers, variances = op.kept("center_of"), op.kept("mean_square")
    if centers is None:
        return NotImplemented
    groups, dx = x.shape[1], empty(x.shape)
    dw, db = np.empty((2, x.shape[0] * groups, size))
    group_norm_gradient(
        centers.size, _groups(x), _parameter(weight, groups, size, 1), f32(op.eps), flat(centers),
        flat(variances), _groups(g), _groups(dx), dw, db,
    )  # fmt: skip
    # (N·G, S) → (G·S) → (G, S, 1), or (C, 1, …), as weight and bias
    shape = (groups, size, 1) if op.op_name == "group_norm" else (groups, *(1,) * (x.ndim - 2))
    sums = (d.reshape(x.shape[0], groups * size).sum(axis=0) for d in (dw, db))
    return dx, *(d.astype(np.float32).reshape(shape) for d in sums)


def group_norm_forward(op: Any, x: Array, *rest: Any) -> Array:
    """x (N, G, S, L)"""
    return _forward(op, x, x.shape[2], *rest)


def group_norm_backward(op: Any, g: Array) -> tuple:
    return _backward(op, g, g.shape[2])


def instance_norm_forward(op: Any, x: Array, *rest: Any) -> Array:
    """x (N, C, …)"""
    return _forward(op, x, 1, *rest)


def instance_norm_backward(op: Any, g: Array) -> tuple:
    return _backward(op, g, 1)
