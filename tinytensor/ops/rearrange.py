"""Copies with the elements repeated, reversed, rotated, or laid out on a grid."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_ints, require_tensor
from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, is_array, xp
from ..errors import ShapeError
from .broadcast import Expand, as_sequence
from .convert import copy_of
from .dims import Ints, accepts_axis, as_ints, distinct_dims, existing_dim, normalize_dim
from .index import get_item
from .join import stack
from .parse_index import along
from .shape import flatten, reshape, transpose

if TYPE_CHECKING:
    from ..tensor import Tensor

# ------------------------------------------------------------------------------------------
# Repeat
# ------------------------------------------------------------------------------------------


class Repeat(Op):
    """y = x laid side by side, repeats[d] times along dimension d;  dx = Σ g over the copies"""

    def forward(self, x: Array, repeats: tuple) -> Array:
        self.repeats = repeats
        self.shape = (1,) * (len(repeats) - x.ndim) + x.shape
        return xp(x).asarray(xp(x).tile(x, repeats), order="C")

    def backward(self, g: Any) -> Any:
        # (r₀·n₀, r₁·n₁, …) → (r₀, n₀, r₁, n₁, …) → (n₀, n₁, …); the engine drops leading ones
        pairs = [n for pair in zip(self.repeats, self.shape, strict=True) for n in pair]
        return g.reshape(tuple(pairs)).sum(axis=tuple(range(0, len(pairs), 2)))


class RepeatInterleave(Op):
    """y = each slice of x along `dim` repeated `repeats` times;  dx = Σ g over the copies"""

    def forward(self, x: Array, repeats: int, dim: int) -> Array:
        self.repeats, self.dim, self.shape = repeats, dim, x.shape
        return x.repeat(repeats, axis=dim)

    def backward(self, g: Any) -> Any:
        # (…, n·r, …) → (…, n, r, …) → (…, n, …)
        front, back = self.shape[: self.dim + 1], self.shape[self.dim + 1 :]
        return g.reshape(front + (self.repeats,) + back).sum(axis=self.dim + 1)


def repeat(input: Tensor, repeats: Ints, *more: int) -> Tensor:
    """Copies side by side: repeats[d] of them along dimension d; new dimensions come in front."""
    counts = as_ints("repeat", repeats, more)
    ndim = array_of("repeat", input).ndim
    if len(counts) < ndim or min(counts, default=0) < 0:
        raise ShapeError(
            f"repeat: got repeats {counts}, expected at least {ndim} numbers ≥ 0, one for each "
            f"dimension of shape {unwrap(input).shape}"
        )
    return Repeat.apply(input, counts)


def tile(input: Tensor, dims: Ints, *more: int) -> Tensor:
    """As repeat, but with fewer numbers than dimensions, the first dimensions are not repeated."""
    counts = as_ints("tile", dims, more)
    if min(counts, default=0) < 0:
        raise ShapeError(f"tile: got repeats {counts}, expected numbers ≥ 0")
    return Repeat.apply(input, (1,) * (array_of("tile", input).ndim - len(counts)) + counts)


@accepts_axis
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (dim=None: of the flattened tensor), or slice along `dim`, repeated.

    repeats: how often; an int, or a tensor with a number for each. With `repeats` alone, as in
    `repeat_interleave(repeats)`: the indices 0, 1, …, each as often as it says.
    output_size is accepted and not needed.
    """
    require_tensor("repeat_interleave", input)
    if repeats is None:
        array = unwrap(input)
        indices = xp(array).arange(array.shape[0])
        return repeat_interleave(wrap_like(indices, input), input, 0)
    if dim is None:
        input, dim = reshape(input, -1), 0
    shape = unwrap(input).shape
    dim = existing_dim("repeat_interleave", dim, len(shape), IndexError)
    counts = unwrap(repeats)
    if not is_array(counts):
        check_ints("repeat_interleave", repeats=repeats)
        number = operator.index(repeats)
        if number < 0:
            raise RuntimeError(f"repeat_interleave: got {number} repeats, expected at least 0")
        return RepeatInterleave.apply(input, number, dim)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"repeat_interleave: repeats has dtype {counts.dtype}, expected integers")
    if counts.size == 1 and counts.ndim < 2:
        return repeat_interleave(input, int(counts.item()), dim)
    if counts.shape != (shape[dim],):
        raise ShapeError(
            f"repeat_interleave: repeats has shape {counts.shape}, expected ({shape[dim]},), "
            f"a number for each element of dimension {dim} of shape {shape}"
        )
    if counts.size and int(counts.min()) < 0:
        raise RuntimeError("repeat_interleave: repeats has negative numbers, expected numbers ≥ 0")
    # The i-th slice is taken counts[i] times.
    library = xp(counts)
    index = library.repeat(library.arange(shape[dim]), counts.tolist())
    return get_item(input, along(dim, index))


# ------------------------------------------------------------------------------------------
# Reverse and rotate
# ------------------------------------------------------------------------------------------


class Flip(Op):
    """y = x with the order along `dims` reversed;  dx = g with it reversed again"""

    def forward(self, x: Array, dims: tuple) -> Array:
        self.dims = dims
        return copy_of(xp(x).flip(x, dims))  # flip alone would share x's memory

    def backward(self, g: Any) -> Any:
        return Flip.apply(g, self.dims)


class Roll(Op):
    """y = x moved on by `shifts` along `dims`, and around;  dx = g moved back"""

    def forward(self, x: Array, shifts: tuple, dims: tuple | None) -> Array:
        self.shifts, self.dims = shifts, dims
        return xp(x).asarray(xp(x).roll(x, shifts if dims else sum(shifts), dims), order="C")

    def backward(self, g: Any) -> Any:
        return Roll.apply(g, tuple([-s for s in self.shifts]), self.dims)


def flip(input: Tensor, dims: Ints, *more: int) -> Tensor:
    """A copy with the order along `dims` reversed."""
    ndim = array_of("flip", input).ndim
    chosen = distinct_dims("flip", as_ints("flip", dims, more), ndim)
    return Flip.apply(input, chosen if ndim else ())


def fliplr(input: Tensor) -> Tensor:
    """A copy with the order along the second dimension reversed."""
    if array_of("fliplr", input).ndim < 2:
        raise RuntimeError(f"fliplr: got {unwrap(input).ndim} dimensions, expected at least 2")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """A copy with the order along the first dimension reversed."""
    if array_of("flipud", input).ndim < 1:
        raise RuntimeError("flipud: got a 0-d tensor, expected at least one dimension")
    return flip(input, 0)


def roll(input: Tensor, shifts: Ints, dims: Any = None) -> Tensor:
    """A copy moved on by `shifts` along `dims`; dims=None: along the flattened tensor."""
    moves = as_ints("roll", shifts)
    if not moves:
        raise RuntimeError("roll: got no shifts, expected at least one")
    given = () if dims is None else as_ints("roll", dims)
    ndim = array_of("roll", input).ndim
    if len(moves) != len(given) and not (len(moves) == 1 and not given):
        raise RuntimeError(f"roll: got shifts {moves} for dims {given}, expected one for each dim")
    if given and not ndim:
        raise IndexError(f"roll: got dims {given} for a 0-d tensor, expected none")
    chosen = tuple([normalize_dim("roll", d, ndim) for d in given])
    return Roll.apply(input, moves, chosen or None)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by 90° k times in the plane of two dimensions, from the first towards the second."""
    ndim = array_of("rot90", input).ndim
    check_ints("rot90", k=k)
    given = as_ints("rot90", dims)
    chosen = [normalize_dim("rot90", d, ndim) for d in given] if ndim > 1 else []
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise RuntimeError(
            f"rot90: got dims {given} for {ndim} dimensions, expected two different ones"
        )
    first, second = chosen
    if k % 4 == 0:
        return flip(input, ())
    if k % 4 == 2:
        return flip(input, first, second)
    return transpose(flip(input, second if k % 4 == 1 else first), first, second)


# ------------------------------------------------------------------------------------------
# Grids
# ------------------------------------------------------------------------------------------


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid: one tensor for each 1-D tensor, all of shape (n₀, n₁, …).

    indexing: "ij" (the default) for that shape, "xy" for (n₁, n₀, …), as in a picture.
    """
    axes = as_sequence(tensors)
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"meshgrid: got indexing {indexing!r}, expected 'ij' or 'xy'")
    if not axes or max(array_of("meshgrid", x).ndim for x in axes) > 1:
        shapes = [unwrap(x).shape for x in axes]
        raise ShapeError(f"meshgrid: got tensors of shapes {shapes}, expected 0-d or 1-D ones")
    if len({unwrap(x).dtype for x in axes}) > 1:
        names = [str(unwrap(x).dtype) for x in axes]
        raise RuntimeError(f"meshgrid: got dtypes {names}, expected one for all tensors")
    order = list(range(len(axes)))  # dimension order[i] of the grid belongs to tensor i
    if indexing == "xy" and len(axes) > 1:
        order[:2] = 1, 0
    sizes = [unwrap(x).size for x in axes]
    grid = tuple([sizes[i] for i in order])
    results = []
    for place, x, size in zip(order, axes, sizes, strict=True):
        # (n) → (1, …, n, …, 1) → the whole grid
        column = (1,) * place + (size,) + (1,) * (len(axes) - place - 1)
        results.append(Expand.apply(reshape(x, column), grid))
    return tuple(results)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every way to take one element of each 1-D tensor, as rows."""
    for x in tensors:
        if array_of("cartesian_prod", x).ndim != 1:
            raise RuntimeError(
                f"cartesian_prod: got a tensor of shape {tuple(x.shape)}, expected 1-D tensors"
            )
    columns = [flatten(x) for x in meshgrid(*tensors)]
    return stack(columns, 1) if len(columns) > 1 else columns[0]


__all__ = [
    "cartesian_prod", "flip", "fliplr", "flipud", "meshgrid", "repeat", "repeat_interleave", "roll",
    "rot90", "tile",
]  # fmt: skip
