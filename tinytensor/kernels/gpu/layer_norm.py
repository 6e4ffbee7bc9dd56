"""layer_norm and rms_norm over any axes; equations as in ops/layer_norm.py.

Forward and backward are one or two sums and one launch each. c: the mean, v: the mean square around
it, both kept; s = 1 / √(v + eps).
"""

from __future__ import annotations

import math
from typing import Any

from ...backend import Array, xp
from . import elementwise, sum_of

square_sum = sum_of("square_sum", "T x, T c", "(x - c) * (x - c)")
gradient_sum = sum_of("gradient_sum", "T g, T w", "g * w")
gradient_along = sum_of(
    "gradient_along", "T x, T c, T v, T eps, T g, T w", "g * w * (x - c) * rsqrt(v + eps)"
)
normalize = elementwise(
    "normalize", "T x, T c, T v, T eps, T w, T b", "T y", "y = (x - c) * rsqrt(v + eps) * w + b"
)
norm_gradient = elementwise(
    "norm_gradient", "T x, T c, T v, T eps, T g, T w, T total, T along", "T dx, T dw",
    "T s = rsqrt(v + eps); T y = (x - c) * s; dx = s * (g * w - total - y * along); dw = g * y",
)  # fmt: skip


def _constant(value: float, like: Array) -> Array:
    """A number as an array of shape (1), in place of a missing weight, bias or mean."""
    return xp(like).full((1,), value, dtype=like.dtype)


def _count(x: Array, axes: tuple) -> int:
    return math.prod(x.shape[axis] for axis in axes)


def layer_norm_forward(
    op: Any,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    axes: tuple,
    eps: float,
    observe: Any = None,
) -> Array:
    op.axes, op.eps = axes, eps
    center = x.mean(axis=axes, keepdims=True)
    variance = square_sum(x, center, axis=axes) / _count(x, axes)
    op.remember("center_of", center)
    op.remember("mean_square", variance)
    if observe is not None:
        observe(center, variance)
    w = _constant(1, x) if weight is None else weight
    b = _constant(0, x) if bias is None else bias
    return normalize(x, center, variance, _constant(eps, x), w, b)


def layer_norm_backward(op: Any, g: Array) -> tuple:
    x, weight = op.saved
    center, variance = op.kept("center_of"), op.kept("mean_square")
    if center is None:
        return NotImplemented
    w = _constant(1, x) if weight is None else weight
    eps, count = _constant(op.eps, x), _count(x, op.axes)
    total = gradient_sum(g, w, axis=op.axes) / count
    along = gradient_along(x, center, variance, eps, g, w, axis=op.axes) / count
    dx, dw = norm_gradient(x, center, variance, eps, g, w, total, along)
    return dx, dw, g


def rms_norm_forward(op: Any, x: Array, weight: Array | None, axes: tuple, eps: float) -> Array:
    op.axes, op.eps = axes, eps
    zero = _constant(0, x)
    square = square_sum(x, zero, axis=axes) / _count(x, axes)
    op.remember("mean_square", square)
    w = _constant(1, x) if weight is None else weight
    return normalize(x, zero, square, _constant(eps, x), w, zero)


def rms_norm_backward(op: Any, g: Array) -> tuple:
    x, weight = op.saved
    square = op.kept("mean_square")
    if square is None:
        return NotImplemented
    zero, eps = _constant(0, x), _constant(op.eps, x)
    w = _constant(1, x) if weight is None else weight
    along = gradient_along(x, zero, square, eps, g, w, axis=op.axes) / _count(x, op.axes)
    return norm_gradient(x, zero, square, eps, g, w, zero, along)
