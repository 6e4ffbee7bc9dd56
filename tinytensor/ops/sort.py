"""Sorting, the k largest or smallest, and finding values in sorted or unsorted sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, check_given, check_numbers, require_tensor
from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, is_array, xp
from ..errors import ShapeError
from ..out import takes_out
from . import return_types
from .broadcast import atleast_1d
from .convert import contiguous
from .dims import accepts_axis, normalize_dim
from .gather import Gather, gather
from .minmax import check_not_empty, pick
from .order import Argsort
from .parse_index import along
from .promote import cast, refuse_complex

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Sorting
# ------------------------------------------------------------------------------------------


def _order(
    name: str, input: Any, dim: Any, descending: bool, few: Any = None
) -> tuple[Any, Any, int]:
    """(input with at least one dim, indices that sort it, or the first `few` of them, dim)"""
    dim = normalize_dim(name, dim, array_of(name, input).ndim)
    refuse_complex(name, input)
    line = atleast_1d(input)
    if not isinstance(few, int):
        few = None
    return line, Argsort.apply(line, dim, bool(descending), few), dim


@takes_out("same dtype")
@accepts_axis
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False
) -> return_types.sort:
    """(values, indices), sorted along `dim`; NaN is the largest.

    Equal elements keep their order, with or without `stable`.
    """
    if type(descending) is not bool or type(stable) is not bool:
        check_flags("sort", descending=descending, stable=False if stable is None else stable)
    line, indices, dim = _order("sort", input, dim, descending)
    values = Gather.apply(line, dim, indices)
    return return_types.sort(values.reshape(input.shape), indices.reshape(input.shape))


@accepts_axis
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort `input` along `dim`; see `sort`."""
    if type(descending) is not bool or type(stable) is not bool:
        check_flags("argsort", descending=descending, stable=stable)
    _, indices, _ = _order("argsort", input, dim, descending)
    return indices.reshape(input.shape)


@takes_out("same dtype")
def msort(input: Tensor) -> Tensor:
    """The values sorted along the first dimension."""
    return sort(input, 0).values


@takes_out("same dtype")
@accepts_axis
def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> return_types.topk:
    """(values, indices) of the k largest (or smallest) elements along `dim`, in that order.

    Of equal elements the first are taken. `sorted` has no effect: the result is always sorted.
    """
    if type(largest) is not bool or type(sorted) is not bool:
        check_flags("topk", largest=largest, sorted=sorted)
    if type(dim) is bool:  # topk(k, True): dim was left out
        raise TypeError(f"topk: got dim = {dim}, expected an int")
    line, indices, dim = _order("topk", input, dim, largest, k)
    if not 0 <= k <= line.shape[dim]:
        raise RuntimeError(
            f"topk: got k = {k}, expected 0 to {line.shape[dim]}, the length of dim {dim} of shape "
            f"{tuple(input.shape)}"
        )
    if not input.ndim:
        k = 1  # a 0-d tensor, also for k = 0
    indices = contiguous(indices[along(dim, slice(0, k))])
    values = Gather.apply(line, dim, indices)
    if not input.ndim:
        return return_types.topk(values.reshape(()), indices.reshape(()))
    return return_types.topk(values, indices)


@takes_out("same dtype")
@accepts_axis
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> return_types.kthvalue:
    """(values, indices) of the k-th smallest element along `dim`; k counts from 1."""
    if type(keepdim) is not bool:
        check_flags("kthvalue", keepdim=keepdim)
    line, indices, dim = _order("kthvalue", input, dim, False, k)
    check_not_empty("kthvalue", line, (dim,))
    if not 1 <= k <= line.shape[dim]:
        raise RuntimeError(
            f"kthvalue: got k = {k}, expected 1 to {line.shape[dim]}, the length of dim {dim} of "
            f"shape {tuple(input.shape)}"
        )
    indices = contiguous(indices[along(dim, slice(k - 1, k))])
    return return_types.kthvalue(*pick(input, dim, indices, keepdim))


# ------------------------------------------------------------------------------------------
# Sets
# ------------------------------------------------------------------------------------------


class Unique(Op):
    """values, inverse, counts = the distinct x, ascending, each x's place there, their counts;
    no gradient
    """

    differentiable = False

    def forward(self, x: Array, dim: int | None) -> tuple:
        values, inverse, counts = xp(x).unique(
            x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
        )
        return values, inverse.reshape(x.shape if dim is None else -1), counts


class UniqueConsecutive(Op):
    """values, inverse, counts = the first x of each run of equals, the run of each x, run lengths;
    no gradient
    """

    differentiable = False

    def forward(self, x: Array, dim: int) -> tuple:
        library = xp(x)
        length = x.shape[dim]
        rows = library.moveaxis(x, dim, 0).reshape(length, x.size // max(length, 1))
        starts = library.ones(length, dtype=bool)
        starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        inverse = library.cumsum(starts) - 1
        (first,) = library.nonzero(starts)
        counts = library.diff(library.concatenate((first, library.asarray([length]))))
        return x.take(first, axis=dim), inverse, counts


def _chosen(values: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool) -> Any:
    """The values alone, or a tuple with inverse and counts, as requested."""
    results = (values,) + (inverse,) * with_inverse + (counts,) * with_counts
    return results if len(results) > 1 else values


def _dim_of_slices(name: str, input: Any, dim: int) -> int:
    if not input.ndim:
        raise IndexError(f"{name}: got dim {dim} for a 0-d tensor, which has none; leave it out")
    dim = normalize_dim(name, dim, input.ndim)
    if 0 in input.shape and (input.shape[dim] or input.shape.count(0) > 1):
        raise RuntimeError(
            f"{name}: got shape {tuple(input.shape)} and dim {dim}, expected no empty dimension "
            "but that one"
        )
    return dim


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along `dim`), in ascending order; no gradient.

    return_inverse: also the place of each element in the result. return_counts: also how often
    each occurs. `sorted` has no effect: the result is always sorted.
    """
    if (
        type(sorted) is not bool
        or type(return_inverse) is not bool
        or type(return_counts) is not bool
    ):
        check_flags(
            "unique", sorted=sorted, return_inverse=return_inverse, return_counts=return_counts
        )
    refuse_complex("unique", input)
    if dim is not None:
        dim = _dim_of_slices("unique", input, dim)
    values, inverse, counts = Unique.apply(input, dim)
    return _chosen(values, inverse, counts, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements (or slices along `dim`) that differ from the one before; see `unique`."""
    if type(return_inverse) is not bool or type(return_counts) is not bool:
        check_flags(
            "unique_consecutive", return_inverse=return_inverse, return_counts=return_counts
        )
    require_tensor("unique_consecutive", input)
    refuse_complex("unique_consecutive", input)
    if dim is None:
        values, inverse, counts = UniqueConsecutive.apply(input.reshape((-1,)), 0)
        inverse = inverse.reshape(input.shape)
    else:
        dim = _dim_of_slices("unique_consecutive", input, dim)
        values, inverse, counts = UniqueConsecutive.apply(input, dim)
    return _chosen(values, inverse, counts, return_inverse, return_counts)


# ------------------------------------------------------------------------------------------
# Finding values
# ------------------------------------------------------------------------------------------


class Searchsorted(Op):
    """y = how many elements of a sorted sequence come before each value;  no gradient"""

    differentiable = False

    def forward(self, sequence: Array, values: Array, right: bool) -> Array:
        if sequence.ndim == 1:
            return xp(values).searchsorted(sequence, values, side="right" if right else "left")
        # Halve the range of each value's place, which starts as 0 … n. NaN comes last.
        library, size = xp(values), sequence.shape[-1]
        low = library.zeros(values.shape, np.int64)
        high = library.full(values.shape, size, np.int64)
        for _ in range(size.bit_length()):
            middle = (low + high) // 2
            seen = library.take_along_axis(sequence, library.minimum(middle, size - 1), -1)
            after = ~(seen > values if right else seen >= values) & (low < high)
            low, high = library.where(after, middle + 1, low), library.where(after, high, middle)
        return low


@takes_out("same dtype")
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each value of `input` belongs in `sorted_sequence`, which is sorted along its last dim.

    right (or side="right"): after equal elements, not before them. A sequence of several
    dimensions takes an input of the same leading dimensions. sorter: the indices that sort the
    sequence (`argsort`), which itself may then be in any order.
    """
    if type(out_int32) is not bool or type(right) is not bool:
        check_flags("searchsorted", out_int32=out_int32, right=right)
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted: got side {side!r}, expected 'left' or 'right'")
    if side == "left" and right:
        raise RuntimeError("searchsorted: got side='left' and right=True, expected one of them")
    if sorter is not None:
        sorted_sequence = _in_order(sorted_sequence, sorter)
    return _place("searchsorted", sorted_sequence, input, right or side == "right", out_int32)


def _in_order(sequence: Any, sorter: Any) -> Any:
    """sequence[…, sorter], after checking the sorter."""
    x, order = array_of("searchsorted", sequence), array_of("searchsorted", sorter)
    if order.shape != x.shape or order.dtype != np.int64:
        raise RuntimeError(
            f"searchsorted: sorter is {order.dtype} of shape {order.shape}, expected int64 of "
            f"shape {x.shape}, as the sequence"
        )
    if not x.ndim:
        raise RuntimeError("searchsorted: got a 0-d sequence, expected at least one dimension")
    if order.size and not bool(((order >= 0) & (order < x.shape[-1])).all()):
        raise RuntimeError(
            f"searchsorted: sorter has an index out of range for {x.shape[-1]} elements"
        )
    return gather(sequence, -1, sorter)


@takes_out("same dtype")
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bucket that each value falls into; `boundaries` is sorted and 1-d.

    right: a value on a boundary falls into the bucket after it.
    """
    if type(out_int32) is not bool or type(right) is not bool:
        check_flags("bucketize", out_int32=out_int32, right=right)
    check_given("bucketize", boundaries=boundaries)
    if boundaries.ndim != 1:
        raise ShapeError(
            f"bucketize: boundaries has shape {tuple(boundaries.shape)}, expected 1 dimension"
        )
    return _place("bucketize", boundaries, input, right, out_int32)


def _place(name: str, sequence: Any, values: Any, right: bool, out_int32: bool) -> Any:
    refuse_complex(name, sequence, values)
    values = _as_tensor_like(name, values, sequence)
    if not array_of(name, sequence).ndim:
        raise RuntimeError(f"{name}: got a 0-d sequence, expected at least one dimension")
    if sequence.ndim != 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            f"{name}: the sequence has shape {tuple(sequence.shape)} and the input "
            f"{tuple(values.shape)}, expected the same dimensions but for the last"
        )
    places = Searchsorted.apply(sequence, values, right)
    return cast(places, np.dtype(np.int32)) if out_int32 else places


class Isin(Op):
    """y = whether each x is one of the test elements;  no gradient"""

    differentiable = False

    def forward(self, x: Array, test: Array, invert: bool) -> Array:
        return xp(x).isin(x, test, invert=invert)


@takes_out("same dtype")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among `test_elements`; with `invert`, whether it is not."""
    if type(assume_unique) is not bool or type(invert) is not bool:
        check_flags("isin", assume_unique=assume_unique, invert=invert)
    refuse_complex("isin", elements, test_elements)
    like = test_elements if hasattr(test_elements, "shape") else elements
    x, test = (_as_tensor_like("isin", value, like) for value in (elements, test_elements))
    return Isin.apply(x, test, invert)


def _as_tensor_like(name: str, value: Any, like: Any) -> Any:
    """A tensor or array as it is; a Python number as a 0-d one of like's kind and library."""
    if is_array(unwrap(value)):
        return value
    check_numbers(name, input=value)
    return wrap_like(xp(unwrap(like)).asarray(value), like)


__all__ = [
    "argsort", "bucketize", "isin", "kthvalue", "msort", "searchsorted", "sort", "topk", "unique",
    "unique_consecutive",
]  # fmt: skip
