"""Read selected elements: by an index along a dimension, by a flat index.

Each is a gather; its gradient adds into the places that were read, which may repeat.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, require_tensor
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import fast_version
from ..out import takes_out
from .accumulate import add_rows
from .broadcast import atleast_1d, broadcast_to, common_shape
from .dims import accepts_axis, normalize_dim
from .index import Index
from .parse_index import INT64, outside, slices_at
from .promote import cast

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Shared by gather and scatter
# ------------------------------------------------------------------------------------------


def as_index(name: str, index: Any) -> Any:
    """An index tensor as int64; an error for any other kind of dtype."""
    dtype = getattr(unwrap(index), "dtype", None)
    if dtype is None:
        raise TypeError(f"{name}: got index of type {type(index).__name__}, expected a tensor")
    if dtype.kind not in "iu":
        raise RuntimeError(f"{name}: got index of dtype {dtype}, expected int64 or another integer")
    return index if dtype is INT64 else cast(index, INT64)


def as_vector(name: str, index: Any) -> Any:
    """An index tensor of one dimension; a 0-d one counts as one element."""
    index = as_index(name, index)
    if index.ndim > 1:
        raise IndexError(f"{name}: got index of shape {tuple(index.shape)}, expected one dimension")
    return atleast_1d(index)


def check_index_range(
    name: str, index: Any, dim: int, size: int, error: type = IndexError, negative: bool = False
) -> None:
    """Refuse an index outside 0 … size − 1 (−size … size − 1 if negative ones count from the end).

    On a GPU, reading the values would wait for all pending work, so they are not checked there;
    PyTorch leaves that to the kernel.
    """
    array = unwrap(index)
    if xp(array) is not np:
        return
    wrong = outside(array, -size if negative else 0, size)
    if wrong is not None:
        raise error(f"{name}: index {wrong} is out of range for dimension {dim} of size {size}")


def check_index_shape(name: str, index: Any, dim: int, shape: tuple, what: str) -> None:
    """Refuse an index that is larger than a tensor of `shape`, dim aside (dim < 0: in any)."""
    sizes = unwrap(index).shape
    if len(sizes) != len(shape):
        raise ShapeError(
            f"{name}: index has shape {sizes}, expected {len(shape)} dimensions, as {what} of "
            f"shape {tuple(shape)} has"
        )
    for d, (n, limit) in enumerate(zip(sizes, shape, strict=True)):
        if n > limit and d != dim:
            raise ShapeError(
                f"{name}: index has shape {sizes}, which at dimension {d} is larger than {what} "
                f"of shape {tuple(shape)}"
            )


def flat_positions(shape: tuple, dim: int, index: Array) -> Array:
    """Where gather(x, dim, index) looks in x.reshape(-1), for an x of `shape`; as index's shape."""
    library = xp(index)
    positions: Any = 0
    stride = 1
    for axis in reversed(range(len(shape))):
        coordinate = index
        if axis != dim:  # each element's own place along this axis
            along_axis = [1] * len(shape)
            along_axis[axis] = -1
            coordinate = library.arange(index.shape[axis]).reshape(along_axis)
        positions = positions + coordinate * stride
        stride *= shape[axis]
    return positions


def _adds_rows(shape: tuple, dim: int, index: Array) -> bool:
    """True for an index that was expanded from (N, 1, …): whole rows are added."""
    same = index.shape[1:] == shape[1:] and math.prod(shape[1:]) > 1
    return dim == 0 and same and index.ndim > 1 and not any(index.strides[1:])


def _added_along_lines(y: Array, dim: int, index: Array, x: Array) -> bool:
    """y[…, index[…, j]] += x[…, j] along the last dimension, if a kernel pays."""
    if dim != y.ndim - 1 or index.shape[:-1] != y.shape[:-1] or not index.size:
        return False
    kernel = fast_version("embedding", "add_along_lines", (x, y), written=False)
    if kernel is None or outside(index, 0, y.shape[dim]) is not None:
        return False
    kernel(x, index, y)
    return True


# ------------------------------------------------------------------------------------------
# Along a dimension
# ------------------------------------------------------------------------------------------


def _places(dim: int, index: Array) -> tuple:
    """Where gather reads, an array for each dimension: take_along_axis, at a third of its time.

    Along `dim` it is the index, along the others 0, 1, …, as far as the index goes.
    """
    rank, arange = index.ndim, xp(index).arange
    return tuple([
        index if d == dim else arange(n).reshape((n,) + (1,) * (rank - 1 - d))
        for d, n in enumerate(index.shape)
    ])  # fmt: skip


class Gather(Op):
    """y[i, j] = x[i, index[i, j]] (along dim 1);  dx = zeros, g[i, j] added at [i, index[i, j]]"""

    saves = ("index",)

    def forward(self, x: Array, dim: int, index: Array) -> Array:
        self.shape, self.dim = x.shape, dim
        return x[_places(dim, index)]

    def backward(self, g: Any) -> Any:
        (index,) = self.saved
        return Ungather.apply(g, self.shape, self.dim, index)


class Ungather(Op):
    """y = zeros of a given shape, y[i, index[i, j]] += x[i, j] (along dim 1);  dx = gather of g

    Gather, transposed.
    """

    saves = ("index",)

    def forward(self, x: Array, shape: tuple, dim: int, index: Array) -> Array:
        self.dim = dim
        total = xp(x).zeros(shape, dtype=x.dtype)
        if index.shape[dim] == 1:  # no place is read twice
            total[_places(dim, index)] = x
        elif _adds_rows(shape, dim, index):
            column = (slice(None),) + (0,) * (index.ndim - 1)
            add_rows(total, index[column], x)
        elif not _added_along_lines(total, dim, index, x):
            flat = total.reshape(-1)
            add_rows(flat, flat_positions(shape, dim, index).reshape(-1), x.reshape(-1))
        return total

    def backward(self, g: Any) -> Any:
        (index,) = self.saved
        return Gather.apply(g, self.dim, index)


@takes_out("same dtype")
@accepts_axis
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i, j] = input[i, index[i, j]] for dim=1, and likewise for others; as index's shape.

    index: integers, of input's number of dimensions, nowhere larger than input but along dim.
    sparse_grad is PyTorch's and changes nothing here.
    """
    if type(sparse_grad) is not bool:
        check_flags("gather", sparse_grad=sparse_grad)
    dim = normalize_dim("gather", dim, array_of("gather", input).ndim)
    index = as_index("gather", index)
    shape = unwrap(index).shape
    input, index = atleast_1d(input), atleast_1d(index)
    if not math.prod(shape):
        return input.reshape(-1)[:0].reshape(shape)
    sizes = unwrap(input).shape
    check_index_shape("gather", index, dim, sizes, "input")
    check_index_range("gather", index, dim, sizes[dim], RuntimeError)
    y = Gather.apply(input, dim, index)
    return y if shape else y.reshape(())


@takes_out("same dtype")
@accepts_axis
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As gather, but input and indices are broadcast against each other, dim aside.

    dim=None: both are seen flat. A negative index counts from the end.
    """
    require_tensor("take_along_dim", input)
    indices = as_index("take_along_dim", indices)
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    dim = normalize_dim("take_along_dim", dim, input.ndim)
    if input.ndim != indices.ndim:
        raise ShapeError(
            f"take_along_dim: indices of shape {tuple(indices.shape)} and input of shape "
            f"{tuple(input.shape)} must have the same number of dimensions"
        )
    size = input.shape[dim] if input.ndim else 1
    check_index_range("take_along_dim", indices, dim, size, negative=True)
    mine, others = list(input.shape), list(indices.shape)
    if mine:
        mine[dim] = others[dim] = 1
    common = common_shape("take_along_dim", (mine, others))
    if mine:
        mine, others = list(common), list(common)
        mine[dim], others[dim] = size, indices.shape[dim]
    index = unwrap(broadcast_to(indices, tuple(others)))
    index = xp(index).where(index < 0, index + size, index)
    return gather(broadcast_to(input, tuple(mine)), dim, index)


@takes_out("same dtype")
@accepts_axis
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of input at the positions in `index` (one dimension) along dim, as a copy."""
    dim = normalize_dim("index_select", dim, array_of("index_select", input).ndim)
    index = as_vector("index_select", index)
    if not input.ndim:
        return index_select(input.reshape((1,)), 0, index).reshape(())
    check_index_range("index_select", index, dim, input.shape[dim])
    return Index.apply(input, slices_at(dim, index))


# ------------------------------------------------------------------------------------------
# By flat index
# ------------------------------------------------------------------------------------------


@takes_out("same dtype")
def take(input: Tensor, index: Tensor) -> Tensor:
    """input.reshape(-1)[index], as index's shape; a negative index counts from the end."""
    require_tensor("take", input)
    index = as_index("take", index)
    flat = input.reshape(-1)
    check_index_range("take", index, 0, flat.shape[0], negative=True)
    return Index.apply(flat, (unwrap(index),))


__all__ = ["gather", "index_select", "take", "take_along_dim"]
