"""batch_norm in training, channel by channel; equations as in ops/layer_norm.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array
from .layer_norm import NEAR, gradient
from .machinery.compile import parallel, part
from .machinery.contiguous import contiguous, flat
from .machinery.memory import copy, empty
from .machinery.vector_math import f32, minus, plus, times

# Means are summed in float64: additions of equal numbers round in the same direction, and the mean
# may be small compared with the sum's error. The other sums are float32 over this many positions at
# a time, which is faster.
POSITIONS = 512
SHORT = 8  # positions below which samples are laid out one after another


@part
def total(x, channel):
    """Σ x over samples and positions"""
    result = 0.0
    for n in range(x.shape[0]):
        line = x[n, channel]
        for j in range(line.size):
            result += line[j]
    return result


@part
def total_distance(x, channel, center):
    """Σ (x − center)"""
    result = 0.0
    for n in range(x.shape[0]):
        line = x[n, channel]
        for j in range(line.size):
            result += minus(line[j], center)
    return result


@part
def total_square(x, channel, center):
    """Σ (x − center)²"""
    result = 0.0
    for n in range(x.shape[0]):
        line = x[n, channel]
        if line.size <= POSITIONS:
            result += square(line, center)
        else:
            for start in range(0, line.size, POSITIONS):
                result += square(line[start : start + POSITIONS], center)
    return result


@part
def square(line, center):
    """Σ (x − center)² of a short line"""
    result = f32(0.0)
    for j in range(line.size):
        distance = minus(line[j], center)
        result += distance * distance
    return result


@part
def total_along(x, g, channel, center, rest):
    """Σ g·(x − center − rest)"""
    result = 0.0
    for n in range(x.shape[0]):
        line, slope = x[n, channel], g[n, channel]
        if line.size <= POSITIONS:
            result += along(line, slope, center, rest)
        else:
            for start in range(0, line.size, POSITIONS):
                stop = start + POSITIONS
                result += along(line[start:stop], slope[start:stop], center, rest)
    return result


@part
def along(line, slope, center, rest):
    """Σ g·(x − center − rest) of a short line"""
    result = f32(0.0)
    for j in range(line.size):
        result += times(slope[j], minus(minus(line[j], center), rest))
    return result


@parallel
def batch_norm(start, stop, x, weight, bias, eps, y, centers, variances):
    """y = w·(x − m) / √(v + eps) + b for each channel of x (N, C, L); m and v are kept, (C)."""
    count = x.shape[0] * x.shape[2]
    for c in range(start, stop):
        center, rest = f32(total(x, c) / count), f32(0.0)
        square = total_square(x, c, center) / count
        if square < NEAR * center * center:
            # As `settled` in layer_norm.py. A channel may have only two numbers, one unit in the
            # last place apart, with the mean between them: rest is its part beyond float32.
            distance = total_distance(x, c, center) / count
            rounded = f32(center + distance)
            rest, center = f32(center - np.float64(rounded) + distance), rounded
            square = max(square - distance * distance, 0.0)
        variance = f32(square)
        scale = weight[c] / np.sqrt(variance + eps)
        for n in range(x.shape[0]):
            line, out = x[n, c], y[n, c]
            for j in range(line.size):
                out[j] = plus(times(minus(minus(line[j], center), rest), scale), bias[c])
        centers[c] = center
        variances[c] = variance


@parallel
def batch_norm_gradient(start, stop, x, weight, eps, centers, variances, g, dx, dw, db):
    """dw = Σ g·n,  db = Σ g,  dx = w·s·(g − mean g − n·mean(g·n)),  n = (x − m)·s"""
    count = x.shape[0] * x.shape[2]
    for c in range(start, stop):
        center, scale = centers[c], f32(1.0) / np.sqrt(variances[c] + eps)
        rest = f32(0.0)
        if variances[c] < NEAR * center * center:
            rest = f32(total_distance(x, c, center) / count)
        tilts, slopes = total_along(x, g, c, center, rest), total(g, c)
        dw[c], db[c] = tilts * scale, slopes
        middle, tilt = f32(slopes / count), f32(tilts * scale * scale / count)
        factor = weight[c] * scale
        for n in range(x.shape[0]):
            line, slope, out = x[n, c], g[n, c], dx[n, c]
            for j in range(line.size):
                distance = minus(minus(line[j], center), rest)
                out[j] = gradient(slope[j], middle, distance, tilt, factor)


def _lines(x: Array) -> Array:
    """(N, C, …) → (N, C, L); with few positions (1, C, N·L), as short lines are slow"""
    length = math.prod(x.shape[2:])
    if length >= SHORT:
        return contiguous(x.reshape(*x.shape[:2], length))
    return copy(x.reshape(*x.shape[:2], length).swapaxes(0, 1)).reshape(1, x.shape[1], -1)


def _from_lines(lines: Array, shape: tuple) -> Array:
    """`_lines`, backwards; in the same memory if it is in order."""
    if lines.shape[0] == shape[0]:
        return lines.reshape(shape)
    # (1, C, N·L) → (C, N, …) → (N, C, …)
    turned = lines.reshape(shape[1], shape[0], *shape[2:])
    return copy(turned.swapaxes(0, 1))


def batch_norm_forward(
    op: Any,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    axes: tuple,
    eps: float,
    observe: Any = None,
) -> Array:
    op.axes, op.eps = axes, eps
    channels = x.shape[1]
    scale = np.ones(channels, np.float32) if weight is None else flat(weight)
    shift = np.zeros(channels, np.float32) if bias is None else flat(bias)
    lines, (centers, variances) = _lines(x), np.empty((2, channels), np.float32)
    y = empty(lines.shape)
    batch_norm(channels, lines, scale, shift, f32(eps), y, centers, variances)
    kept = (1, channels) + (1,) * (x.ndim - 2)  # (C) → (1, C, 1, …)
    centers, variances = centers.reshape(kept), variances.reshape(kept)
    op.remember("center_of", centers)
    op.remember("mean_square", variances)
    if observe is not None:
        observe(centers, variances)
    return _from_lines(y, x.shape)


def batch_norm_backward(op: Any, g: Array) -> tuple:
    x, weight = op.saved
    centers, variances = op.kept("center_of"), op.kept("mean_square")
    if centers is None:
        return NotImplemented
    channels = x.shape[1]
    scale = np.ones(channels, np.float32) if weight is None else flat(weight)
    lines, (dw, db) = _lines(x), np.empty((2, channels), np.float32)
    dx = empty(lines.shape)
    batch_norm_gradient(
        channels,
        lines,
        scale,
        f32(op.eps),
        flat(centers),
        flat(variances),
        _lines(g),
        dx,
        dw,
        db,
    )
    shape = (channels,) + (1,) * (x.ndim - 2)  # (C) → (C, 1, …), as weight and bias
    return _from_lines(dx, x.shape), dw.reshape(shape), db.reshape(shape)
