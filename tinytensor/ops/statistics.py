"""The most frequent element, quantiles, covariances and correlations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags
from ..autograd.op import Op
from ..autograd.site import warn
from ..autograd.variable import Variable, unwrap, wrap_like
from ..backend import Array, xp
from ..errors import ShapeError
from ..out import takes_out
from . import return_types
from .arithmetic import lerp
from .autocast import in_float32
from .broadcast import atleast_1d
from .clamp import clamp, where
from .dims import accepts_axis, normalize_dim
from .gather import gather
from .join import stack
from .minmax import check_not_empty, pick
from .partial_views import along, diagonal
from .power import sqrt
from .promote import as_float, refuse_complex
from .reduce import mean, require_float
from .shape import squeeze, unsqueeze
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


@takes_out("same dtype")
@accepts_axis
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> return_types.mode:
    """(values, indices) of the most frequent element along `dim`, in a tie the smallest."""
    if type(keepdim) is not bool:
        check_flags("mode", keepdim=keepdim)
    dim = normalize_dim("mode", dim, array_of("mode", input).ndim)
    refuse_complex("mode", input)
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


@takes_out("same dtype")
@accepts_axis
@in_float32
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
    if type(keepdim) is not bool:
        check_flags("quantile", keepdim=keepdim)
    shares, line, dim_ = _quantile_arguments("quantile", input, q, dim, interpolation)
    several = isinstance(q, Variable) and q.ndim > 0
    ordered = sort(line, dim_)[0]
    largest = ordered[along(dim_, -1)]
    results = []
    last = ordered.shape[dim_] - 1
    # Places are computed in the dtype of input, as in PyTorch: 0.1 · 10 is 1 in float32.
    number = np.dtype(unwrap(input).dtype).type
    for i, share in enumerate(shares or [0.0]):
        place = float(number(share) * number(last))
        below, above = (ordered[along(dim_, f(place))] for f in (math.floor, math.ceil))
        weight: Any = _BETWEEN[interpolation](place)
        if interpolation == "linear" and isinstance(q, Variable) and q.requires_grad and shares:
            weight = (q[i] if several else q) * last - math.floor(place)
        result = lerp(below, above, weight)
        result = where(largest == largest, result, largest)  # NaN, which sorts last, is the result
        if keepdim and input.ndim:
            result = result.reshape((1,) * input.ndim) if dim is None else unsqueeze(result, dim_)
        results.append(result)
    return stack(results)[: len(shares)] if several else results[0]


def _quantile_arguments(name: str, input: Any, q: Any, dim: Any, interpolation: str) -> tuple:
    """(the numbers in q, input as at least a vector, dim), after checking them."""
    require_float(name, input)
    if isinstance(q, Variable) and (q.ndim > 1 or q.dtype != input.dtype):
        raise RuntimeError(
            f"{name}: q is {unwrap(q).dtype} of shape {tuple(q.shape)}, expected a number or a "
            f"vector in {unwrap(input).dtype}, as input"
        )
    if not isinstance(q, (int, float, Variable)):
        raise TypeError(f"{name}: got q of type {type(q).__name__}, expected a number or tensor")
    shares = unwrap(q).reshape(-1).tolist() if isinstance(q, Variable) else [q]
    if not all(0 <= share <= 1 for share in shares):
        raise RuntimeError(f"{name}: got q = {shares}, expected numbers from 0 to 1")
    if interpolation not in _BETWEEN:
        raise RuntimeError(
            f"{name}: got interpolation {interpolation!r}, expected one of {', '.join(_BETWEEN)}"
        )
    line = input.reshape((-1,)) if dim is None else atleast_1d(input)
    dim_ = 0 if dim is None else normalize_dim(name, dim, input.ndim)
    if not unwrap(input).size:
        raise RuntimeError(
            f"{name}: got a tensor of shape {tuple(input.shape)}, expected at least one element"
        )
    return shares, line, dim_


@takes_out("same dtype")
@accepts_axis
@in_float32
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """As `quantile`, of the elements that are not NaN; NaN where there are none."""
    if type(keepdim) is not bool:
        check_flags("nanquantile", keepdim=keepdim)
    shares, line, dim_ = _quantile_arguments("nanquantile", input, q, dim, interpolation)
    several = isinstance(q, Variable) and q.ndim > 0
    ordered = sort(line, dim_)[0]  # NaN last
    raw = unwrap(ordered)
    number = raw.dtype.type
    last = (raw == raw).sum(axis=dim_, keepdims=True) - 1
    last = xp(raw).maximum(last, 0)
    results = []
    for i, share in enumerate(shares or [0.0]):
        place = number(share) * last.astype(raw.dtype)
        floor, ceil = xp(raw).floor(place), xp(raw).ceil(place)
        below, above = (
            gather(ordered, dim_, wrap_like(at.astype(np.int64), line)) for at in (floor, ceil)
        )
        if interpolation == "linear" and isinstance(q, Variable) and q.requires_grad and shares:
            weight: Any = (q[i] if several else q) * wrap_like(last.astype(raw.dtype), line)
            weight = weight - wrap_like(floor, line)
        else:
            weight = wrap_like(_WEIGHTS[interpolation](place, floor).astype(raw.dtype), line)
        result = lerp(below, above, weight)
        if not keepdim or not input.ndim:
            result = squeeze(result, dim_)
        elif dim is None:
            result = result.reshape((1,) * input.ndim)
        results.append(result)
    return stack(results)[: len(shares)] if several else results[0]


# As _BETWEEN, for arrays of places and the integers below them.
_WEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda place, floor: place - floor,
    "lower": lambda place, floor: place * 0,
    "higher": lambda place, floor: place * 0 + 1,
    "nearest": lambda place, floor: place.round() - floor,
    "midpoint": lambda place, floor: place * 0 + 0.5,
}


def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of the rows of a matrix, each a variable: (N, observations) → (N, N).

    C = Σⱼ wⱼ (xⱼ − x̄)(xⱼ − x̄)ᵀ / (Σw − correction · Σ w·a / Σw), with w = f·a and x̄ = Σ wⱼ xⱼ / Σw.
    A vector is one variable, whose variance is the result.

    fweights: f, how often each observation occurs, integers. aweights: a, how much it counts,
    floats. Each is 1 by default.
    """
    array = array_of("cov", input)
    if array.ndim > 2:
        raise ShapeError(f"cov: got shape {tuple(input.shape)}, expected at most 2 dimensions")
    if array.dtype.kind == "b":
        raise RuntimeError("cov: got a bool tensor, expected numbers")
    x = as_float("cov", input)
    rows = x.reshape((1, -1)) if x.ndim < 2 else x
    count = rows.shape[1]
    f = None if fweights is None else _observation_weights("fweights", fweights, count, "iu")
    a = None if aweights is None else _observation_weights("aweights", aweights, count, "f")
    if f is None and a is None:
        centred = rows - mean(rows, 1, keepdim=True)
        weighted, total, taken = centred, count, correction
    else:
        w: Any = a if f is None else f if a is None else f * a
        total = w.sum()
        if not total.item():
            raise RuntimeError("cov: the weights sum to 0, expected a positive sum")
        centred = rows - (rows * w).sum(1, keepdim=True) / total
        weighted = centred * w
        taken = correction if a is None else correction * (w * a).sum() / total
    freedom: Any = total - taken
    if float(freedom) <= 0:
        warn("cov: degrees of freedom are 0 or less; use more observations or a smaller correction")
        freedom = abs(freedom * 0)
    result = centred @ weighted.swapaxes(0, 1) / freedom
    return result.reshape(()) if result.shape == (1, 1) else result


def _observation_weights(name: str, weights: Any, count: int, kinds: str) -> Any:
    """`weights` as a vector, after checking that there is one ≥ 0 for each observation."""
    array = array_of("cov", weights)
    if array.ndim > 1 or array.size != count or array.dtype.kind not in kinds:
        kind = "integers" if kinds == "iu" else "floats"
        raise RuntimeError(
            f"cov: {name} is {array.dtype} of shape {array.shape}, expected {count} {kind}, one "
            "for each observation"
        )
    if array.size and array.min() < 0:
        raise RuntimeError(f"cov: {name} has a negative element, expected numbers from 0 on")
    return weights.reshape((-1,))


def corrcoef(input: Tensor) -> Tensor:
    """The correlations of the rows of a matrix, from −1 to 1: (N, observations) → (N, N)."""
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = sqrt(diagonal(c))
    return clamp(c / deviation.reshape((-1, 1)) / deviation, -1, 1)


__all__ = ["corrcoef", "cov", "mode", "nanquantile", "quantile"]
