"""What updates are made of: the gradient to descend, and in-place steps in PyTorch's order.

The order decides what underflows and overflows: (c·g)·g is finite where c·(g·g) is not, and
(c·m)/d is 0/0 where c·(m/d) is m/0.
"""

from __future__ import annotations

from typing import Any

from ..backend import Array


def descent(parameter: Array, gradient: Array, group: dict[str, Any]) -> Array:
    """The gradient to descend: −g to maximize, plus weight_decay·p.

    decoupled_weight_decay takes lr·weight_decay·p off the parameter at once instead.
    """
    if group["maximize"]:
        gradient = -gradient
    decay = group["weight_decay"]
    if decay and group.get("decoupled_weight_decay"):
        parameter *= 1 - float(group["lr"]) * decay
    elif decay:
        gradient = gradient + parameter * decay
    return gradient


def lerp_(x: Array, end: Array, weight: float) -> None:
    """x ← x + weight·(end − x), from the nearer end, so that weight 1 gives `end`."""
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
