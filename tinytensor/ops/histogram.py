"""Histograms: how often each integer (bincount), or a value in each bin (histc), occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, xp
from ..errors import ShapeError
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
    return Bincount.apply(input, unwrap(weights), minlength)


class Histc(Op):
    """y[b] = how many elements of x are in the b-th of equal bins from low to high;  no gradient"""

    differentiable = False

    def forward(self, x: Array, bins: int, low: float, high: float) -> Array:
        if low == high and x.size:
            low, high = float(x.min()), float(x.max())
        if low == high:
            low, high = low - 1, high + 1
        counts, _ = xp(x).histogram(x.reshape(-1), bins, (low, high))
        return counts.astype(x.dtype)


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


__all__ = ["bincount", "histc"]
