"""Reductions over dimensions: sum, mean, prod, logsumexp, all, any, count_nonzero.

A reduction has one gradient for a whole slice of its input; `spread` gives it to each element.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, require_tensor
from ..autograd.op import Op
from ..autograd.variable import Variable, wrap_like
from ..backend import Array, sum_over, xp
from ..dtype import FLOATS, int64, to_numpy_dtype
from ..out import takes_out
from .broadcast import Expand, repeated
from .dims import accepts_axis, keep_dims, normalize_dim, normalize_dims
from .pointwise import exp
from .promote import as_float, cast, refuse_complex, require_float
from .rearrange import flip
from .scan import Shift, cumprod

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Sums and averages
# ------------------------------------------------------------------------------------------


def spread(g: Any, shape: tuple, dims: tuple[int, ...] | None) -> Any:
    """A reduction's gradient in its input's shape again: each input element gets g of its slice.

    The result is a view: nothing is copied.
    """
    if dims is not None:
        g = g.reshape(keep_dims(shape, dims))
    return Expand.apply(g, shape) if isinstance(g, Variable) else repeated(g, shape)


def total(x: Array, dims: tuple | None, keepdim: bool) -> Array:
    """Σ x of a raw array, in its dtype; float16 is added up in float32, as it overflows early."""
    kind = x.dtype.char  # compared faster than the dtype
    if kind == "f":
        return sum_over(x, dims, keepdim)
    if kind == "e":
        return x.sum(axis=dims, keepdims=keepdim, dtype=np.float32).astype(np.float16)
    if kind == "F":  # as sum_over does: NumPy adds one at a time in its outer loops
        return x.sum(axis=dims, keepdims=keepdim, dtype=np.complex128).astype(np.complex64)
    return x.sum(axis=dims, keepdims=keepdim, dtype=x.dtype)


class Sum(Op):
    """y = Σ x;  dx = g, spread over the summed elements"""

    def forward(self, x: Array, dims: tuple | None, keepdim: bool) -> Array:
        self.shape, self.dims = x.shape, dims
        return total(x, dims, keepdim)

    def backward(self, g: Any) -> Any:
        return spread(g, self.shape, self.dims)


def count_in(x: Array, sums: Array) -> int:
    """The number of elements of x that each of the sums has added up."""
    return x.size // sums.size if sums.size else 1


class Mean(Op):
    """y = Σ x / n;  dx = g / n, spread over the averaged elements"""

    def forward(self, x: Array, dims: tuple | None, keepdim: bool) -> Array:
        self.shape, self.dims = x.shape, dims
        sums = total(x, dims, keepdim)
        self.count = count_in(x, sums)
        return sums / self.count

    def backward(self, g: Any) -> Any:
        return spread(g / self.count, self.shape, self.dims)


class Nansum(Op):
    """y = Σ x over what is not NaN;  dx = g there, 0 elsewhere"""

    saves = ("counts",)

    def forward(self, x: Array, dims: tuple | None, keepdim: bool) -> Array:
        self.shape, self.dims = x.shape, dims
        self.counts = x == x
        return total(xp(x).where(self.counts, x, 0), dims, keepdim)

    def backward(self, g: Any) -> Any:
        (counts,) = self.saved
        return spread(g, self.shape, self.dims) * counts


def _summable(name: str, input: Any, dtype: Any) -> Any:
    """`input` in the dtype asked for; integers and booleans otherwise in int64."""
    if dtype is not None:
        return cast(input, to_numpy_dtype(dtype))
    return input if array_of(name, input).dtype.kind in "fVc" else cast(input, int64.dtype)


def reduced_dims(name: str, input: Any, dim: Any) -> tuple[int, ...] | None:
    """`dim` as an op takes it: None for all dimensions, else a tuple counted from the front."""
    return None if dim is None else normalize_dims(name, dim, array_of(name, input).ndim)


@takes_out("dtype of out")
@accepts_axis
def sum(
    input: Tensor, dim: int | tuple | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The sum over `dim` (an int, a tuple, or all). Integers and booleans add up in int64."""
    return Sum.apply(_summable("sum", input, dtype), reduced_dims("sum", input, dim), keepdim)


@takes_out("dtype of out")
@accepts_axis
def mean(
    input: Tensor, dim: int | tuple | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The average over `dim` (an int, a tuple, or all); of no elements it is NaN."""
    if dtype is not None:
        input = cast(input, to_numpy_dtype(dtype))
    require_float("mean", input)
    return Mean.apply(input, reduced_dims("mean", input, dim), keepdim)


@takes_out("dtype of out")
@accepts_axis
def nansum(
    input: Tensor, dim: int | tuple | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The sum over `dim` of what is not NaN."""
    refuse_complex("nansum", input)
    if dtype is not None and to_numpy_dtype(dtype).kind not in FLOATS:
        x = array_of("nansum", input)  # integers have no NaN: they go before the conversion
        input = wrap_like(xp(x).where(x == x, x, 0), input)
    return Nansum.apply(
        _summable("nansum", input, dtype), reduced_dims("nansum", input, dim), keepdim
    )


@takes_out("dtype of out")
@accepts_axis
def nanmean(
    input: Tensor, dim: int | tuple | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The average over `dim` of what is not NaN."""
    require_float("nanmean", input)
    if dtype is not None and to_numpy_dtype(dtype).kind not in FLOATS:
        raise RuntimeError(f"nanmean: got dtype {dtype}, expected a floating point dtype")
    dims = reduced_dims("nanmean", input, dim)
    return nansum(input, dims, keepdim, dtype=dtype) / sum(input == input, dims, keepdim)


@accepts_axis
def count_nonzero(input: Tensor, dim: int | tuple | None = None) -> Tensor:
    """How many elements over `dim` (an int, a tuple, or all dims) are not 0."""
    require_tensor("count_nonzero", input)
    return sum(input != 0, reduced_dims("count_nonzero", input, dim))


# ------------------------------------------------------------------------------------------
# Products
# ------------------------------------------------------------------------------------------


class Prod(Op):
    """y = Π x;  dxₖ = g·(product of all but xₖ), which is g·y/xₖ where no element is 0"""

    saves = ("x", "out")

    def forward(self, x: Array, dim: int, keepdim: bool) -> Array:
        self.dim = dim
        return x.prod(axis=dim, keepdims=keepdim, dtype=x.dtype)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        dim = self.dim
        kept = keep_dims(x.shape, (dim,))
        g = g.reshape(kept)
        if not (x == 0).any():
            return g * y.reshape(kept) / x
        before = Shift.apply(cumprod(x, dim), dim, 1, 1)
        after = flip(Shift.apply(cumprod(flip(x, (dim,)), dim), dim, 1, 1), (dim,))
        return g * before * after


@takes_out("dtype of out")
@accepts_axis
def prod(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The product over `dim`, or of all elements. Integers and booleans multiply in int64."""
    input = _summable("prod", input, dtype)
    if dim is None or not input.ndim:
        dim = None if dim is None else normalize_dim("prod", dim, input.ndim)
        result = Prod.apply(input.reshape((-1,)), 0, False)
        return result.reshape((1,) * input.ndim) if keepdim else result
    return Prod.apply(input, normalize_dim("prod", dim, input.ndim), keepdim)


# ------------------------------------------------------------------------------------------
# The logarithm of a sum of exponentials
# ------------------------------------------------------------------------------------------


class Logsumexp(Op):
    """y = log Σ exp x;  dx = g·exp(x − y)

    The largest element is taken out before exp, so that nothing overflows.
    """

    saves = ("x", "out")

    def forward(self, x: Array, dims: tuple, keepdim: bool) -> Array:
        self.dims = dims
        if not x.size:
            return total(x, dims, keepdim) - math.inf
        library = xp(x)
        largest = x.max(axis=dims, keepdims=True)
        largest = library.where(library.isfinite(largest), largest, 0)
        sums = total(library.exp(x - largest), dims, keepdim)
        return library.log(sums) + largest.reshape(sums.shape)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        kept = keep_dims(x.shape, self.dims)
        return g.reshape(kept) * exp(x - y.reshape(kept))


@takes_out("cast")
@accepts_axis
def logsumexp(input: Tensor, dim: int | tuple, keepdim: bool = False) -> Tensor:
    """log Σ exp(input) over `dim` (an int or a tuple), without overflow; −∞ of no elements."""
    if dim is None:
        raise TypeError("logsumexp: got dim None, expected an int or a tuple of ints")
    dims = normalize_dims("logsumexp", dim, array_of("logsumexp", input).ndim)
    return Logsumexp.apply(as_float("logsumexp", input), dims, keepdim)


# ------------------------------------------------------------------------------------------
# Questions about all elements
# ------------------------------------------------------------------------------------------


class All(Op):
    """y = whether all x are true;  no gradient"""

    differentiable = False

    def forward(self, x: Array, dims: tuple | None, keepdim: bool) -> Array:
        return _as_truth(x, xp(x).all(x, axis=dims, keepdims=keepdim))


class Any_(Op):
    """y = whether any x is true;  no gradient"""

    differentiable = False
    op_name = "any"

    def forward(self, x: Array, dims: tuple | None, keepdim: bool) -> Array:
        return _as_truth(x, xp(x).any(x, axis=dims, keepdims=keepdim))


def _as_truth(x: Array, result: Array) -> Array:
    """PyTorch returns uint8 for uint8, which was once its boolean type."""
    return result.astype(x.dtype) if x.dtype == np.uint8 else result


def _asked_dims(name: str, input: Any, dim: Any) -> tuple[int, ...] | None:
    """As `reduced_dims`, but () is no dims: each element for itself, as in PyTorch."""
    return () if isinstance(dim, (tuple, list)) and not dim else reduced_dims(name, input, dim)


@takes_out("same dtype")
@accepts_axis
def all(input: Tensor, dim: int | tuple | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements over `dim` (an int, a tuple, or all dims) are true, that is not 0."""
    return All.apply(input, _asked_dims("all", input, dim), keepdim)


@takes_out("same dtype")
@accepts_axis
def any(input: Tensor, dim: int | tuple | None = None, keepdim: bool = False) -> Tensor:
    """Whether any element over `dim` (an int, a tuple, or all dims) is true, that is not 0."""
    return Any_.apply(input, _asked_dims("any", input, dim), keepdim)


__all__ = ["all", "any", "count_nonzero", "logsumexp", "mean", "nanmean", "nansum", "prod", "sum"]
