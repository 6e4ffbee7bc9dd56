"""The same elements in another shape, or with their dimensions in another order.

The results are views, without a copy, where the memory layout allows it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_given
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, xp
from ..dtype import DType, to_numpy_dtype
from ..errors import ShapeError
from .dims import Ints, accepts_axis, as_ints, distinct_dims, normalize_dim

if TYPE_CHECKING:
    from ..tensor import Tensor


def infer_shape(name: str, old: tuple, new: tuple[int, ...]) -> tuple[int, ...]:
    """`new` with −1, if present, replaced by the size that fits the elements of `old`."""
    size = math.prod(old)
    if min(new, default=0) < -1 or new.count(-1) > 1:
        raise ShapeError(f"{name}: got shape {new}, expected sizes ≥ 0 and at most one -1")
    if -1 not in new:
        if math.prod(new) == size:
            return new
        fault = f"has {size} elements, expected {math.prod(new)}"
    else:
        known = -math.prod(new)  # the product of the other sizes
        if known and size % known == 0:
            return tuple([size // known if n == -1 else n for n in new])
        fault = f"has {size} elements, which do not fill dimensions of {known} elements each"
    raise ShapeError(f"{name}: shape {tuple(old)} cannot become {new}: it {fault}")


# ------------------------------------------------------------------------------------------
# Another shape
# ------------------------------------------------------------------------------------------


class Reshape(Op):
    """y = x's elements, row by row, in another shape;  dx = g in the old shape"""

    view = True

    def forward(self, x: Array, shape: tuple) -> Array:
        self.shape = x.shape
        return x.reshape(shape)

    def backward(self, g: Any) -> Any:
        return g.reshape(self.shape)


class View(Reshape):
    """y = x in another shape, in the same memory;  dx = g in the old shape"""


class ViewDtype(Op):
    """y = the bytes of x, read as another dtype;  no gradient"""

    view = True
    differentiable = False
    op_name = "view"

    def forward(self, x: Array, dtype: Any) -> Array:
        contiguous = x.ndim and (x.strides[-1] == x.itemsize or not x.size)
        if x.itemsize != dtype.itemsize and not contiguous:
            raise ShapeError(
                f"view: {x.dtype} of shape {x.shape} and strides {_strides(x)} cannot be read as "
                f"{dtype}, of another size, unless its last dimension is contiguous"
            )
        if x.ndim and x.shape[-1] * x.itemsize % dtype.itemsize:
            raise ShapeError(
                f"view: the last dimension of shape {x.shape} has {x.shape[-1]} elements, expected "
                f"a multiple of {dtype.itemsize // x.itemsize} to read {x.dtype} as {dtype}"
            )
        if x.size or not x.ndim:
            return x.view(dtype)
        # NumPy gives empty arrays strides of 0 at times, and then refuses
        return xp(x).empty((*x.shape[:-1], x.shape[-1] * x.itemsize // dtype.itemsize), dtype)


class Squeeze(Reshape):
    """y = x without some dimensions of size 1;  dx = g with them"""


class Unsqueeze(Reshape):
    """y = x with one more dimension, of size 1;  dx = g without it"""


def _strides(x: Array) -> tuple:
    return tuple(s // x.itemsize for s in x.strides)


def reshape(input: Tensor, shape: Ints, *more: int) -> Tensor:
    """The same elements in another shape; one size may be −1, found from the others.

    A view where the memory layout allows it, otherwise a copy.
    """
    new = as_ints("reshape", shape, more)
    return Reshape.apply(input, infer_shape("reshape", array_of("reshape", input).shape, new))


def view(input: Tensor, shape: Any, *more: int) -> Tensor:
    """As reshape, but never a copy: an error where the memory layout does not allow a view.

    With a dtype in place of a shape: the same bytes, read as that dtype.
    """
    if isinstance(shape, (DType, np.dtype, type)):
        return _view_as_dtype(input, to_numpy_dtype(shape))
    array, new = array_of("view", input), as_ints("view", shape, more)
    new = infer_shape("view", array.shape, new)
    _check_no_copy("view", array, new)
    return View.apply(input, new)


def _check_no_copy(name: str, array: Array, shape: tuple) -> None:
    """Refuse a shape that would need a copy, because no strides describe it."""
    if array.flags.c_contiguous or not array.size:
        return
    if not xp(array).may_share_memory(array, array.reshape(shape)):
        raise ShapeError(
            f"{name}: shape {array.shape} with strides {_strides(array)} cannot become {shape} "
            "without a copy, as its memory is not contiguous; use reshape()"
        )


def _view_as_dtype(input: Any, dtype: np.dtype) -> Any:
    if array_of("view", input).dtype == dtype:
        return input
    source = input.detach() if isinstance(input, Variable) else input
    return ViewDtype.apply(source, dtype)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """reshape to the shape of `other`."""
    check_given("reshape_as", other=other)
    return reshape(input, tuple(other.shape))


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """view in the shape of `other`."""
    check_given("view_as", other=other)
    return view(input, tuple(other.shape))


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim, merged into one."""
    shape = array_of("flatten", input).shape
    start = normalize_dim("flatten", start_dim, len(shape))
    end = normalize_dim("flatten", end_dim, len(shape))
    if start > end:
        raise RuntimeError(
            f"flatten: start_dim {start_dim} comes after end_dim {end_dim}, expected it before"
        )
    if not shape:
        return Reshape.apply(input, (1,))
    if start == end:
        return input
    # (…, a, b, c, …) → (…, a·b·c, …)
    merged = math.prod(shape[start : end + 1])
    return Reshape.apply(input, shape[:start] + (merged,) + shape[end + 1 :])


def unflatten(input: Tensor, dim: int, sizes: Ints) -> Tensor:
    """One dimension, split into several of the given sizes; one of them may be −1."""
    shape = array_of("unflatten", input).shape
    dim = normalize_dim("unflatten", dim, len(shape))
    if not shape:
        raise RuntimeError("unflatten: got a 0-d tensor, expected at least one dimension")
    parts = infer_shape("unflatten", shape[dim : dim + 1], as_ints("unflatten", sizes))
    if not parts:
        raise ShapeError("unflatten: got no sizes, expected at least one")
    # (…, a·b, …) → (…, a, b, …), for which memory always allows a view
    return View.apply(input, shape[:dim] + parts + shape[dim + 1 :])


def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, in row-major order: a view if memory allows, else a copy."""
    return reshape(input.contiguous() if isinstance(input, Variable) else input, -1)


@accepts_axis
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Remove dimensions of size 1: all of them, or those in `dim` (an int or a tuple)."""
    shape = array_of("squeeze", input).shape
    if dim is None:
        chosen = set(range(len(shape)))
    else:
        chosen = set(distinct_dims("squeeze", as_ints("squeeze", dim), len(shape)))
    return Squeeze.apply(input, tuple(n for i, n in enumerate(shape) if n != 1 or i not in chosen))


@accepts_axis
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 at position `dim`."""
    shape = array_of("unsqueeze", input).shape
    dim = normalize_dim("unsqueeze", dim, len(shape) + 1)
    return Unsqueeze.apply(input, shape[:dim] + (1,) + shape[dim:])


# ------------------------------------------------------------------------------------------
# Another order of the dimensions
# ------------------------------------------------------------------------------------------


class Permute(Op):
    """y = x with its dimensions in another order;  dx = g with them put back"""

    view = True

    def forward(self, x: Array, dims: tuple) -> Array:
        self.dims = dims
        return x.transpose(dims)

    def backward(self, g: Any) -> Any:
        inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)
        return Permute.apply(g, tuple(inverse))


class Transpose(Op):
    """y = x with two dimensions exchanged;  dx = g with them exchanged"""

    view = True

    def forward(self, x: Array, dim0: int, dim1: int) -> Array:
        self.dims = dim0, dim1
        return x.swapaxes(dim0, dim1)

    def backward(self, g: Any) -> Any:
        return g.swapaxes(*self.dims)


def permute(input: Tensor, dims: Ints, *more: int) -> Tensor:
    """The dimensions in another order: dimension i of the result is dims[i] of the input."""
    ndim = array_of("permute", input).ndim
    given = as_ints("permute", dims, more)
    if len(given) != ndim:
        raise RuntimeError(
            f"permute: got {len(given)} dims {given}, expected {ndim}, one for each of the tensor's"
        )
    return Permute.apply(input, distinct_dims("permute", given, ndim))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions."""
    ndim = array_of("transpose", input).ndim
    dim0 = normalize_dim("transpose", dim0, ndim)
    dim1 = normalize_dim("transpose", dim1, ndim)
    return Transpose.apply(input, dim0, dim1) if ndim else Permute.apply(input, ())


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """transpose, under NumPy's name."""
    return transpose(input, axis0, axis1)


def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """transpose, under another name."""
    return transpose(input, dim0, dim1)


def t(input: Tensor) -> Tensor:
    """Transpose a matrix; 0-d and 1-d tensors stay as they are."""
    ndim = array_of("t", input).ndim
    if ndim > 2:
        raise RuntimeError(
            f"t: got a tensor of {ndim} dimensions, expected at most 2; use mT or transpose()"
        )
    return Transpose.apply(input, 0, 1) if ndim == 2 else Permute.apply(input, tuple(range(ndim)))


def reverse_dims(input: Tensor) -> Tensor:
    """x.T: all dimensions in reverse order."""
    return Permute.apply(input, tuple(reversed(range(unwrap(input).ndim))))


def matrix_transpose(input: Tensor) -> Tensor:
    """x.mT: the last two dimensions exchanged."""
    ndim = unwrap(input).ndim
    if ndim == 0:
        return input  # as PyTorch, for now
    if ndim < 2:
        raise RuntimeError(f"mT: got a tensor of {ndim} dimensions, expected at least 2")
    return Transpose.apply(input, ndim - 2, ndim - 1)


def movedim(input: Tensor, source: Ints, destination: Ints) -> Tensor:
    """The dimensions `source` moved to the places `destination`; the others keep their order."""
    ndim = array_of("movedim", input).ndim
    origins, targets = as_ints("movedim", source), as_ints("movedim", destination)
    moved = [normalize_dim("movedim", d, ndim) for d in origins]
    places = [normalize_dim("movedim", d, ndim) for d in targets]
    if not len(set(moved)) == len(moved) == len(places) == len(set(places)):
        raise RuntimeError(
            f"movedim: got source {origins} and destination {targets}, expected the same "
            "number of dims in both, each once"
        )
    if not ndim:
        return Permute.apply(input, ())
    order = [d for d in range(ndim) if d not in moved]
    for place, dim in sorted(zip(places, moved, strict=True)):
        order.insert(place, dim)
    return Permute.apply(input, tuple(order))


def moveaxis(input: Tensor, source: Ints, destination: Ints) -> Tensor:
    """movedim, under NumPy's name."""
    return movedim(input, source, destination)


__all__ = [
    "flatten", "moveaxis", "movedim", "permute", "ravel", "reshape", "reshape_as", "squeeze",
    "swapaxes", "swapdims", "t", "transpose", "unflatten", "unsqueeze", "view", "view_as",
]  # fmt: skip
