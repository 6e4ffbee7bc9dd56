"""Triangles and diagonals of matrices: taken out, put in, or put together.

`diagonal` itself, which is a view, is in partial_views.py.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_given, require_tensor
from ..autograd.op import Op
from ..autograd.variable import wrap
from ..backend import Array, xp
from ..devices import module_for
from ..dtype import to_numpy_dtype
from ..errors import ShapeError
from ..out import takes_out
from .autocast import in_float32
from .broadcast import atleast_2d
from .convert import clone
from .dims import as_ints, normalize_dim
from .join import cat
from .masked import masked_fill
from .pad import pad
from .partial_views import Undiagonal
from .partial_views import diagonal as diagonal_of  # `diag` has an argument named diagonal
from .promote import cast

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Triangles
# ------------------------------------------------------------------------------------------


class Tril(Op):
    """y[i, j] = x[i, j] where j ≤ i + diagonal, else 0;  dx = the same triangle of g"""

    def forward(self, x: Array, diagonal: int) -> Array:
        self.diagonal = diagonal
        return xp(x).tril(x, diagonal)

    def backward(self, g: Any) -> Any:
        return Tril.apply(g, self.diagonal)


class Triu(Op):
    """y[i, j] = x[i, j] where j ≥ i + diagonal, else 0;  dx = the same triangle of g"""

    def forward(self, x: Array, diagonal: int) -> Array:
        self.diagonal = diagonal
        return xp(x).triu(x, diagonal)

    def backward(self, g: Any) -> Any:
        return Triu.apply(g, self.diagonal)


def _check_matrix(name: str, input: Any) -> None:
    if array_of(name, input).ndim < 2:
        raise ShapeError(f"{name}: got shape {tuple(input.shape)}, expected at least 2 dimensions")


def _within(input: Any, diagonal: int) -> int:
    """The number of a diagonal; one beyond a corner stands for all that are further away."""
    rows, columns = input.shape[-2:]
    return max(-rows, min(operator.index(diagonal), columns))


@takes_out("same dtype")
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of each matrix (the last two dimensions), zeros above it.

    diagonal: the last one that is kept, 0 for the main one, positive above it.
    """
    _check_matrix("tril", input)
    return Tril.apply(input, _within(input, diagonal))


@takes_out("same dtype")
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of each matrix (the last two dimensions), zeros below it.

    diagonal: the first one that is kept, 0 for the main one, positive above it.
    """
    _check_matrix("triu", input)
    return Triu.apply(input, _within(input, diagonal))


def _size(name: str, row: Any, col: Any) -> tuple[int, ...]:
    size = as_ints(name, row, (col,))
    if min(size) < 0:
        raise RuntimeError(f"{name}: got a matrix of {size}, expected sizes of at least 0")
    return size


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = np.int64,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """The row and column numbers of the lower triangle of a (row, col) matrix, as (2, N)."""
    library = module_for(device)
    row, col = _size("tril_indices", row, col)
    pair = library.tril_indices(row, offset, col)
    return wrap(library.stack(pair).astype(to_numpy_dtype(dtype)))


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = np.int64,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """The row and column numbers of the upper triangle of a (row, col) matrix, as (2, N)."""
    library = module_for(device)
    row, col = _size("triu_indices", row, col)
    pair = library.triu_indices(row, offset, col)
    return wrap(library.stack(pair).astype(to_numpy_dtype(dtype)))


# ------------------------------------------------------------------------------------------
# Diagonals
# ------------------------------------------------------------------------------------------


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in dimensions dim1 and dim2 with input's last dimension on a diagonal.

    (…, n) → (…, n + |offset|, n + |offset|); offset > 0 puts it above the main diagonal.
    """
    ndim = array_of("diag_embed", input).ndim + 1
    first = normalize_dim("diag_embed", dim1, ndim)
    second = normalize_dim("diag_embed", dim2, ndim)
    if first == second:
        raise RuntimeError(f"diag_embed: dim1 and dim2 are both {first}, expected two dimensions")
    if not input.ndim:
        raise IndexError("diag_embed: got a 0-d tensor, expected at least one dimension")
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, size)
    return Undiagonal.apply(input, tuple(shape), operator.index(offset), first, second)


@takes_out("same dtype")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector (a copy)."""
    if array_of("diag", input).ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise ShapeError(f"diag: got shape {tuple(input.shape)}, expected a vector or a matrix")
    return clone(diagonal_of(input, diagonal))


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of input on a diagonal."""
    require_tensor("diagflat", input)
    return diag_embed(input.reshape(-1), offset)


def fill_diagonal_(input: Tensor, fill_value: float) -> Tensor:
    """Write one number into the main diagonal of a matrix."""
    if input.ndim != 2:
        raise ShapeError(f"fill_diagonal_: got shape {tuple(input.shape)}, expected a matrix")
    diagonal_of(input).fill_(fill_value)
    return input


def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy of input whose diagonal of dimensions dim1 and dim2 is src."""
    check_given("diagonal_scatter", src=src)
    raw = array_of("diagonal_scatter", input)
    place = diagonal_of(raw, offset, dim1, dim2)
    if tuple(src.shape) != place.shape:
        raise ShapeError(
            f"diagonal_scatter: src has shape {tuple(src.shape)}, expected {place.shape}, the "
            "shape of the diagonal"
        )
    src = cast(src, raw.dtype)
    args = raw.shape, offset, dim1 % raw.ndim, dim2 % raw.ndim
    mask = Undiagonal.apply(xp(raw).ones(place.shape, dtype=bool), *args)
    return masked_fill(input, mask, 0) + Undiagonal.apply(src, *args)


@in_float32
def trace(input: Tensor) -> Tensor:
    """The sum of the main diagonal of a matrix."""
    if array_of("trace", input).ndim != 2:
        raise ShapeError(f"trace: got shape {tuple(input.shape)}, expected a matrix")
    return diagonal_of(input).sum()


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal; a vector counts as one row."""
    blocks = [atleast_2d(block) for block in tensors] or [wrap(np.zeros((1, 0), np.float32))]
    width = sum(block.shape[1] for block in blocks)
    rows = []
    left = 0
    for block in blocks:
        if block.ndim != 2:
            raise ShapeError(
                f"block_diag: got a tensor of shape {tuple(block.shape)}, expected at most 2 "
                "dimensions"
            )
        right = width - left - block.shape[1]
        rows.append(pad(block, (left, right)))  # (r, c) → (r, width)
        left += block.shape[1]
    return cat(rows)


__all__ = [
    "block_diag", "diag", "diag_embed", "diagflat", "diagonal_scatter", "trace", "tril",
    "tril_indices", "triu", "triu_indices",
]  # fmt: skip
