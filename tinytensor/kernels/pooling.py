"""max_pool in one or two dimensions, plane by plane; equations as in ops/pooling.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array
from .convolution import span
from .machinery.compile import parallel, part
from .machinery.contiguous import contiguous
from .machinery.memory import empty

NONE = 255  # no tap


@parallel
def max_pool(start, stop, x, geometry, y, winner):
    """y = the largest element of each window, and the number of its tap; x (M, H, W), y (M, H', W')

    Among equal elements the first one, among NaN the last.
    """
    kh, kw, sh, sw, ph, pw, dh, dw = geometry
    for m in range(start, stop):
        y[m] = -np.inf
        winner[m] = NONE
        for i in range(y.shape[1]):
            for tap in range(kh * kw):
                row, left = i * sh - ph + tap // kw * dh, tap % kw * dw - pw
                if 0 <= row < x.shape[1]:
                    first, stop = span(x.shape[2], y.shape[2], sw, left)
                    seen = x[m, row, first * sw + left :]
                    keep_larger(seen, sw, tap, y[m, i, first:stop], winner[m, i, first:stop])


@part
def keep_larger(x, stride, tap, best, winner):
    """best ← x where that is larger, and winner ← tap there; branchless, as it is unpredictable."""
    for j in range(best.size):
        v = x[j * stride]
        take = (v > best[j]) | (v != v) | (winner[j] == NONE)
        best[j] = v if take else best[j]
        winner[j] = tap if take else winner[j]


@parallel
def max_pool_transpose(start, stop, x, winner, geometry, y):
    """y = zeros, with x (M, H', W') added where its window's maximum was taken from; y (M, H, W)"""
    _, kw, sh, sw, ph, pw, dh, dw = geometry
    for m in range(start, stop):
        y[m] = 0
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                tap = winner[m, i, j]
                row = i * sh - ph + tap // kw * dh
                y[m, row, j * sw - pw + tap % kw * dw] += x[m, i, j]


def _geometry(windows: Any) -> tuple | None:
    """kernel, stride, padding and dilation, each of rows and columns; None if not supported."""
    _, kernel, stride, padding, dilation, _ = windows
    taps = math.prod(kernel)
    if (
        len(kernel) > 2 or taps > NONE or len(windows.taps()) != taps
    ):  # a tap that is always outside
        return None
    if len(kernel) == 1:  # one dimension: an image of one row
        return (1, *kernel, 1, *stride, 0, *padding, 1, *dilation)
    return (*kernel, *stride, *padding, *dilation)


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
    max_pool(planes.shape[0], planes, geometry, _planes(y, dims), _planes(op.winner, dims))
    return y


def max_pool_transpose_forward(op: Any, x: Array, winner: Array, windows: Any) -> Array:
    geometry = _geometry(windows)
    if geometry is None or winner.dtype != np.uint8:
        return NotImplemented
    op.winner, op.windows, dims = winner, windows, len(windows.kernel)
    y = empty(x.shape[:-dims] + windows.size)
    planes = _planes(x, dims)
    max_pool_transpose(planes.shape[0], planes, _planes(winner, dims), geometry, _planes(y, dims))
    return y
