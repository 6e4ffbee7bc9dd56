"""Views of a part of a tensor: narrow, select, diagonal, sliding windows, as_strided.

Views by index (x[2:5]) are in index.py."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.strided import AsStrided, offset_in, storage_of
from ..autograd.variable import Variable, writes_of
from ..autograd.views import View, root_of, see_as_strided
from ..backend import Array, xp
from ..errors import ShapeError
from .dims import Ints, accepts_axis, as_ints, existing_dim, normalize_dim
from .index import Slice
from .parse_index import along
from .shape import reshape

if TYPE_CHECKING:
    from ..tensor import Tensor


class Diagonal(Op):
    """y[…, i] = x[…, i, …, i + offset, …];  dx = zeros, with g on that diagonal"""

    view = True

    def forward(self, x: Array, offset: int, dim1: int, dim2: int) -> Array:
        self.shape, self.args = x.shape, (offset, dim1, dim2)
        corner = [slice(None)] * x.ndim  # cut x so that the diagonal starts at its corner
        corner[dim1] = slice(max(-offset, 0), None)
        corner[dim2] = slice(max(offset, 0), None)
        x = x[tuple(corner)]
        others = [d for d in range(x.ndim) if d not in (dim1, dim2)]
        shape = [x.shape[d] for d in others] + [min(x.shape[dim1], x.shape[dim2])]
        strides = [x.strides[d] for d in others] + [x.strides[dim1] + x.strides[dim2]]
        # The library's own diagonal() is read-only, this one can be written to.
        return xp(x).lib.stride_tricks.as_strided(x, tuple(shape), tuple(strides))

    def backward(self, g: Any) -> Any:
        return Undiagonal.apply(g, self.shape, *self.args)


class Undiagonal(Op):
    """y = zeros of a given shape, with x on a diagonal;  dx = that diagonal of g

    The reverse of Diagonal.
    """

    def forward(self, x: Array, shape: tuple, offset: int, dim1: int, dim2: int) -> Array:
        self.args = offset, dim1, dim2
        y = xp(x).zeros(shape, x.dtype)
        Diagonal.apply(y, offset, dim1, dim2)[...] = x
        return y

    def backward(self, g: Any) -> Any:
        return Diagonal.apply(g, *self.args)


class Unfold(Op):
    """y[…, i, …, k] = x[…, i·step + k, …];  dx[…, i·step + k, …] = Σ g[…, i, …, k]"""

    view = True

    def forward(self, x: Array, dim: int, size: int, step: int) -> Array:
        self.length, self.args = x.shape[dim], (dim, size, step)
        windows = (x.shape[dim] - size) // step + 1
        shape = x.shape[:dim] + (windows,) + x.shape[dim + 1 :] + (size,)
        stride = x.strides[dim]
        strides = x.strides[:dim] + (stride * step,) + x.strides[dim + 1 :] + (stride,)
        return xp(x).lib.stride_tricks.as_strided(x, shape, strides)

    def backward(self, g: Any) -> Any:
        return Fold.apply(g, self.length, *self.args)


class Fold(Op):
    """y[…, i·step + k, …] = Σ x[…, i, …, k];  dx[…, i, …, k] = g[…, i·step + k, …]

    The reverse of Unfold: windows that overlap are added up.
    """

    def forward(self, x: Array, length: int, dim: int, size: int, step: int) -> Array:
        self.args = dim, size, step
        windows = x.shape[dim]
        y = xp(x).zeros(x.shape[:dim] + (length,) + x.shape[dim + 1 : -1], x.dtype)
        for k in range(size):
            places = slice(k, k + (windows - 1) * step + 1, step)  # of the windows' k-th elements
            y[along(dim, places)] += x[..., k]
        return y

    def backward(self, g: Any) -> Any:
        return Unfold.apply(g, *self.args)


@accepts_axis
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` elements along `dim`, from `start` on. A negative start counts from the end."""
    shape = array_of("narrow", input).shape
    if isinstance(start, Variable) and (start.array.ndim or start.array.dtype.kind not in "iu"):
        raise RuntimeError(
            f"narrow: got start of dtype {start.array.dtype} and shape {start.array.shape}, "
            "expected an int, or a 0-d tensor of integers"
        )
    dim = existing_dim("narrow", dim, len(shape))
    start, length, size = operator.index(start), operator.index(length), shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"narrow: start {start} is out of range, expected {-size} to {size}")
    first = start + size if start < 0 else start
    if length < 0 or first + length > size:
        raise ShapeError(
            f"narrow: start {start} and length {length} do not fit dimension {dim} of shape "
            f"{shape}, expected a length of 0 to {size - first}"
        )
    return Slice.apply(input, along(dim, slice(first, first + length)))


@accepts_axis
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """The slice at `index` of dimension `dim`, without that dimension."""
    shape = array_of("select", input).shape
    dim = existing_dim("select", dim, len(shape), IndexError)
    index, size = operator.index(index), shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select: index {index} is out of range for dimension {dim} of shape {shape}, "
            f"expected {-size} to {size - 1}"
        )
    return Slice.apply(input, along(dim, index % size))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of dimensions dim1 and dim2, as a new last dimension.

    offset > 0: a diagonal above the main one; offset < 0: below it.
    """
    ndim = array_of("diagonal", input).ndim
    first = normalize_dim("diagonal", dim1, ndim)
    second = normalize_dim("diagonal", dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal: dim1 and dim2 are both {first}, expected two dimensions")
    return Diagonal.apply(input, operator.index(offset), first, second)


def as_strided(
    input: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Tensor:
    """Any view of a tensor's memory, by its size and its strides, in elements.

    storage_offset counts from the start of the memory, also if input shows only a part of that; by
    default the result starts where input does.
    """
    array = array_of("as_strided", input)
    memory = storage_of(input) if isinstance(input, Variable) else array
    sizes, strides = as_ints("as_strided", size), as_ints("as_strided", stride)
    offset = offset_in(memory, array) if storage_offset is None else operator.index(storage_offset)
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides))
    negative = any(n < 0 for n in (*sizes, *strides, offset))
    if len(sizes) != len(strides) or negative or (0 not in sizes and last >= memory.size):
        raise RuntimeError(
            f"as_strided: got size {sizes}, stride {strides} and offset {offset}, expected as many "
            f"strides as sizes, none negative, that stay within the storage's {memory.size} "
            "elements"
        )
    args = (sizes, strides, offset, None if memory is array else memory)
    y = AsStrided.apply(input, *args)
    if isinstance(y, Variable):
        # A view of the root if that has the whole memory: y may show what input does not.
        y._writes, y._view = writes_of(input), View(input, AsStrided, args)
        if root_of(y).array.size == memory.size:
            see_as_strided(y)
    return y


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements along a dimension, one every `step`, as a new last dimension.

    (…, n, …) → (…, (n − size) // step + 1, …, size), in the same memory.
    """
    shape = array_of("unfold", input).shape
    dim = normalize_dim("unfold", dimension, len(shape))
    length = shape[dim] if shape else 1
    if not 0 <= size <= length or step <= 0:
        raise RuntimeError(
            f"unfold: got size {size} and step {step} for dimension {dim} of shape {shape}, "
            f"expected a size of 0 to {length} and a step of at least 1"
        )
    if not shape:
        return narrow(reshape(input, 1), 0, 0, size)
    return Unfold.apply(input, dim, size, step)


__all__ = ["as_strided", "diagonal", "narrow", "select"]
