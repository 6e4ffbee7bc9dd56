"""Windows that slide over an image: shared by convolution, pooling and unfold.

An image here is whatever has its positions in the last dimensions: a line (…, L), a picture
(…, H, W), a volume (…, D, H, W).
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import ShapeError

ALL = slice(None)
Sizes = int | Sequence[int]  # one for every dimension of the image, or one for each


class Windows(NamedTuple):
    """Where windows lie over an image, for each of its dimensions, as in (H, W).

    Element k of window i is at i·stride + k·dilation − padding. What falls outside of the image,
    before 0 or from `size` on, is padding.
    """

    size: tuple[int, ...]  # of the image
    kernel: tuple[int, ...]  # how many elements a window has
    stride: tuple[int, ...]
    padding: tuple[int, ...]  # before the image; after it, as much as the windows reach out
    dilation: tuple[int, ...]
    counts: tuple[int, ...]  # how many windows there are

    def taps(self) -> tuple[tuple[tuple, tuple, tuple], ...]:
        """(k, inside, places) for each element k of the kernel, as in (row, column).

        inside: index of the windows whose element k lies inside of the image, [..., rows, columns]
        places: index of these elements in the image, [..., rows, columns]
        """
        return _taps(self)


@functools.lru_cache(maxsize=256)
def _taps(windows: Windows) -> tuple:
    lines = [tuple(_line(*dimension)) for dimension in zip(*windows, strict=True)]
    taps = []
    for tap in itertools.product(*lines):  # ((k, inside, places) of rows, the same of columns)
        k, inside, places = zip(*tap, strict=True)
        taps.append((k, (..., *inside), (..., *places)))
    return tuple(taps)


def _line(
    size: int, kernel: int, stride: int, padding: int, dilation: int, count: int
) -> Iterator[tuple[int, slice, slice]]:
    """taps() along one dimension."""
    for k in range(kernel):
        shift = k * dilation - padding  # window i's element is at i·stride + shift
        first = max(0, -(shift // stride))  # the lowest i with i·stride + shift ≥ 0
        last = min(count - 1, (size - 1 - shift) // stride)  # the highest one inside
        if first <= last:
            start, end = first * stride + shift, last * stride + shift
            yield k, slice(first, last + 1), slice(start, end + 1, stride)


def sliding(
    size: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple,
    ceil_mode: bool = False,
) -> Windows:  # fmt: skip
    """The windows that fit over an image with padding at both ends; their count may be below 1."""
    dimensions = zip(size, kernel, stride, padding, dilation, strict=True)
    counts = tuple(_count(*dimension, ceil_mode) for dimension in dimensions)
    return Windows(size, kernel, stride, padding, dilation, counts)


def _count(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """How many windows there are along one dimension.

    ceil_mode: also a last one that reaches out of the padded image, if it starts inside of the
    image or the padding before it.
    """
    rest = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return rest // stride + 1
    count = -(-rest // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


def sizes(name: str, what: str, value: Any, dims: int, least: int = 1) -> tuple[int, ...]:
    """An argument such as stride, given as one int or one for each dimension, as a tuple."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    try:
        found = tuple(operator.index(n) for n in given)
    except TypeError:
        raise TypeError(f"{name}: got {what} {value!r}, expected one int or {dims} ints") from None
    if len(found) == 1:
        found *= dims
    if len(found) != dims:
        raise ShapeError(f"{name}: got {what} {tuple(value)}, expected one int or {dims} ints")
    if min(found) < least:
        raise RuntimeError(f"{name}: got {what} {value}, expected at least {least}")
    return found


__all__: list[str] = []
