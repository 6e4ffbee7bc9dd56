"""The indices that sort an array, all or the first few; shared by sort, topk and kthvalue."""

from __future__ import annotations

import numpy as np

from ..autograd.op import Op
from ..backend import Array, xp


class Argsort(Op):
    """y = the indices that sort x along dim, stably, NaN last;  no gradient

    few: only the first so many of them are needed; there may be more.
    """

    differentiable = False

    def forward(self, x: Array, dim: int, descending: bool, few: int | None = None) -> Array:
        if few is not None and xp(x) is np and x.dtype.kind in "fiu":
            found = first_in_order(x, dim, descending, few)
            if found is not None:
                return found
        return in_order(x, dim, descending)


def in_order(x: Array, dim: int, descending: bool) -> Array:
    """The indices that sort x along dim, stably."""
    library = xp(x)
    if not descending:
        return library.argsort(x, axis=dim, kind="stable")
    # Reading an ascending order from the end would also reverse equal elements. So reverse
    # x before sorting, too, and count its indices from the end.
    from_end = library.argsort(library.flip(x, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - library.flip(from_end, dim)


def first_in_order(x: Array, dim: int, descending: bool, count: int) -> Array | None:
    """The first `count` of `in_order` without sorting the others; None if that is not possible.

    It is not if equal elements are on both sides of the limit, or one of the first is NaN.
    """
    size = x.shape[dim]
    if not 0 < count <= size // 4:
        return None
    lines = np.moveaxis(x, dim, -1)
    place = size - count if descending else count - 1
    parted = np.partition(lines, place, axis=-1)
    if descending and np.isnan(parted[..., place:]).any():
        return None
    limit = parted[..., place, None]
    found = lines >= limit if descending else lines <= limit
    if not (np.count_nonzero(found, axis=-1) == count).all():
        return None
    indices = found.nonzero()[-1].reshape(*lines.shape[:-1], count)  # ascending, so sorting is
    order = in_order(np.take_along_axis(lines, indices, -1), -1, descending)  # stable
    return np.moveaxis(np.take_along_axis(indices, order, -1), -1, dim)
