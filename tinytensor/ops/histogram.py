"""Histograms: how often each integer (bincount), or a value in each bin, occurs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, check_tensors
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap_like
from ..backend import Array, is_array, xp
from ..errors import ShapeError
from ..out import takes_out
from . import return_types
from .promote import require_float

if TYPE_CHECKING:
    from ..tensor import Tensor


class Bincount(Op):
    """y[n] = how often n occurs in x, or the sum of the weights of its places;  no gradient"""

    differentiable = False

    def forward(self, x: Array, weights: Array | None, minlength: int) -> Array:
        counts = xp(x).bincount(x, weights, minlength)
        if weights is None:
            return counts.astype(np.int64)
        return counts.astype(weights.dtype if weights.dtype == np.float32 else np.float64)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, … occurs in a vector of integers; at least `minlength` long.

    weights: what each element counts, instead of 1.
    """
    check_tensors("bincount", weights=weights)
    array = array_of("bincount", input)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise RuntimeError(
            f"bincount: got {array.dtype} of shape {array.shape}, expected a vector of integers"
        )
    if xp(array) is np and array.size and array.min() < 0:
        raise RuntimeError(f"bincount: got {array.min()}, expected numbers from 0 on")
    if minlength < 0:
        raise RuntimeError(f"bincount: got minlength {minlength}, expected 0 or more")
    if weights is not None and tuple(weights.shape) != array.shape:
        raise ShapeError(
            f"bincount: weights have shape {tuple(weights.shape)}, expected {array.shape}, as input"
        )
    return Bincount.apply(input, unwrap(weights) if array.size else None, minlength)


class Histc(Op):
    """y[b] = how many elements of x are in the b-th of equal bins from low to high;  no gradient"""

    differentiable = False

    def forward(self, x: Array, bins: int, low: float, high: float) -> Array:
        if low == high and x.size:
            low, high = float(x.min()), float(x.max())
        if not math.isfinite(high - low):
            raise RuntimeError(f"histc: got the range [{low}, {high}], expected a finite one")
        if low == high and low - 1 == low:  # too large to take 1 away: all elements are equal
            y = xp(x).zeros(bins, x.dtype)
            edge = float(np.finfo(x.dtype).max)
            y[bins - 1 if low == edge else 0 if low == -edge else bins // 2] = x.size
            return y
        if low == high:
            low, high = low - 1, high + 1
        counts, _ = xp(x).histogram(x.reshape(-1), bins, (low, high))
        return counts.astype(x.dtype)


@takes_out("same dtype")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal bins from min to max; others do not count.

    min = max: the smallest and largest element.
    """
    require_float("histc", input, NotImplementedError)
    if bins <= 0:
        raise RuntimeError(f"histc: got {bins} bins, expected at least one")
    if min > max:
        raise RuntimeError(f"histc: got min {min} and max {max}, expected min ≤ max")
    untracked = input.detach() if isinstance(input, Variable) else input
    return Histc.apply(untracked, bins, min, max)


class Histogram(Op):
    """y[b] = how many elements of x, or the sum of their weights, are in [edge b, edge b+1), or
    also on the last edge;  y / (Σy · width of b) for a density;  no gradient
    """

    differentiable = False

    def forward(self, x: Array, edges: Array, weight: Array | None, density: bool) -> Array:
        lib, bins = xp(x), len(edges) - 1
        inside = (x >= edges[0]) & (x <= edges[-1])  # NaN is not
        place = lib.searchsorted(edges, x[inside], side="right") - 1
        place = lib.clip(place, 0, bins - 1)
        counted = None if weight is None else weight[inside].astype(np.float64)
        y = lib.bincount(place, counted, bins).astype(x.dtype)
        if not density:
            return y
        with np.errstate(all="ignore"):  # 0/0 is nan, without a warning
            return y / (y.sum() * (edges[1:] - edges[:-1]))


@takes_out("same dtype")
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogram:
    """(hist, bin_edges): how many elements lie in each bin, and the bins + 1 edges.

    bins: the number of equal bins, or the increasing edges. A bin has its left edge, the last one
    both. range: (low, high) of equal bins; default: the smallest and largest element. weight: what
    each element counts, of the shape of input. density: the area of the histogram is 1.
    """
    check_tensors("histogram", weight=weight)
    if type(density) is not bool:
        check_flags("histogram", density=density)
    x = array_of("histogram", input)
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError(f"histogram: got {x.dtype}, expected float32 or float64")
    edges = edges_given(x, bins, range) if is_array(unwrap(bins)) else equal_edges(x, bins, range)
    weights = unwrap(weight)
    if weight is not None and (weights.shape != x.shape or weights.dtype != x.dtype):
        raise RuntimeError(
            f"histogram: weight is {weights.dtype} of shape {weights.shape}, expected {x.dtype} of "
            f"shape {x.shape}, as input"
        )
    flat = None if weight is None else weights.reshape(-1)
    untracked = wrap_like(x.reshape(-1), input)
    hist = Histogram.apply(untracked, edges, flat, density)
    return return_types.histogram(hist, wrap_like(edges, input))


def edges_given(x: Array, bins: Any, range: Any) -> Array:
    """The edges that the caller passed, checked."""
    edges = unwrap(bins)
    if range is not None:
        raise TypeError("histogram: got the edges of the bins and a range, expected one of them")
    if edges.ndim != 1 or len(edges) < 2 or edges.dtype != x.dtype:
        raise RuntimeError(
            f"histogram: bins is {edges.dtype} of shape {edges.shape}, expected a vector of at "
            f"least 2 edges in {x.dtype}, as input"
        )
    return edges.copy()


def equal_edges(x: Array, bins: Any, range: Any) -> Array:
    """The edges of `bins` bins of the same width."""
    if not isinstance(bins, (int, np.integer)) or bins <= 0:
        raise RuntimeError(f"histogram: got bins = {bins!r}, expected at least one bin")
    if range is not None:
        if len(range) != 2 or range[0] > range[1]:
            raise RuntimeError(f"histogram: got range {tuple(range)}, expected (low, high)")
        low, high = map(float, range)
    else:
        low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"histogram: the range from {low} to {high} is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    # As PyTorch: up to the middle from the left, then from the right, the product not rounded.
    lib, number = xp(x), x.dtype.type
    first, last = number(low), number(high)
    step, i = (last - first) / number(bins), lib.arange(bins + 1)
    wide = np.float64(step)
    return lib.where(i < (bins + 1) // 2, first + wide * i, last - wide * (bins - i)).astype(
        x.dtype
    )


__all__ = ["bincount", "histc", "histogram"]
