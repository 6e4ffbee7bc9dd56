"""Convolution in one or two dimensions: a product of the weight with columns, sample by sample.

There is one column per window, with the inputs of that window. The columns are those of one group
of one sample, and stay in the cache.

To build columns fast, an image is first copied with its padding. With stride > 1 it is divided into
stride² planes, one for each offset within a stride, so that neighbouring windows are neighbours in
a plane. The inputs of all windows at one element of the kernel are then one run of numbers, and a
row of the columns is a copy of it. A run continues from one row of windows to the next: after the
`count` windows of a row there is a gap, up to the width of the plane.

Letters as in ops/convolution.py; R: length of a run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array
from .machinery.blas import gemm, share
from .machinery.compile import parallel, part
from .machinery.contiguous import contiguous, flat
from .machinery.few_rows_product import add_product
from .machinery.memory import empty
from .machinery.threads import get_num_threads
from .machinery.vector_math import f32

FEW = 16  # channels per group up to which BLAS does not pay
NO_NUMBERS = np.empty(0, dtype=np.float32)


@part
def span(size, width, stride, shift):
    """(first, stop): the i of 0 … width whose element i·stride + shift lies in 0 … size."""
    first = 0 if shift >= 0 else (-shift + stride - 1) // stride
    stop = (size - 1 - shift) // stride + 1 if shift < size else 0
    return first, max(first, min(width, stop))


@part
def lay_out(x, geometry, planes, back):
    """planes (C, stride², lines·width) ← x (C, H, W), 0 around it; x ← x + planes if `back`."""
    _, _, sh, sw, ph, pw, _, _, _, _, width = geometry
    for c in range(x.shape[0]):
        for place in range(sh * sw):
            plane, up, left = planes[c, place], place // sw - ph, place % sw - pw
            first, stop = span(x.shape[2], width, sw, left)
            start, end = span(x.shape[1], plane.size // width, sh, up)
            if not back:
                plane[:] = 0
            for i in range(start, end):
                line = plane[i * width + first : i * width + stop]
                seen = x[c, i * sh + up, first * sw + left :]
                if back:
                    for j in range(line.size):
                        seen[j * sw] += line[j]
                else:
                    for j in range(line.size):
                        line[j] = seen[j * sw]


@part
def run_of(planes, geometry, row):
    """The inputs of all windows, in order, at one element of the kernel in one channel."""
    kh, kw, sh, sw, _, _, dh, dw, _, _, width = geometry
    down, right = row % (kh * kw) // kw * dh, row % kw * dw
    plane = planes[row // (kh * kw), down % sh * sw + right % sw]
    return plane[down // sh * width + right // sw :]


@part
def unfold(planes, geometry, columns):
    """columns (C·K, R) ← the inputs of the windows; 0 in the gaps, where infinity would matter."""
    for row in range(columns.shape[0]):
        run, column = run_of(planes, geometry, row), columns[row]
        for j in range(column.size):
            column[j] = run[j]
        clear_gaps(column, geometry[9], geometry[10])


@part
def fold(columns, geometry, planes):
    """planes ← planes + columns, each number at the place where `unfold` reads it."""
    for row in range(columns.shape[0]):
        run, column = run_of(planes, geometry, row), columns[row]
        clear_gaps(column, geometry[9], geometry[10])
        for j in range(column.size):
            run[j] += column[j]


@part
def clear_gaps(run, count, width):
    for line in range(0, run.size - count, width):
        for j in range(line + count, line + width):
            run[j] = 0


@part
def narrow(runs, count, width, b, y):
    """y (O, L) ← runs (O, R) without the gaps, + b"""
    for o in range(y.shape[0]):
        shift = b[o] if b.size else f32(0.0)
        for i in range(y.shape[1] // count):
            line, run = y[o, i * count : (i + 1) * count], runs[o, i * width : i * width + count]
            for j in range(line.size):
                line[j] = run[j] + shift


@part
def widen(y, count, width, runs):
    """runs (O, R) ← y (O, L) with zeros in the gaps"""
    runs[:] = 0
    for o in range(y.shape[0]):
        for i in range(y.shape[1] // count):
            line, run = y[o, i * count : (i + 1) * count], runs[o, i * width : i * width + count]
            for j in range(line.size):
                run[j] = line[j]


@parallel
def convolution(start, stop, x, w, b, groups, geometry, y, planes, columns, runs):
    """y[n] = w·columns of x[n] + b; x (N, C, H, W), w (O, C/G·K), y (N, O, L); b may be empty.

    planes, columns (C/G·K, R) and runs (O, R): scratch memory, for each thread.
    """
    count, width, parts = geometry[9], geometry[10], planes.shape[0]
    channels, outputs = x.shape[1] // groups, w.shape[0] // groups
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        for n in range(first, last):
            lay_out(x[n], geometry, planes[i], False)
            for group in range(groups):
                c, o = group * channels, group * outputs
                unfold(planes[i, c : c + channels], geometry, columns[i])
                rows, out = w[o : o + outputs], runs[i, o : o + outputs]
                if outputs > FEW:
                    gemm(rows, False, columns[i], False, out, 1.0, 0.0)
                else:
                    out[:] = 0
                    add_product(rows, columns[i], out)
            narrow(runs[i], count, width, b, y[n])


@parallel
def conv_transpose(start, stop, x, w, b, groups, geometry, y, planes, columns, runs):
    """y[n] = wᵀ·x[n], as columns, folded, + b; x (N, O, L), w (O, C/G·K), y (N, C, H, W)."""
    count, width, parts = geometry[9], geometry[10], planes.shape[0]
    channels, outputs = y.shape[1] // groups, w.shape[0] // groups
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        for n in range(first, last):
            widen(x[n], count, width, runs[i])
            planes[i] = 0
            for group in range(groups):
                c, o = group * channels, group * outputs
                rows, g = w[o : o + outputs], runs[i, o : o + outputs]
                if outputs > FEW:
                    gemm(rows, True, g, False, columns[i], 1.0, 0.0)
                else:
                    columns[i] = 0
                    add_product(rows.T, g, columns[i])
                fold(columns[i], geometry, planes[i, c : c + channels])
            for c in range(y.shape[1]):
                y[n, c] = b[c] if b.size else f32(0.0)
            lay_out(y[n], geometry, planes[i], True)


@parallel
def conv_weight(start, stop, x, y, groups, geometry, w, b, planes, columns, runs):
    """w[i] = Σ y[n]·columnsᵀ of x[n] and b[i] = Σ y[n], over the samples of thread i

    x (N, C, H, W), y (N, O, L), w (T, O, C/G·K), b (T, O).
    """
    count, width, parts = geometry[9], geometry[10], planes.shape[0]
    channels, outputs = x.shape[1] // groups, w.shape[1] // groups
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        w[i] = 0
        b[i] = 0
        for n in range(first, last):
            lay_out(x[n], geometry, planes[i], False)
            widen(y[n], count, width, runs[i])
            add_sums(y[n], b[i])
            for group in range(groups):
                c, o = group * channels, group * outputs
                unfold(planes[i, c : c + channels], geometry, columns[i])
                g, out = runs[i, o : o + outputs], w[i, o : o + outputs]
                if outputs > FEW:
                    gemm(g, False, columns[i], True, out, 1.0, 1.0)
                else:
                    add_dots(g, columns[i], out)


@part
def add_sums(y, b):
    """b ← b + Σ y, along the rows of y"""
    for o in range(y.shape[0]):
        line, total = y[o], f32(0.0)
        for j in range(line.size):
            total += line[j]
        b[o] += total


@part
def add_dots(a, b, c):
    """c ← c + a·bᵀ, for few rows"""
    for i in range(a.shape[0]):
        for k in range(b.shape[0]):
            left, right, total = a[i], b[k], f32(0.0)
            for j in range(left.size):
                total += left[j] * right[j]
            c[i, k] += total


# ------------------------------------------------------------------------------------------
# The ops' forward and backward
# ------------------------------------------------------------------------------------------


def _geometry(windows: Any) -> tuple:
    """kernel, stride, padding, dilation, counts, each of rows and columns; the width of a plane."""
    _, kernel, stride, padding, dilation, counts = windows
    width = counts[-1] + (kernel[-1] - 1) * dilation[-1] // stride[-1]
    if len(kernel) == 1:  # one dimension: an image of one row
        return (1, *kernel, 1, *stride, 0, *padding, 1, *dilation, 1, *counts, width)
    return (*kernel, *stride, *padding, *dilation, *counts, width)


def _room(channels: int, outputs: int, groups: int, geometry: tuple) -> tuple:
    """Uninitialised planes, columns and runs for each thread."""
    kh, kw, sh, sw, _, _, dh, _, rows, count, width = geometry
    threads, lines = get_num_threads(), rows + (kh - 1) * dh // sh
    length = (rows - 1) * width + count  # of a run
    planes = empty((threads, channels, sh * sw, lines * width))
    columns = empty((threads, channels // groups * kh * kw, length))
    return planes, columns, empty((threads, outputs, length))


def _picture(x: Array) -> Array:
    """(N, C, W) → (N, C, 1, W); images unchanged."""
    return contiguous(x if x.ndim == 4 else x[:, :, None])


def _matrices(y: Array) -> Array:
    """(N, O, counts …) → (N, O, L)"""
    return contiguous(y.reshape(*y.shape[:2], math.prod(y.shape[2:])))


def _rows(w: Array) -> Array:
    """(O, C/G, kernel …) → (O, C/G·K)"""
    return contiguous(w.reshape(w.shape[0], math.prod(w.shape[1:])))


def _bias(b: Array | None) -> Array:
    return NO_NUMBERS if b is None else flat(b)


def convolution_forward(
    op: Any, x: Array, w: Array, b: Array | None, windows: Any, groups: int
) -> Array:
    if len(windows.kernel) > 2:
        return NotImplemented
    op.windows, op.groups = windows, groups
    y = empty((x.shape[0], w.shape[0], *windows.counts))
    geometry = _geometry(windows)
    room = _room(x.shape[1], w.shape[0], groups, geometry)
    convolution(
        room[0].shape[0], _picture(x), _rows(w), _bias(b), groups, geometry, _matrices(y), *room
    )
    return y


def convolution_backward(op: Any, g: Array) -> tuple:
    x, w = op.saved
    if len(op.windows.kernel) > 2 or x is None:
        return NotImplemented
    dx = None if w is None else conv_transpose_forward(op, g, w, None, op.windows, op.groups)
    return dx, *_weight_and_bias(x, g, op.windows, op.groups)


def conv_transpose_forward(
    op: Any, x: Array, w: Array, b: Array | None, windows: Any, groups: int
) -> Array:
    if len(windows.kernel) > 2:
        return NotImplemented
    op.windows, op.groups = windows, groups
    y = empty((x.shape[0], w.shape[1] * groups, *windows.size))
    geometry = _geometry(windows)
    room = _room(y.shape[1], w.shape[0], groups, geometry)
    conv_transpose(
        room[0].shape[0], _matrices(x), _rows(w), _bias(b), groups, geometry, _picture(y), *room
    )
    return y


def conv_weight_forward(op: Any, x: Array, y: Array, windows: Any, groups: int) -> Array:
    if len(windows.kernel) > 2:
        return NotImplemented
    op.windows, op.groups = windows, groups
    return _weight_and_bias(x, y, windows, groups)[0]


def _weight_and_bias(x: Array, y: Array, windows: Any, groups: int) -> tuple:
    """The gradients of weight and bias, from the image x and the gradient y of the output."""
    shape = (y.shape[1], x.shape[1] // groups, *windows.kernel)
    threads, geometry = get_num_threads(), _geometry(windows)
    dw = empty((threads, shape[0], math.prod(shape[1:])))
    db = empty((threads, shape[0]))
    room = _room(x.shape[1], shape[0], groups, geometry)
    conv_weight(threads, _picture(x), _matrices(y), groups, geometry, dw, db, *room)
    return dw.sum(axis=0).reshape(shape), db.sum(axis=0)  # (T, O, C/G·K) → (O, C/G, kernel …)
