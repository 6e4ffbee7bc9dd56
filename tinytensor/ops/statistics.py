"""The most frequent element, quantiles, covariances and correlations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, xp
from ..errors import ShapeError
from . import return_types
from .arithmetic import lerp
from .broadcast import atleast_1d
from .clamp import clamp, where
from .dims import accepts_axis, normalize_dim
from .join import stack
from .minmax import check_not_empty, pick
from .partial_views import along, diagonal
from .power import sqrt
from .promote import as_float
from .reduce import mean, require_float
from .shape import unsqueeze
from .sort import sort

if TYPE_CHECKING:
    from ..tensor import Tensor


class Mode(Op):
    """y = the last index of the most frequent x along dim, in a tie of the smallest;
    no gradient
    """

    differentiable = False

    def forward(self, x: Array, dim: int) -> Array:
        lib = xp(x)
        order = lib.argsort(x, axis=dim, kind="stable")
        line = lib.moveaxis(lib.take_along_axis(x, order, dim), dim, -1)
        counts = (line[..., :, None] == line[..., None, :]).sum(axis=-1)  # (…, n, n) → (…, n)
        last = counts.argmax(axis=-1) + counts.max(axis=-1) - 1  # of that run of equals
        return lib.take_along_axis(order, lib.expand_dims(last, dim), dim)


@accepts_axis
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> return_types.mode:
    """(values, indices) of the most frequent element along `dim`, in a tie the smallest."""
    dim = normalize_dim("mode", dim, array_of("mode", input).ndim)
    line = atleast_1d(input)
    check_not_empty("mode", line, (dim,))
    return return_types.mode(*pick(input, dim, Mode.apply(line, dim), keepdim))


# Interpolation: the weight of the upper of two neighbours in sorted order, from the place between.
_BETWEEN: dict[str, Callable[[float], float]] = {
    "linear": lambda place: place - math.floor(place),
    "lower": lambda place: 0.0,
    "higher": lambda place: 1.0,
    "nearest": lambda place: float(round(place) - math.floor(place)),
    "midpoint": lambda place: 0.5,
}


@accepts_axis
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which a fraction q of the elements along `dim` lies; of all for dim=None.

    q: a number from 0 to 1, or a tensor of n of them, which become the result's first dimension.
    interpolation, between two elements: linear, lower, higher, nearest or midpoint.
    """
    shares = unwrap(q).reshape(-1).tolist() if isinstance(q, Variable) else [q]
    if not all(0 <= share <= 1 for share in shares):
        raise RuntimeError(f"quantile: got q = {shares}, expected numbers from 0 to 1")
    if interpolation not in _BETWEEN:
        raise RuntimeError(
            f"quantile: got interpolation {interpolation!r}, expected one of {', '.join(_BETWEEN)}"
        )
    require_float("quantile", input)
    line = input.reshape((-1,)) if dim is None else atleast_1d(input)
    dim_ = 0 if dim is None else normalize_dim("quantile", dim, input.ndim)
    check_not_empty("quantile", line, (dim_,))
    ordered = sort(line, dim_)[0]
    largest = ordered[along(dim_, -1)]
    results = []
    for share in shares:
        place = share * (ordered.shape[dim_] - 1)
        below, above = (ordered[along(dim_, f(place))] for f in (math.floor, math.ceil))
        result = lerp(below, above, _BETWEEN[interpolation](place))
        result = where(largest == largest, result, largest)  # NaN, which sorts last, is the result
        if keepdim and input.ndim:
            result = result.reshape((1,) * input.ndim) if dim is None else unsqueeze(result, dim_)
        results.append(result)
    return stack(results) if isinstance(q, Variable) and q.ndim else results[0]


def cov(input: Tensor, *, correction: int = 1) -> Tensor:
    """The covariances of the rows of a matrix, each a variable: (N, observations) → (N, N).

    A vector is one variable, whose variance is the result.
    """
    if array_of("cov", input).ndim > 2:
        raise ShapeError(f"cov: got shape {tuple(input.shape)}, expected at most 2 dimensions")
    x = as_float("cov", input)
    rows = x.reshape((1, -1)) if x.ndim < 2 else x
    centred = rows - mean(rows, 1, keepdim=True)
    count = rows.shape[1] - correction
    scale = 1 / count if count > 0 else math.inf
    result = centred @ centred.swapaxes(0, 1) * scale
    return result if x.ndim == 2 else result.reshape(())


def corrcoef(input: Tensor) -> Tensor:
    """The correlations of the rows of a matrix, from −1 to 1: (N, observations) → (N, N)."""
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = sqrt(diagonal(c))
    return clamp(c / deviation.reshape((-1, 1)) / deviation, -1, 1)


__all__ = ["corrcoef", "cov", "mode", "quantile"]
