"""Pooling to a given size of output: window i of n over L elements is ⌊i·L/n⌋ … ⌈(i + 1)·L/n⌉."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.variable import unwrap
from ..backend import xp
from ..errors import ShapeError
from .autocast import in_float32
from .gather import gather
from .join import cat
from .minmax import max
from .partial_views import narrow
from .promote import cast, require_float
from .reduce import mean
from .windows import Sizes

if TYPE_CHECKING:
    from ..tensor import Tensor


def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """`adaptive_avg_pool2d` over lines: (N, C, L) → (N, C, output_size)."""
    return _average("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of each of H' × W' windows that cover the input, of nearly equal sizes.

    output_size: (H', W') or one int for both; None for the input's own. (N, C, H, W) or (C, H, W)
    gives (N, C, H', W').
    """
    return _average("adaptive_avg_pool2d", 2, input, output_size)


@in_float32
def adaptive_avg_pool3d(input: Tensor, output_size: Sizes) -> Tensor:
    """`adaptive_avg_pool2d` over volumes: (N, C, D, H, W) → (N, C, D', H', W')."""
    return _average("adaptive_avg_pool3d", 3, input, output_size)


def _average(name: str, dims: int, input: Any, output_size: Any) -> Any:
    require_float(name, input, NotImplementedError)
    counts = _output_size(name, dims, input, output_size)
    if set(counts) != {1}:  # the mean of everything may be one of no elements, 0/0
        _check_not_empty(name, input, 1 if dims == 3 else input.ndim - dims)
    y = _means(dims, input, counts)
    array = unwrap(y)
    if not xp(array).isfinite(array).all():  # the sum may overflow where the mean does not
        y = cast(_means(dims, cast(input, np.dtype(np.float64)), counts), array.dtype)
    return y


def _means(dims: int, input: Any, counts: tuple[int, ...]) -> Any:
    """The mean of each window."""
    lead, size = tuple(input.shape[:-dims]), tuple(input.shape[-dims:])
    if all(n and not length % n for length, n in zip(size, counts, strict=True)):
        # Windows of one size, side by side: (…, H, W) → (…, H', h, W', w), the mean over h and w
        parts = [part for n, c in zip(size, counts, strict=True) for part in (c, n // c)]
        return mean(input.reshape((*lead, *parts)), tuple(range(1 - 2 * dims, 0, 2)))
    for dim, (length, n) in enumerate(zip(size, counts, strict=True), len(lead)):
        windows = [narrow(input, dim, start, end - start) for start, end in _windows(length, n)]
        means = [mean(window, dim, keepdim=True) for window in windows]
        input = cat(means, dim) if means else narrow(input, dim, 0, 0)
    return input


def adaptive_max_pool1d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` over lines: (N, C, L) → (N, C, output_size)."""
    return _largest("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest element of each of H' × W' windows that cover the input.

    output_size: as in `adaptive_avg_pool2d`. return_indices: also where each maximum is, as a
    number that counts the elements of (H, W).
    """
    return _largest("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` over volumes: (N, C, D, H, W) → (N, C, D', H', W')."""
    return _largest("adaptive_max_pool3d", 3, input, output_size, return_indices)


def _largest(name: str, dims: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    require_float(name, input, NotImplementedError)
    counts = _output_size(name, dims, input, output_size)
    _check_not_empty(name, input, 1)
    values, places, step = input, None, 1
    # Along the last dimension, then the one before: the first row with the maximum stays, and in
    # it the first column.
    for n, dim in zip(reversed(counts), range(input.ndim - 1, -1, -1), strict=False):
        length = input.shape[dim]
        best, where = [], []
        for start, end in _windows(length, n):
            value, index = max(narrow(values, dim, start, end - start), dim, keepdim=True)
            best.append(value)
            where.append(index + start)
        if best:
            values, index = cat(best, dim), cat(where, dim)
        else:  # an output size of 0
            values, index = narrow(values, dim, 0, 0), narrow(values.long(), dim, 0, 0)
        places = index if places is None else gather(places, dim, index) + index * step
        step *= length
    return (values, places) if return_indices else values


def _windows(length: int, count: int) -> list[tuple[int, int]]:
    """(start, end) of each window along a dimension; some overlap unless count divides length."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _output_size(name: str, dims: int, input: Any, output_size: Any) -> tuple[int, ...]:
    shape = tuple(input.shape)
    if len(shape) not in (dims + 1, dims + 2):
        raise ShapeError(
            f"{name}: got input of shape {shape}, expected {dims + 2} dimensions, or {dims + 1} "
            "without the batch"
        )
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    if output_size is None or (dims == 1 and None in given):
        raise TypeError(f"{name}: got output_size {output_size}, expected an int or {dims}")
    if len(given) != dims:
        raise RuntimeError(f"{name}: got output_size {given}, expected one int or {dims}")
    own = input.shape[-dims:]
    counts = tuple(n if m is None else operator.index(m) for m, n in zip(given, own, strict=True))
    if min(counts) < 0:
        raise RuntimeError(f"{name}: got output_size {given}, expected sizes of at least 0")
    return counts


def _check_not_empty(name: str, input: Any, first: int) -> None:
    """Refuse an input without elements along one of its dimensions from `first` on."""
    if 0 in input.shape[first:]:
        raise ShapeError(
            f"{name}: got input of shape {tuple(input.shape)}, expected no empty dimension after "
            "the batch"
        )


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]
