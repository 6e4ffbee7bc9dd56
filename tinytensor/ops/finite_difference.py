"""gradient: the slope of sampled values along each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.variable import Variable, unwrap
from .dims import distinct_dims
from .join import cat
from .partial_views import narrow
from .promote import as_float

if TYPE_CHECKING:
    from ..tensor import Tensor


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slope along each of `dim` (all by default), by differences of second order.

    Inside   y'ᵢ = (y_{i+1}·h₁² − y_{i−1}·h₂² + yᵢ·(h₂² − h₁²)) / (h₁h₂(h₁ + h₂)), with the steps
    h₁ = xᵢ − x_{i−1} and h₂ = x_{i+1} − xᵢ. At both ends differences of order `edge_order`, 1 or 2.

    spacing: the step h, one for each dim, or for each dim a vector of the places x.
    """
    shape = array_of("gradient", input).shape
    dims = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = distinct_dims("gradient", tuple(dims), len(shape))
    steps = _steps(spacing, len(dims))
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: got edge_order {edge_order}, expected 1 or 2")
    for i, places in zip(dims, steps):
        if not shape or shape[i] <= edge_order:
            raise RuntimeError(
                f"gradient: got shape {shape}, expected more than {edge_order} elements along "
                f"dimension {i}, for edge_order {edge_order}"
            )
        if isinstance(places, Variable) and tuple(places.shape) != (shape[i],):
            raise RuntimeError(
                f"gradient: got places of shape {tuple(places.shape)} for dimension {i}, expected "
                f"({shape[i]},)"
            )
    x = as_float("gradient", input)
    return tuple(_slope(x, i, places, edge_order) for i, places in zip(dims, steps))


def _steps(spacing: Any, count: int) -> list:
    """A step, or a vector of places, for each dim."""
    spacing = 1 if spacing is None else spacing
    if isinstance(spacing, Variable):
        raise TypeError("gradient: got a tensor as spacing, expected a number or a list of tensors")
    if not isinstance(spacing, Sequence):
        return [spacing] * count
    if len(spacing) != count:
        raise RuntimeError(f"gradient: got {len(spacing)} spacings for {count} dims")
    return list(spacing)


def _slope(x: Any, dim: int, places: Any, edge_order: int) -> Any:
    size = x.shape[dim]
    h: Any = _step_sizes(x, dim, places)
    numeric = not isinstance(h, Variable)

    def at(i: int, count: int = 1) -> Any:
        return narrow(x, dim, i, count)

    def step(i: int, count: int = 1) -> Any:
        return h if numeric else narrow(h, dim, i, count)

    parts = []
    if size > 2:
        first, second = step(0, size - 2), step(1, size - 2)
        before, here, after = at(0, size - 2), at(1, size - 2), at(2, size - 2)
        parts = [
            here * ((second - first) / (first * second))
            + after * (first / (second * (first + second)))
            - before * (second / (first * (first + second)))
        ]
    if edge_order == 1:
        start, end = (at(1) - at(0)) / step(0), (at(size - 1) - at(size - 2)) / step(size - 2)
    else:
        start = _edge(at(0), at(1), at(2), step(0), step(1))
        end = -_edge(at(size - 1), at(size - 2), at(size - 3), step(size - 2), step(size - 3))
    return cat([start, *parts, end], dim)


def _edge(y0: Any, y1: Any, y2: Any, h1: Any, h2: Any) -> Any:
    """The slope at y0 of the parabola through three values, h₁ and h₂ apart."""
    return (
        y1 * ((h1 + h2) / (h1 * h2))
        - y0 * ((2 * h1 + h2) / (h1 * (h1 + h2)))
        - y2 * (h1 / (h2 * (h1 + h2)))
    )


def _step_sizes(x: Any, dim: int, places: Any) -> Any:
    """A number, or a tensor of x's dtype that broadcasts along dim."""
    if not isinstance(places, Variable):
        return float(places) if not isinstance(places, complex) else places
    if unwrap(places).dtype.kind in "iu":
        places = places.to(x.dtype)
    steps = places[1:] - places[:-1]
    shape = np.ones(x.ndim, dtype=int)
    shape[dim] = -1
    return steps.reshape(tuple(int(n) for n in shape))


__all__ = ["gradient"]
