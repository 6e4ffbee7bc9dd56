"""Join tensors into one (cat, stack), or split one into several; each is the other's reverse."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, is_array, xp
from ..dtype import promote_pair
from ..errors import ShapeError
from ..out import takes_out
from .broadcast import atleast_1d, atleast_2d, atleast_3d
from .dims import accepts_axis, as_ints, existing_dim, normalize_dim
from .index import Slice
from .parse_index import along
from .promote import cast
from .shape import reshape

if TYPE_CHECKING:
    from ..tensor import Tensor

# ------------------------------------------------------------------------------------------
# Join
# ------------------------------------------------------------------------------------------


class Cat(Op):
    """y = x₀, x₁, … one after the other along `dim`;  dxᵢ = the stretch of g where xᵢ is"""

    def forward(self, dim: int, *tensors: Array) -> Array:
        self.dim, self.sizes = dim, tuple([x.shape[dim] for x in tensors])
        return row_major(xp(tensors[0]).concatenate(tensors, axis=dim))

    def backward(self, g: Any) -> Any:
        return None, *Split.apply(g, self.sizes, self.dim)


class Stack(Op):
    """y = x₀, x₁, … side by side along a new dimension;  dxᵢ = the slice of g where xᵢ is"""

    def forward(self, dim: int, *tensors: Array) -> Array:
        self.dim = dim
        return row_major(xp(tensors[0]).stack(tensors, axis=dim))

    def backward(self, g: Any) -> Any:
        return None, *Unbind.apply(g, self.dim)


def row_major(y: Array) -> Array:
    """y with its elements in row-major order in memory, as PyTorch has them."""
    return y if y.flags.c_contiguous else y.copy(order="C")


def _operands(name: str, tensors: Any) -> list:
    """The tensors to join, in their common dtype."""
    if is_array(unwrap(tensors)) or not hasattr(tensors, "__iter__"):
        raise TypeError(
            f"{name}: got {type(tensors).__name__}, expected a tuple or list of tensors"
        )
    given = list(tensors)
    if not given:
        raise ShapeError(f"{name}: got no tensors, expected at least one")
    for i, x in enumerate(given):
        if not isinstance(x, Variable) and not is_array(x):
            raise TypeError(f"{name}: element {i} is a {type(x).__name__}, expected a tensor")
    dtypes = [unwrap(x).dtype for x in given]
    if dtypes.count(dtypes[0]) == len(dtypes):
        return given
    dtype = functools.reduce(promote_pair, dtypes)
    return [cast(x, dtype) for x in given]


@takes_out("cast")
@accepts_axis
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one after the other along `dim`; their other sizes must agree.

    An empty 1-D tensor is left out, whatever the shapes of the others.
    """
    return _cat("cat", tensors, dim)


def _cat(name: str, tensors: Any, dim: int) -> Any:
    given = _operands(name, tensors)
    shapes = [unwrap(x).shape for x in given]
    kept = [i for i, shape in enumerate(shapes) if shape != (0,)]
    if not kept:
        return Cat.apply(0, *given)
    first = shapes[kept[0]]
    if not all(shapes):
        raise ShapeError(
            f"{name}: tensor {shapes.index(())} is 0-d, expected at least 1-D; use stack()"
        )
    dim = normalize_dim(name, dim, len(first))
    rest = first[:dim] + first[dim + 1 :]
    for i in kept:
        shape = shapes[i]
        if len(shape) != len(first) or shape[:dim] + shape[dim + 1 :] != rest:
            raise ShapeError(
                f"{name}: tensor {i} has shape {shape}, expected that of tensor {kept[0]}, "
                f"{first}, in all but dimension {dim}"
            )
    return Cat.apply(dim, *[given[i] for i in kept])


@takes_out("cast")
@accepts_axis
def concat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """cat, under another name."""
    return _cat("concat", tensors, dim)


@takes_out("cast")
@accepts_axis
def concatenate(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """cat, under NumPy's name."""
    return _cat("concatenate", tensors, dim)


@takes_out("cast")
@accepts_axis
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape side by side, along a new dimension at place `dim`."""
    given = _operands("stack", tensors)
    first = unwrap(given[0]).shape
    for i, x in enumerate(given):
        if unwrap(x).shape != first:
            raise ShapeError(
                f"stack: tensor {i} has shape {unwrap(x).shape}, expected {first}, as tensor 0"
            )
    return Stack.apply(normalize_dim("stack", dim, len(first) + 1), *given)


@takes_out("cast")
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side: along the second dimension, or the only one of 1-D tensors."""
    given = atleast_1d(_operands("hstack", tensors))
    return _cat("hstack", given, 0 if given[0].ndim == 1 else 1)


@takes_out("cast")
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """On top of each other: along the first dimension; 1-D tensors are rows."""
    return _cat("vstack", atleast_2d(_operands("vstack", tensors)), 0)


@takes_out("cast")
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Behind each other: along the third dimension."""
    return _cat("dstack", atleast_3d(_operands("dstack", tensors)), 2)


@takes_out("cast")
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side; 1-D tensors are columns."""
    given = _operands("column_stack", tensors)
    columns = [reshape(x, -1, 1) if x.ndim < 2 else x for x in given]
    return _cat("column_stack", columns, 1)


# ------------------------------------------------------------------------------------------
# Split
# ------------------------------------------------------------------------------------------


class Split(Op):
    """y₀, y₁, … = stretches of x along `dim`;  dx = their gradients, one after the other"""

    view = True

    def forward(self, x: Array, sizes: tuple, dim: int) -> tuple:
        self.dim = dim
        return tuple([x[index] for index in _stretches(sizes, dim)])

    def backward(self, *grads: Any) -> Any:
        whole = _in_a_row(grads, self.dim)
        return Cat.apply(self.dim, *grads) if whole is None else whole

    def view_args(self, args: tuple) -> list:
        _, sizes, dim = args
        return [(Slice, (index,)) for index in _stretches(sizes, dim)]


def _stretches(sizes: tuple, dim: int) -> list[tuple]:
    """The indices of stretches of the given sizes along `dim`."""
    stops = itertools.accumulate(sizes)
    return [along(dim, slice(stop - size, stop)) for size, stop in zip(sizes, stops, strict=True)]


def _in_a_row(parts: Sequence[Array], dim: int) -> Array | None:
    """The one array that these NumPy arrays are consecutive parts of along `dim`, or None.

    Attention's gradients of q, k and v are such parts if one product made all three.
    """
    first = parts[0]
    base: Any = getattr(first, "base", None)
    if not isinstance(base, np.ndarray):
        return None
    length, address, strides = 0, first.ctypes.data, first.strides
    for part in parts:
        here = part.base is base and part.strides == strides and part.dtype == first.dtype
        if not here or part.ctypes.data != address + length * strides[dim]:
            return None
        length += part.shape[dim]
    shape = first.shape[:dim] + (length,) + first.shape[dim + 1 :]
    return np.lib.stride_tricks.as_strided(first, shape, strides)


class Unbind(Op):
    """y₀, y₁, … = slices of x along `dim`;  dx = their gradients, side by side"""

    view = True

    def forward(self, x: Array, dim: int) -> tuple:
        self.dim = dim
        return tuple([x[along(dim, i)] for i in range(x.shape[dim])])

    def backward(self, *grads: Any) -> Any:
        return Stack.apply(self.dim, *grads)

    def view_args(self, args: tuple) -> list:
        x, dim = args
        return [(Slice, (along(dim, i),)) for i in range(unwrap(x).shape[dim])]


def _shape_and_dim(name: str, input: Any, dim: int) -> tuple[tuple, int]:
    shape = array_of(name, input).shape
    return shape, existing_dim(name, dim, len(shape))


@accepts_axis
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Stretches of one size (the last may be shorter), or of the sizes in a list, along `dim`."""
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    shape, dim = _shape_and_dim("split", tensor, dim)
    (size,) = as_ints("split", split_size_or_sections)
    total = shape[dim]
    if size < 0 or (size == 0 and total):
        raise RuntimeError(f"split: got size {size}, expected at least 1, for shape {shape}")
    whole, rest = divmod(total, size) if size else (1, 0)
    sizes = (size,) * whole + ((rest,) if rest or not whole else ())
    return Split.apply(tensor, sizes, dim)


@accepts_axis
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Stretches of the given sizes along `dim`."""
    shape, dim = _shape_and_dim("split_with_sizes", input, dim)
    sizes = as_ints("split_with_sizes", split_sizes)
    if sum(sizes) != shape[dim] or min(sizes, default=0) < 0:
        raise ShapeError(
            f"split_with_sizes: sizes {sizes} sum to {sum(sizes)}, expected {shape[dim]}, "
            f"dimension {dim} of shape {shape}"
        )
    return Split.apply(input, sizes, dim)


@accepts_axis
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` stretches of equal size (the last may be shorter) along `dim`."""
    shape, dim = _shape_and_dim("chunk", input, dim)
    if chunks <= 0:
        raise RuntimeError(f"chunk: got {chunks} chunks, expected at least 1")
    if not shape[dim]:
        return Split.apply(input, (0,) * chunks, dim)
    return split(input, -(-shape[dim] // chunks), dim)


@accepts_axis
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: Any = None,
) -> tuple[Tensor, ...]:
    """A number of stretches whose sizes differ by at most one, or cut at the given indices.

    PyTorch also accepts the second argument under the names indices and sections.
    """
    shape, dim = _shape_and_dim("tensor_split", input, dim)
    total = shape[dim]
    given = [x for x in (indices_or_sections, indices, sections) if x is not None]
    if len(given) != 1:
        raise TypeError(f"tensor_split: got {len(given)} of indices and sections, expected one")
    cuts = unwrap(given[0])
    if is_array(cuts):
        if cuts.dtype.kind not in "iu" or cuts.ndim > 1:
            raise RuntimeError(
                f"tensor_split: got indices or sections of dtype {cuts.dtype} and shape "
                f"{cuts.shape}, expected integers of at most 1 dimension"
            )
        cuts = cuts.tolist()
    if not isinstance(cuts, (tuple, list)):
        if cuts <= 0:
            raise RuntimeError(f"tensor_split: got {cuts} sections, expected at least 1")
        size, longer = divmod(total, cuts)
        cuts = [size * i + min(i, longer) for i in range(1, cuts)]
    edges = [0, *(slice(cut).indices(total)[1] for cut in cuts), total]
    return tuple(
        [Slice.apply(input, along(dim, slice(*ends))) for ends in itertools.pairwise(edges)]
    )


def _equal_parts(name: str, input: Tensor, parts: Any, rank: int, dim: int) -> tuple[Tensor, ...]:
    """tensor_split along dim of a tensor of at least `rank` dimensions, into equal parts."""
    shape = array_of(name, input).shape
    if len(shape) < rank:
        raise RuntimeError(
            f"{name}: got a tensor of {len(shape)} dimensions, expected at least {rank}"
        )
    if isinstance(parts, int) and (parts <= 0 or shape[dim] % parts):
        raise RuntimeError(
            f"{name}: got {parts} sections, expected a divisor of {shape[dim]}, the size of dim "
            f"{dim}"
        )
    return tensor_split(input, parts, dim)


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Equal parts along dim 1 (dim 0 of a 1-D tensor), or cut at the given indices."""
    dim = 1 if array_of("hsplit", input).ndim > 1 else 0
    return _equal_parts("hsplit", input, indices_or_sections, 1, dim)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Equal parts along dim 0 of at least two dimensions, or cut at the given indices."""
    return _equal_parts("vsplit", input, indices_or_sections, 2, 0)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Equal parts along dim 2 of at least three dimensions, or cut at the given indices."""
    return _equal_parts("dsplit", input, indices_or_sections, 3, 2)


@accepts_axis
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along `dim`, which they do not have any more."""
    return Unbind.apply(
        input, existing_dim("unbind", dim, array_of("unbind", input).ndim, IndexError)
    )


row_stack = vstack

__all__ = [
    "cat", "chunk", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit",
    "hstack", "row_stack", "split", "split_with_sizes", "stack", "tensor_split", "unbind", "vsplit",
    "vstack",
]  # fmt: skip
