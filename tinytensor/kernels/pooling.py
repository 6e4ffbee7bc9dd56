"""max_pool in one or two dimensions, plane by plane; equations as in ops/pooling.py."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array
from .machinery.compile import parallel
from .machinery.contiguous import contiguous
from .machinery.memory import empty
from .machinery.vector_math import f32

NONE = 255  # no tap


@parallel
def max_pool(start, stop, x, geometry, rows, columns, y, winner):
    """y = the largest element of each window, and the number of its tap; x (M, H, W), y (M, H', W')

    rows, columns: the taps inside of x, for each row and each column of windows; see `_inside`.
    Among equal elements the first one, among NaN the last.
    """
    _, kw, sh, sw, ph, pw, dh, dw = geometry
    for m in range(start, stop):
        for i in range(y.shape[1]):
            for j in range(y.shape[2]):
                best, number = f32(-np.inf), NONE
                for down in range(rows[i, 0], rows[i, 1]):
                    row, tap = np.uint64(i * sh - ph + down * dh), down * kw
                    for right in range(columns[j, 0], columns[j, 1]):
                        v = x[m, row, np.uint64(j * sw - pw + right * dw)]
                        # Branchless, as it is unpredictable.
                        take = (v > best) | (v != v) | (number == NONE)
                        best = v if take else best
                        number = tap + right if take else number
                y[m, i, j] = best
                winner[m, i, j] = number


@parallel
def max_pool_transpose(start, stop, x, winner, geometry, taps, y):
    """y = zeros, with x (M, H', W') added where its window's maximum was taken from; y (M, H, W)

    taps: the place of each tap, counted from the window's first element.
    """
    _, _, sh, sw, ph, pw, _, _ = geometry
    for m in range(start, stop):
        y[m] = 0
        for i in range(x.shape[1]):
            first = np.int64(i * sh - ph) * y.shape[2] - pw
            for j in range(x.shape[2]):
                y[m, 0, np.uint64(first + j * sw + taps[winner[m, i, j]])] += x[m, i, j]


class Geometry(NamedTuple):
    """What kernels need to know about windows."""

    sizes: tuple  # kernel, stride, padding and dilation, each of rows and columns
    rows: Array
    columns: Array
    taps: Array


@functools.lru_cache(maxsize=32)
def _geometry(windows: Any) -> Geometry | None:
    """Return None if the kernels do not support it."""
    size, kernel, stride, padding, dilation, counts = windows
    taps = math.prod(kernel)
    if len(kernel) > 2 or taps > NONE or len(windows.taps()) != taps:
        return None  # the last: a tap that is always outside
    if len(kernel) == 1:  # one dimension: an image of one row
        size, kernel, stride, dilation, counts = (
            (1, *field) for field in (size, kernel, stride, dilation, counts)
        )
        padding = (0, *padding)
    rows, columns = map(_inside, size, kernel, stride, padding, dilation, counts)
    if any((line[:, 0] == line[:, 1]).any() for line in (rows, columns)):
        return None  # a window without an element
    places = [
        down * dilation[0] * size[1] + right * dilation[1]
        for down in range(kernel[0])
        for right in range(kernel[1])
    ]
    return Geometry((*kernel, *stride, *padding, *dilation), rows, columns, np.array(places))


def _inside(size: int, kernel: int, stride: int, padding: int, dilation: int, count: int) -> Array:
    """(count, 2): the taps first … stop of each window that lie inside of the image."""
    starts = np.arange(count) * stride - padding
    first = np.maximum(-(starts // dilation), 0)
    stop = np.clip(-((starts - size) // dilation), 0, kernel)
    return np.stack([np.minimum(first, stop), stop], axis=1)


def _planes(x: Array, dims: int) -> Array:
    """(…, H, W) → (M, H, W); in one dimension (…, W) → (M, 1, W)"""
    size = x.shape[-dims:] if dims == 2 else (1, x.shape[-1])
    return contiguous(x.reshape(-1, *size))


def max_pool_forward(
    op: Any, x: Array, windows: Any, with_positions: bool, known: Any = None
) -> Array:
    geometry = _geometry(windows)
    if geometry is None or with_positions or known is not None:
        return NotImplemented
    op.windows, dims = windows, len(windows.kernel)
    shape = x.shape[:-dims] + windows.counts
    y, op.winner = empty(shape), np.empty(shape, dtype=np.uint8)
    planes = _planes(x, dims)
    max_pool(
        planes.shape[0], planes, geometry.sizes, geometry.rows, geometry.columns,
        _planes(y, dims), _planes(op.winner, dims),
    )  # fmt: skip
    return y


def max_pool_transpose_forward(op: Any, x: Array, winner: Array, windows: Any) -> Array:
    geometry = _geometry(windows)
    if geometry is None or winner.dtype != np.uint8:
        return NotImplemented
    op.winner, op.windows, dims = winner, windows, len(windows.kernel)
    y = empty(x.shape[:-dims] + windows.size)
    planes = _planes(x, dims)
    max_pool_transpose(
        planes.shape[0], planes, _planes(winner, dims), geometry.sizes, geometry.taps,
        _planes(y, dims),
    )  # fmt: skip
    return y
