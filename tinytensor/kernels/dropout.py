"""Dropout with a given mask, in one pass: y = x·mask·scale"""

from __future__ import annotations

from typing import Any

from ..backend import Array
from .machinery.compile import parallel
from .machinery.contiguous import flat
from .machinery.memory import empty
from .machinery.vector_math import f32


@parallel
def masked_scale(start, stop, x, mask, scale, y):
    """y = x·mask·scale; NaN and infinity give NaN where the mask is 0, as in the product."""
    for i in range(start, stop):
        y[i] = x[i] * (scale if mask[i] else f32(0.0))


def _apply(x: Array, mask: Array, scale: float) -> Array:
    if mask.shape != x.shape:  # a mask for whole channels
        return NotImplemented
    y = empty(x.shape)
    masked_scale(x.size, flat(x), flat(mask), f32(scale), y.reshape(-1))
    return y


def dropout_forward(op: Any, x: Array, mask: Array, scale: float) -> Array:
    op.scale = scale
    return _apply(x, mask, scale)


def dropout_backward(op: Any, g: Array) -> Array:
    (mask,) = op.saved
    return _apply(g, mask, op.scale)
