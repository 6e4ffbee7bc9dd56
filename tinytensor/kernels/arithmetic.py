"""Sums of two large arrays of one shape, such as a block's output and its skip connection."""

from __future__ import annotations

from typing import Any

from ..backend import Array
from .machinery.compile import parallel
from .machinery.contiguous import flat
from .machinery.memory import empty_like


@parallel
def add(start, stop, a, b, y):
    """y = a + b"""
    for i in range(start, stop):
        y[i] = a[i] + b[i]


def add_forward(op: Any, a: Array, b: Array) -> Array:
    if getattr(b, "shape", None) != a.shape or b.dtype != a.dtype:
        return NotImplemented
    y = empty_like(a)
    add(a.size, flat(a), flat(b), y.reshape(-1))
    return y
