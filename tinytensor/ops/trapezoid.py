"""Integrals by the trapezoidal rule: Σ Δx·(yᵢ + yᵢ₊₁)/2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of
from ..errors import ShapeError
from .dims import existing_dim
from .partial_views import narrow
from .scan import cumsum

if TYPE_CHECKING:
    from ..tensor import Tensor


def _areas(name: str, y: Any, x: Any, dx: Any, dim: Any) -> tuple[Any, int]:
    """The area below each pair of neighbours along `dim`, and dim counted from the front."""
    rank = array_of(name, y).ndim
    dim = existing_dim(name, dim, rank, IndexError)
    if any(array_of(name, t).dtype.kind == "b" for t in (y, x) if t is not None):
        raise RuntimeError(f"{name}: got dtype bool, expected numbers")
    if x is not None and dx is not None:
        raise TypeError(f"{name}: got both x and dx, expected at most one of them")
    count = y.shape[dim]
    pairs = max(count - 1, 0)
    heights = narrow(y, dim, 0, pairs) + narrow(y, dim, count - pairs, pairs)
    if x is None:
        return heights * (0.5 * (1.0 if dx is None else dx)), dim
    if x.ndim == 1:  # (n,) → (n, 1, …, 1), along dim
        if x.shape[0] != count:
            raise ShapeError(
                f"{name}: x has {x.shape[0]} points for dimension {dim} of shape "
                f"{tuple(y.shape)}, expected {count}"
            )
        x = x.reshape((count,) + (1,) * (rank - 1 - dim))
        along = -(rank - dim)
    else:
        along = dim - rank
        if x.ndim > rank:
            raise ShapeError(
                f"{name}: x has shape {tuple(x.shape)}, expected at most the {rank} dimensions of "
                f"y {tuple(y.shape)}"
            )
        if x.ndim < rank:
            x = x.reshape((1,) * (rank - x.ndim) + tuple(x.shape))
    points = x.shape[along]
    steps = max(points - 1, 0)
    widths = narrow(x, along, points - steps, steps) - narrow(x, along, 0, steps)
    return widths * heights * 0.5, dim


def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Σ Δx·(yᵢ + yᵢ₊₁)/2 along `dim`: the integral of y.

    x: the points, a vector or a tensor that broadcasts with y; or dx: their distance, 1 by default.
    """
    areas, dim = _areas("trapezoid", y, x, dx, dim)
    area = areas.sum(dim)
    return area if y.shape[dim] else area.detach()  # of no points it is a constant, 0


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """As `trapezoid`, but the integrals up to each point but the first: n − 1 along `dim`."""
    areas, dim = _areas("cumulative_trapezoid", y, x, dx, dim)
    return cumsum(areas, dim)


trapz = trapezoid

__all__ = ["cumulative_trapezoid", "trapezoid", "trapz"]
