"""Sums of large arrays of one shape, such as a block's output and what goes past it."""

from __future__ import annotations

from typing import Any

from .machinery.compile import parallel
from .machinery.contiguous import flat
from .machinery.memory import empty_like


@parallel
def add(start, stop, a, b, y):
    """y = a + b"""
    for i in range(start, stop):
        y[i] = a[i] + b[i]


def add_forward(op: Any, a: Any, b: Any) -> Any:
    if getattr(b, "shape", None) != a.shape or b.dtype != a.dtype:
        return NotImplemented
    y = empty_like(a)
    add(a.size, flat(a), flat(b), y.reshape(-1))
    return y
