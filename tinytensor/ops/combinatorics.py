"""Combinations of a vector's elements, and indices of a flat array as those of its dimensions."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags
from ..autograd.variable import wrap_like
from ..backend import xp

if TYPE_CHECKING:
    from ..tensor import Tensor


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector of n, in the vector's order: (choices, r).

    with_replacement: an element may be chosen several times.
    """
    array = array_of("combinations", input)
    if array.ndim != 1:
        raise RuntimeError(f"combinations: got shape {array.shape}, expected a vector")
    check_flags("combinations", with_replacement=with_replacement)
    r = operator.index(r)
    if r < 0:
        raise RuntimeError(f"combinations: got r = {r}, expected a number from 0 on")
    if not r:
        return input.new_empty((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.array(list(choose(range(array.size), r)), dtype=np.int64).reshape((-1, r))
    places: Any = wrap_like(xp(array).asarray(chosen), input)
    return input[places]


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Where flat `indices` of an array of that shape are: one tensor for each dimension."""
    array = array_of("unravel_index", indices)
    if array.dtype.kind not in "iu":
        raise TypeError(f"unravel_index: got indices of dtype {array.dtype}, expected integers")
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(n, int) for n in sizes):
        raise TypeError(f"unravel_index: got shape {shape!r}, expected integers")
    if any(n < 0 for n in sizes):
        raise ValueError(f"unravel_index: got shape {sizes}, expected no negative size")
    if array.size and 0 in sizes:
        raise ValueError(f"unravel_index: got shape {sizes}, expected no size 0 for these indices")
    # From the last dimension on: the remainder is the index there, the quotient what is left.
    found = []
    left = array.astype(np.int64)
    for n in reversed(sizes):
        index = xp(array).asarray(left % n if n else left * 0)
        found.append(wrap_like(index, indices))
        left = left // n if n else left * 0
    return tuple(reversed(found))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """`size` rows of positions of elements that are not 0, cut or filled up with `fill_value`."""
    array = array_of("nonzero_static", input)
    size = operator.index(size)
    if size < 0:
        raise RuntimeError(f"nonzero_static: got size {size}, expected a number from 0 on")
    library = xp(array)
    there = library.argwhere(array) if array.ndim else library.zeros((int(bool(array)), 0), int)
    rows = library.full((size, array.ndim), operator.index(fill_value), dtype=np.int64)
    count = min(size, len(there))
    rows[:count] = there[:count]
    return wrap_like(rows, input)


__all__ = ["combinations", "nonzero_static", "unravel_index"]
