"""The in-place steps that updates are made of, each in PyTorch's order of operations.

The order decides what underflows and overflows: (c·g)·g is finite where c·(g·g) is not, and
(c·m)/d is 0/0 where c·(m/d) is m/0.
"""

from __future__ import annotations

from ..backend import Array


def lerp_(x: Array, end: Array, weight: float) -> None:
    """x ← x + weight·(end − x), from the nearer end, so that weight 1 gives exactly `end`."""
    difference = end - x
    if abs(weight) < 0.5:
        difference *= weight
        x += difference
    else:
        difference *= 1 - weight
        x[...] = end - difference


def add_product_(x: Array, a: Array, b: Array, factor: float) -> None:
    """x ← x + (factor·a)·b"""
    product = a * factor
    product *= b
    x += product


def add_ratio_(x: Array, a: Array, b: Array, factor: float) -> None:
    """x ← x + (factor·a)/b"""
    ratio = a * factor
    ratio /= b
    x += ratio
