"""Running totals along a dimension: element k of the result sees elements 0 … k of the input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..dtype import int64, to_numpy_dtype
from ..out import takes_out
from . import return_types
from .arithmetic import sub
from .broadcast import atleast_1d
from .clamp import where
from .compare import ne
from .convert import clone
from .dims import accepts_axis, existing_dim, normalize_dim
from .gather import gather
from .join import cat
from .parse_index import along
from .pointwise import exp
from .promote import cast, refuse_complex, require_float
from .rearrange import flip

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Sums and products
# ------------------------------------------------------------------------------------------


def _wide(x: Array) -> np.dtype:
    """The dtype of a running total: float64 for floats, as in PyTorch."""
    if x.dtype.kind == "c":
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if x.dtype.kind == "f" else x.dtype


class Cumsum(Op):
    """yₖ = Σ xᵢ over i ≤ k;  dxₖ = Σ gᵢ over i ≥ k"""

    def forward(self, x: Array, dim: int) -> Array:
        self.dim = dim
        return xp(x).cumsum(x, axis=dim, dtype=_wide(x)).astype(x.dtype, copy=False)

    def backward(self, g: Any) -> Any:
        return cumsum_from_end(g, self.dim)


class Cumprod(Op):
    """yₖ = Π xᵢ over i ≤ k;  dxₖ = Σ gᵢ·yᵢ / xₖ over i ≥ k

    With a zero in x the quotient is not defined. Then, without a division:
    dxₖ = yₖ₋₁·rₖ, where rₖ = gₖ + xₖ₊₁·rₖ₊₁ collects the terms after k.
    """

    saves = ("x", "out")

    def forward(self, x: Array, dim: int) -> Array:
        self.dim = dim
        return xp(x).cumprod(x, axis=dim, dtype=_wide(x)).astype(x.dtype, copy=False)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        dim = self.dim
        if not (x == 0).any():
            return cumsum_from_end(g * y, dim) / x
        following = Shift.apply(x, dim, -1, 0)
        rest = recurrence_from_end(following, g, dim)
        return Shift.apply(y, dim, 1, 1) * rest


def cumsum_from_end(x: Any, dim: int) -> Any:
    """yₖ = Σ xᵢ over i ≥ k"""
    return flip(cumsum(flip(x, (dim,)), dim), (dim,))


def _scan(name: str, op: Any, input: Any, dim: Any, dtype: Any = None) -> Any:
    """Apply op along dim; a 0-d tensor is treated as one element."""
    dim = normalize_dim(name, dim, array_of(name, input).ndim)
    if dtype is not None:
        input = cast(input, to_numpy_dtype(dtype))
    elif unwrap(input).dtype.kind not in "fVc":
        input = cast(input, int64.dtype)
    result = op.apply(atleast_1d(input), dim)
    return result if input.ndim else result.reshape(())


@takes_out("dtype of out")
@accepts_axis
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The running sum along `dim`. Integers and booleans add up in int64."""
    return _scan("cumsum", Cumsum, input, dim, dtype)


@takes_out("dtype of out")
@accepts_axis
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The running product along `dim`. Integers and booleans multiply in int64."""
    return _scan("cumprod", Cumprod, input, dim, dtype)


# ------------------------------------------------------------------------------------------
# Logarithms of sums of exponentials
# ------------------------------------------------------------------------------------------


class Logcumsumexp(Op):
    """yₖ = log Σ exp xᵢ over i ≤ k;  dxₖ = Σ gᵢ·exp(xₖ − yᵢ) over i ≥ k

    The sum is computed from the end, rₖ = gₖ + exp(yₖ − yₖ₊₁)·rₖ₊₁, so that dxₖ = exp(xₖ − yₖ)·rₖ:
    as y only grows, no exponential overflows.
    """

    saves = ("x", "out")

    def forward(self, x: Array, dim: int) -> Array:
        self.dim = dim
        return running(_log_add, (x,), dim)[0].copy()

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        dim = self.dim
        following = Shift.apply(y, dim, -1, math.inf)
        # ∞ − ∞ would be NaN; like any other y − y, it is 0.
        decay = exp(where(y == following, 0.0, y - following))
        rest = recurrence_from_end(decay, g, dim)
        return exp(x - y) * rest


def _log_add(earlier: tuple, later: tuple) -> tuple:
    """log(exp a + exp b), also for infinities."""
    (a,), (b,) = earlier, later
    library = xp(a)
    larger = library.maximum(a, b)
    return (larger + library.where(a == b, math.log(2), library.log1p(library.exp(-abs(a - b)))),)


@takes_out("same dtype")
@accepts_axis
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log of the running sum of exp(input) along `dim`, without overflow."""
    require_float("logcumsumexp", input, NotImplementedError)
    return _scan("logcumsumexp", Logcumsumexp, input, dim)


# ------------------------------------------------------------------------------------------
# The largest and the smallest so far
# ------------------------------------------------------------------------------------------


class RunningArgmax(Op):
    """yₖ = the place of the largest (smallest) xᵢ, i ≤ k, the latest of equals;  no gradient"""

    differentiable = False

    def forward(self, x: Array, dim: int, smallest: bool) -> Array:
        library = xp(x)
        places = library.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - dim - 1))
        places = library.broadcast_to(places, x.shape)

        def choose(earlier: tuple, later: tuple) -> tuple:
            (a, i), (b, j) = earlier, later
            better = b <= a if smallest else b >= a
            better = better | (b != b)  # NaN is taken, and then kept, as no number is better
            return library.where(better, b, a), library.where(better, j, i)

        return running(choose, (x, places), dim)[1].copy()


def _running_extreme(name: str, input: Any, dim: Any, smallest: bool) -> tuple[Any, Any]:
    dim = normalize_dim(name, dim, array_of(name, input).ndim)
    refuse_complex(name, input)
    line = atleast_1d(input)
    indices = RunningArgmax.apply(line, dim, smallest)
    values = gather(line, dim, indices)
    if not input.ndim:
        return values.reshape(()), indices.reshape(())
    return values, indices


@takes_out("same dtype")
@accepts_axis
def cummax(input: Tensor, dim: int) -> return_types.cummax:
    """(values, indices) of the largest element so far along `dim`; the latest of equal ones."""
    return return_types.cummax(*_running_extreme("cummax", input, dim, smallest=False))


@takes_out("same dtype")
@accepts_axis
def cummin(input: Tensor, dim: int) -> return_types.cummin:
    """(values, indices) of the smallest element so far along `dim`; the latest of equal ones."""
    return return_types.cummin(*_running_extreme("cummin", input, dim, smallest=True))


# ------------------------------------------------------------------------------------------
# Differences
# ------------------------------------------------------------------------------------------


@takes_out("cast")
@accepts_axis
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along `dim`, n times; `prepend` and `append` are joined on first.

    The result is n shorter along dim; for n = 0 it is a copy of the input alone.
    """
    dim = existing_dim("diff", dim, array_of("diff", input).ndim)
    if n < 0:
        raise RuntimeError(f"diff: got n = {n}, expected 0 or more")
    ends = [part for part in (prepend, input, append) if part is not None]
    if n == 0:  # as in PyTorch, `prepend` and `append` are left out
        return clone(input)
    result = cat(ends, dim) if len(ends) > 1 else input
    difference = ne if unwrap(input).dtype.kind == "b" else sub
    for _ in range(n):
        result = difference(result[along(dim, slice(1, None))], result[along(dim, slice(None, -1))])
    return result


# ------------------------------------------------------------------------------------------
# Building blocks
# ------------------------------------------------------------------------------------------


def running(combine: Callable, parts: tuple, dim: int) -> tuple:
    """All running totals of an associative `combine(earlier, later)` along a dim of raw arrays.

    `parts` are the arrays that make up one element; the results may share their memory.
    It takes log₂ n steps on whole arrays: after each step, an element covers twice as many of those
    before it. (NumPy's ufunc.accumulate is one pass, but CuPy has it for sums and
    products only.)
    """
    library = xp(parts[0])
    parts = tuple(library.moveaxis(part, dim, 0) for part in parts)
    step = 1
    while step < parts[0].shape[0]:
        combined = combine([p[:-step] for p in parts], [p[step:] for p in parts])
        pairs = zip(parts, combined, strict=True)
        parts = tuple(library.concatenate((part[:step], rest)) for part, rest in pairs)
        step *= 2
    return tuple(library.moveaxis(part, 0, dim) for part in parts)


class Shift(Op):
    """yₖ = xₖ₋ₛ, and `fill` where that is outside;  dxₖ = gₖ₊ₛ, and 0 where that is outside

    The step s is 1 (towards the end) or −1 (towards the start).
    """

    def forward(self, x: Array, dim: int, step: int, fill: float) -> Array:
        self.dim, self.step = dim, step
        y = xp(x).full_like(x, fill)
        to_end, to_start = along(dim, slice(1, None)), along(dim, slice(None, -1))
        if step == 1:
            y[to_end] = x[to_start]
        else:
            y[to_start] = x[to_end]
        return y

    def backward(self, g: Any) -> Any:
        return Shift.apply(g, self.dim, -self.step, 0)


class Recurrence(Op):
    """yₖ = aₖ·yₖ₋₁ + bₖ, y₋₁ = 0;  dbₖ = gₖ + aₖ₊₁·dbₖ₊₁,  daₖ = dbₖ·yₖ₋₁"""

    saves = ("a", "out")

    def forward(self, a: Array, b: Array, dim: int) -> Array:
        self.dim = dim
        y = running(_compose, (a, b), dim)[1]
        return y.copy() if a.shape[dim] == 1 else y  # y is then b itself

    def backward(self, g: Any) -> Any:
        a, y = self.saved
        dim = self.dim
        following = Shift.apply(a, dim, -1, 0)
        db = recurrence_from_end(following, g, dim)
        return db * Shift.apply(y, dim, 1, 0), db


def _compose(earlier: tuple, later: tuple) -> tuple:
    """Two maps y → a·y + b, one after the other, as one."""
    (a, b), (c, d) = earlier, later
    return a * c, b * c + d


def recurrence_from_end(a: Any, b: Any, dim: int) -> Any:
    """yₖ = aₖ·yₖ₊₁ + bₖ"""
    return flip(Recurrence.apply(flip(a, (dim,)), flip(b, (dim,)), dim), (dim,))


__all__ = ["cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp"]
