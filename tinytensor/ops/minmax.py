"""The largest, the smallest and the middle element, and where they are.

The gradient goes to the element that was found. Where several are equal, they share it evenly, but
with indices along a dim (`max(x, dim)`) it goes to the one that the index names, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_flags, check_ints
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, is_array, xp
from ..out import takes_out
from . import return_types
from .broadcast import atleast_1d
from .clamp import maximum, minimum
from .dims import accepts_axis, keep_dims, normalize_dim, normalize_dims
from .gather import Gather
from .promote import NUMBERS, refuse_complex, require_numbers

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Values over dims
# ------------------------------------------------------------------------------------------


class Amax(Op):
    """y = max x;  dx = g, split evenly among the elements that equal y"""

    saves = ("x", "out")

    def forward(self, x: Array, dims: tuple, keepdim: bool) -> Array:
        self.dims = dims
        return x.max(axis=dims, keepdims=keepdim)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return split_evenly(g, x == y.reshape(keep_dims(x.shape, self.dims)), self.dims)


class Amin(Op):
    """y = min x;  dx = g, split evenly among the elements that equal y"""

    saves = ("x", "out")

    def forward(self, x: Array, dims: tuple, keepdim: bool) -> Array:
        self.dims = dims
        return x.min(axis=dims, keepdims=keepdim)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return split_evenly(g, x == y.reshape(keep_dims(x.shape, self.dims)), self.dims)


def split_evenly(g: Any, chosen: Any, dims: tuple | None) -> Any:
    """A reduction's gradient, in equal parts to the chosen elements of each slice."""
    if dims is not None:
        g = g.reshape(keep_dims(chosen.shape, dims))
    return g / chosen.sum(axis=dims, keepdims=True) * chosen


def check_not_empty(name: str, input: Any, dims: tuple[int, ...] | None) -> None:
    """Refuse the largest or smallest of no elements."""
    if dims is None:
        if not array_of(name, input).size:
            raise RuntimeError(
                f"{name}: got an empty tensor of shape {tuple(input.shape)}, expected at least one "
                "element; give a dim that is not empty"
            )
        return
    for dim in dims:
        if not input.shape[dim]:
            raise IndexError(
                f"{name}: got a tensor of shape {tuple(input.shape)}, whose dim {dim} is empty, "
                "expected at least one element there"
            )


def _extreme_dims(name: str, input: Any, dim: Any) -> tuple[int, ...]:
    dims = normalize_dims(name, dim, array_of(name, input).ndim)
    refuse_complex(name, input)
    check_not_empty(name, input, None if dim is None or dim == () else dims)
    return dims


@takes_out("same dtype")
@accepts_axis
def amax(input: Tensor, dim: int | tuple = (), keepdim: bool = False) -> Tensor:
    """The largest value over `dim` (an int, a tuple, or all); equal ones share the gradient."""
    return Amax.apply(input, _extreme_dims("amax", input, dim), keepdim)


@takes_out("same dtype")
@accepts_axis
def amin(input: Tensor, dim: int | tuple = (), keepdim: bool = False) -> Tensor:
    """The smallest value over `dim` (an int, a tuple, or all); equal ones share the gradient."""
    return Amin.apply(input, _extreme_dims("amin", input, dim), keepdim)


@takes_out("same dtype")
@accepts_axis
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False
) -> return_types.aminmax:
    """(min, max): the smallest and the largest value over `dim`, or of all elements."""
    if type(keepdim) is not bool:
        check_flags("aminmax", keepdim=keepdim)
    if dim is not None:
        check_ints("aminmax", dim=dim)
    dims = _extreme_dims("aminmax", input, dim)
    return return_types.aminmax(Amin.apply(input, dims, keepdim), Amax.apply(input, dims, keepdim))


# ------------------------------------------------------------------------------------------
# Of all elements, or with indices along one dim
# ------------------------------------------------------------------------------------------


class Max(Op):
    """y = max of all x;  dx = g, split evenly among the elements that equal y, NaN equal to NaN"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return x.max()

    def backward(self, g: Any) -> Any:
        return split_evenly(g, same(*self.saved), None)


class Min(Op):
    """y = min of all x;  dx = g, split evenly among the elements that equal y, NaN equal to NaN"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return x.min()

    def backward(self, g: Any) -> Any:
        return split_evenly(g, same(*self.saved), None)


def same(x: Any, y: Any) -> Any:
    """Where x is y, or both are NaN."""
    return (x == y) | ((x != x) & (y != y))


class Argmax(Op):
    """y = the place of the largest x, the first of equals, or of the first NaN;  no gradient"""

    differentiable = False

    def forward(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return x.argmax(axis=dim, keepdims=keepdim)


class Argmin(Op):
    """y = the place of the smallest x, the first of equals, or of the first NaN;  no gradient"""

    differentiable = False

    def forward(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return x.argmin(axis=dim, keepdims=keepdim)


def pick(input: Any, dim: int, indices: Any, keepdim: bool) -> tuple[Any, Any]:
    """(values, indices) for indices whose `dim` has length 1; gradients go where they point."""
    values = Gather.apply(atleast_1d(input), dim, indices)
    if keepdim and input.ndim:
        return values, indices
    shape = unwrap(input).shape
    shape = shape[:dim] + shape[dim + 1 :]
    return values.reshape(shape), indices.reshape(shape)


def _along(name: str, input: Any, dim: Any) -> int:
    dim = normalize_dim(name, dim, array_of(name, input).ndim)
    refuse_complex(name, input)
    if input.ndim:
        check_not_empty(name, input, (dim,))
    return dim


def _pair_out(args: tuple, kwargs: dict, result: Any) -> str:
    return "same dtype" if isinstance(result, tuple) else "cast"


@takes_out(_pair_out)
@accepts_axis
def max(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Any:
    """max(x): the largest of all elements; equal ones share the gradient.
    max(x, dim): (values, indices) along dim, the first of equal ones.
    max(x, other): the larger of each two elements, as `maximum`.
    """
    if type(keepdim) is not bool:
        check_flags("max", keepdim=keepdim)
    if is_array(unwrap(dim)):
        other = dim
    if type(input) in NUMBERS:
        raise TypeError(
            f"max: got a {type(input).__name__} as its first argument, expected a tensor"
        )
    if other is not None:
        return maximum(input, other)
    if type(dim) is bool:
        raise TypeError("max: got a bool as dim, expected an int or a tensor")
    if dim is None:
        check_not_empty("max", input, None)
        refuse_complex("max", input)
        return Max.apply(input)
    dim = _along("max", input, dim)
    indices = Argmax.apply(atleast_1d(input), dim, True)
    return return_types.max(*pick(input, dim, indices, keepdim))


@takes_out(_pair_out)
@accepts_axis
def min(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Any:
    """min(x): the smallest of all elements; equal ones share the gradient.
    min(x, dim): (values, indices) along dim, the first of equal ones.
    min(x, other): the smaller of each two elements, as `minimum`.
    """
    if type(keepdim) is not bool:
        check_flags("min", keepdim=keepdim)
    if is_array(unwrap(dim)):
        other = dim
    if type(input) in NUMBERS:
        raise TypeError(
            f"min: got a {type(input).__name__} as its first argument, expected a tensor"
        )
    if other is not None:
        return minimum(input, other)
    if type(dim) is bool:
        raise TypeError("min: got a bool as dim, expected an int or a tensor")
    if dim is None:
        check_not_empty("min", input, None)
        refuse_complex("min", input)
        return Min.apply(input)
    dim = _along("min", input, dim)
    indices = Argmin.apply(atleast_1d(input), dim, True)
    return return_types.min(*pick(input, dim, indices, keepdim))


def _where_is(name: str, op: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    array = unwrap(input)
    require_numbers(name, array)
    if dim is None and not array.size:
        raise IndexError(
            f"{name}: got an empty tensor of shape {tuple(input.shape)}, expected at least one "
            "element; give a dim that is not empty"
        )
    if dim is not None:
        dim = _along(name, input, dim)
    if not input.ndim:
        dim, keepdim = None, False
    return op.apply(input, dim, keepdim)


@takes_out("cast")
@accepts_axis
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element along `dim`, or in the flattened tensor; the first of
    equal ones."""
    if type(keepdim) is not bool:
        check_flags("argmax", keepdim=keepdim)
    return _where_is("argmax", Argmax, input, dim, keepdim)


@takes_out("cast")
@accepts_axis
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element along `dim`, or in the flattened tensor; the first of
    equal ones."""
    if type(keepdim) is not bool:
        check_flags("argmin", keepdim=keepdim)
    return _where_is("argmin", Argmin, input, dim, keepdim)


# ------------------------------------------------------------------------------------------
# The middle
# ------------------------------------------------------------------------------------------


class Median(Op):
    """y = the lower middle one of all x;  dx = g, split evenly among the elements that equal y"""

    saves = ("x", "out")

    def forward(self, x: Array, ignore_nan: bool) -> Array:
        if not x.size:
            return xp(x).full((), math.nan, dtype=x.dtype)
        line = x.reshape(-1)
        return line[middle(line, 0, ignore_nan)].reshape(())

    def backward(self, g: Any) -> Any:
        return split_evenly(g, same(*self.saved), None)


class Argmedian(Op):
    """y = the place of the lower middle x, or of the first NaN if these count;  no gradient"""

    differentiable = False

    def forward(self, x: Array, dim: int, ignore_nan: bool) -> Array:
        return middle(x, dim, ignore_nan)


def middle(x: Array, dim: int, ignore_nan: bool) -> Array:
    """Indices of the medians of a raw array along `dim`, which is kept with length 1."""
    library = xp(x)
    order = library.argsort(x, axis=dim, kind="stable")  # NaN comes last
    length = x.shape[dim]
    missing = (x != x).sum(axis=dim, keepdims=True)
    if ignore_nan:
        place = library.maximum(length - missing - 1, 0) // 2
    else:
        place = library.where(missing > 0, length - missing, (length - 1) // 2)
    return library.take_along_axis(order, place, axis=dim)


@takes_out("same dtype")
@accepts_axis
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """median(x): the middle of all elements, the lower one of two; NaN if there is one.
    median(x, dim): (values, indices) along dim.
    """
    if type(keepdim) is not bool:
        check_flags("median", keepdim=keepdim)
    if dim is None:
        refuse_complex("median", input)
        return Median.apply(input, False)
    dim = _along("median", input, dim)
    indices = Argmedian.apply(atleast_1d(input), dim, False)
    return return_types.median(*pick(input, dim, indices, keepdim))


@takes_out("same dtype")
@accepts_axis
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """As `median`, of what is not NaN."""
    if type(keepdim) is not bool:
        check_flags("nanmedian", keepdim=keepdim)
    if dim is None:
        refuse_complex("nanmedian", input)
        return Median.apply(input, True)
    dim = _along("nanmedian", input, dim)
    indices = Argmedian.apply(atleast_1d(input), dim, True)
    return return_types.nanmedian(*pick(input, dim, indices, keepdim))


__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "max", "median", "min", "nanmedian"]
