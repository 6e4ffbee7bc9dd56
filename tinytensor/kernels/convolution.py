"""Convolution in one or two dimensions: products of the weight with the image, sample by sample.

An image with its padding is laid out so that the inputs of all windows at one element of the kernel
are one run of numbers (convolution_layout.py). So the columns, which ops/convolution.py builds from
the image, are there already: row (c, k) is the run that begins at element k in channel c.
The products read it by a table of these places (machinery/table_product.py):

    y   w (O, C/G·K) times the runs (C/G·K, R)
    dx  wᵀ times the runs of g, for each plane with the elements of the kernel that fall into it
    dw  the runs without their gaps (C/G·K, L) times gᵀ (L, O): its transpose

Letters as in ops/convolution.py; R: length of a run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array
from .convolution_layout import (
    area,
    collect,
    lay_out,
    narrow,
    places_of,
    run_pitch,
    widen,
    windows_of,
)
from .convolution_windows import better_backward, better_forward, convolve_by_rows, covers
from .machinery.blas import share
from .machinery.compile import parallel, part
from .machinery.contiguous import contiguous, flat
from .machinery.memory import copy, empty
from .machinery.table_product import address, numbers, product, table, transposed
from .machinery.threads import get_num_threads
from .machinery.tile import COLUMNS
from .machinery.vector_math import f32

FEW = 4  # outputs in a group, up to which a product is a number of long sums
TOGETHER = 256  # windows: smaller images are summed several at a time
NO_NUMBERS = np.empty(0, dtype=np.float32)


@parallel
def convolution(start, stop, x, w, b, groups, geometry, w_rows, w_steps, taps, y, planes, runs):
    """y[n] = w·columns of x[n] + b; x (N, C, H, W), w (O, C/G·K), y (N, O, L); b may be empty.

    planes and runs: scratch memory, for each thread.
    """
    sh, sw, _, _, _, rows, count, width, pitch = geometry
    channels, outputs = x.shape[1] // groups, w.shape[0] // groups
    depth, length = w.shape[1], (rows - 1) * width + count
    for i in range(start, stop):
        first, last = share(x.shape[0], planes.shape[0], i)
        planes[i] = 0
        image, sums = address(planes, i * planes.shape[1]), address(runs, i * runs.shape[1])
        for n in range(first, last):
            lay_out(x, n, geometry, image)
            for group in range(groups):
                product(
                    outputs, length, depth,
                    address(w, group * outputs * depth), table(w_rows), table(w_steps),
                    image + 4 * group * channels * sh * sw * pitch, table(taps), f32(0.0),
                    sums + 4 * group * outputs * run_pitch(geometry), run_pitch(geometry),
                )  # fmt: skip
            narrow(sums, n, geometry, b, y)


@parallel
def conv_transpose(
    start, stop, x, w, b, groups, geometry, margin, w_rows, w_steps, x_steps, ends, y, planes, runs
):
    """y[n] = wᵀ·x[n] + b, each window where it lies; x (N, O, L), w (O, C/G·K), y (N, C, H, W).

    Element r of a plane is Σ w·run[r − tap], over the taps that fall into this plane. The runs have
    a margin of zeros at both ends.
    """
    sh, sw, _, _, _, _, _, width, pitch = geometry
    channels, outputs = y.shape[1] // groups, w.shape[0] // groups
    length = runs.shape[1] // w.shape[0]
    for i in range(start, stop):
        first, last = share(x.shape[0], planes.shape[0], i)
        runs[i] = 0
        image, inputs = address(planes, i * planes.shape[1]), address(runs, i * runs.shape[1])
        for n in range(first, last):
            widen(x, n, geometry, inputs + 4 * margin, length)
            for c in range(y.shape[1]):
                y[n, c] = b[c] if b.size else f32(0.0)
            for place in range(sh * sw):
                begin, depth = ends[place], ends[place + 1] - ends[place]
                top, bottom, left, right, _, _ = area(y, geometry, place)
                if depth == 0 or top >= bottom or left >= right:
                    continue
                origin = top * width + left
                for group in range(groups):
                    product(
                        channels, (bottom - 1) * width + right - origin, depth,
                        address(w, group * outputs * w.shape[1]), table(w_rows),
                        table(w_steps) + 8 * begin,
                        inputs + 4 * (group * outputs * length + origin),
                        table(x_steps) + 8 * begin, f32(0.0),
                        image + 4 * ((group * channels * sh * sw + place) * pitch + origin),
                        sh * sw * pitch,
                    )  # fmt: skip
                collect(image, n, geometry, place, b, y)


@parallel
def conv_weight(start, stop, x, y, groups, geometry, taps, x_steps, y_steps, w, b, planes, turned):
    """w[i] = Σ columns of x[n]·y[n]ᵀ and b[i] = Σ y[n], over the samples of thread i

    x (N, C, H, W), y (N, O, L), w (T, G, C/G·K, O/G rounded up), b (T, O). planes are those of
    several samples, whose windows are summed together.
    """
    sh, sw, _, _, _, rows, count, width, pitch = geometry
    parts, room, length = w.shape[0], w.shape[3], y.shape[2]
    outputs, some = y.shape[1] // groups, x_steps.size // length
    distance = x.shape[1] // groups * sh * sw * pitch  # between the planes of two groups
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        planes[i] = 0
        turned[i] = 0
        w[i] = 0
        b[i] = 0
        images, right = address(planes, i * planes.shape[1]), address(turned, i * turned.shape[1])
        for begin in range(first, last, some):
            together = min(some, last - begin)
            for n in range(begin, begin + together):
                lay_out(x, n, geometry, images + 4 * (n - begin) * groups * distance)
                add_sums(y, n, i, b)
            if outputs <= FEW:
                for n in range(begin, begin + together):
                    image = images + 4 * (n - begin) * groups * distance
                    widen(y, n, geometry, right, run_pitch(geometry))
                    run = (rows - 1) * width + count
                    add_dots(right, run_pitch(geometry), run, image, distance, taps, outputs, i, w)
                continue
            for group in range(groups):
                for o in range(0, outputs, COLUMNS):
                    columns, row = min(COLUMNS, outputs - o), group * outputs + o
                    for n in range(together):
                        source = address(y, ((begin + n) * y.shape[1] + row) * length)
                        target = right + 4 * n * length * COLUMNS
                        transposed(columns, length, source, target, COLUMNS)
                    product(
                        w.shape[2], columns, together * length,
                        images + 4 * group * distance, table(taps),
                        table(x_steps), right, table(y_steps), f32(1.0),
                        address(w, ((i * groups + group) * w.shape[2]) * room + o), room,
                    )  # fmt: skip


@part
def add_dots(runs, pitch, length, image, distance, taps, outputs, i, w):
    """w[i] ← w[i] + columns·runsᵀ, for few outputs in each group: one long sum for each number

    runs (O, pitch), of which `length` numbers count; distance: between the planes of two groups.
    """
    for group in range(w.shape[1]):
        for o in range(outputs):
            y = numbers(runs + 4 * (group * outputs + o) * pitch, length)
            for k in range(taps.size):
                x, total = numbers(image + 4 * (group * distance + taps[k]), length), f32(0.0)
                for j in range(y.size):
                    total += x[j] * y[j]
                w[i, group, k, o] += total


@part
def add_sums(y, n, i, b):
    """b[i] ← b[i] + Σ y[n], along the rows of y[n]"""
    for o in range(y.shape[1]):
        line = numbers(address(y, (n * y.shape[1] + o) * y.shape[2]), y.shape[2])
        total = f32(0.0)
        for j in range(line.size):
            total += line[j]
        b[i, o] += total


@parallel
def sum_of_parts(start, stop, parts, w):
    """w (G, O, K) ← Σ parts (T, G, K, …), transposed, for some rows of w at a time"""
    for block in range(start, stop):
        first = block * COLUMNS
        for group in range(w.shape[0]):
            for k in range(w.shape[2]):
                for o in range(first, min(w.shape[1], first + COLUMNS)):
                    total = parts[0, group, k, o]
                    for i in range(1, parts.shape[0]):
                        total += parts[i, group, k, o]
                    w[group, o, k] = total


# ------------------------------------------------------------------------------------------
# The ops' forward and backward
# ------------------------------------------------------------------------------------------


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
    if len(windows.kernel) > 2 or not w.size:
        return NotImplemented
    op.windows, op.groups = windows, groups
    y, rows, threads = empty((x.shape[0], w.shape[0], *windows.counts)), _rows(w), get_num_threads()
    outputs = w.shape[0] // groups
    if better_forward(windows, w.shape[1], outputs, x.shape[0]):
        convolve_by_rows(_picture(x), contiguous(w), _bias(b), _picture(y), windows, groups, False)
        return y
    places = places_of(windows, w.shape[1], outputs)
    depth = rows.shape[1]
    convolution(
        threads, _picture(x), rows, _bias(b), groups, places.geometry,
        np.arange(w.shape[0] // groups) * depth, np.arange(depth), places.taps, _matrices(y),
        empty((threads, x.shape[1] * places.planes)), empty((threads, w.shape[0] * places.runs)),
    )  # fmt: skip
    return y


def convolution_backward(op: Any, g: Array) -> tuple:
    x, w = op.saved
    if len(op.windows.kernel) > 2 or x is None:
        return NotImplemented
    dx = None if w is None else conv_transpose_forward(op, g, w, None, op.windows, op.groups)
    dw, db = _weight_and_bias(x, g, op.windows, op.groups)
    if dx is NotImplemented or dw is NotImplemented:
        return NotImplemented
    return dx, dw, db


def conv_transpose_forward(
    op: Any, x: Array, w: Array, b: Array | None, windows: Any, groups: int
) -> Array:
    if len(windows.kernel) > 2 or not math.isfinite(w.sum()):
        return NotImplemented  # an infinite weight times the margin of a run would be NaN
    op.windows, op.groups = windows, groups
    return _transposed(x, w, b, windows, groups)


def _transposed(x: Array, w: Array, b: Array | None, windows: Any, groups: int) -> Array:
    """The transposed convolution of x (N, O, counts …): (N, C, size …)."""
    if covers(windows, 0):
        return _with_lines_as_channels(x, w, b, windows, groups)
    if covers(windows, -1):
        x, w = (copy(array.swapaxes(2, 3)) for array in (x, w))
        windows = type(windows)(*(dimensions[::-1] for dimensions in windows))
        return copy(_with_lines_as_channels(x, w, b, windows, groups).swapaxes(2, 3))
    y, threads = empty((x.shape[0], w.shape[1] * groups, *windows.size)), get_num_threads()
    outputs = w.shape[0] // groups
    if better_backward(windows, w.shape[1], outputs, x.shape[0]):
        convolve_by_rows(_picture(x), contiguous(w), _bias(b), _picture(y), windows, groups, True)
        return y
    places = places_of(windows, w.shape[1], outputs)
    length = places.margin + places.geometry[-1]
    conv_transpose(
        threads, _matrices(x), _rows(w), _bias(b), groups, places.geometry, places.margin,
        np.arange(w.shape[1]) * math.prod(windows.kernel), *places.by_plane, _picture(y),
        empty((threads, y.shape[1] * places.planes)), empty((threads, w.shape[0] * length)),
    )  # fmt: skip
    return y


def _with_lines_as_channels(
    x: Array, w: Array, b: Array | None, windows: Any, groups: int
) -> Array:
    """`_transposed` for windows as high as y: each line of y is a channel of its own.

    x (N, O, 1, count), w (O, C/G, kH, kW) → (O, C/G·kH, kW), y (N, C·kH, W) → (N, C, H, W). In one
    dimension, each element of y is a channel.
    """
    height, one = windows.kernel[0], ((1,), (1,), (1,), (0,), (1,), (1,))
    rest = one if len(windows.kernel) == 1 else (dimensions[1:] for dimensions in windows)
    inner = type(windows)(*rest)
    x = x.reshape(*x.shape[:2], *inner.counts)
    w = w.reshape(w.shape[0], w.shape[1] * height, *inner.kernel)
    y = _transposed(x, w, None if b is None else np.repeat(b, height), inner, groups)
    return y.reshape(y.shape[0], y.shape[1] // height, *windows.size)


def conv_weight_forward(op: Any, x: Array, y: Array, windows: Any, groups: int) -> Array:
    if len(windows.kernel) > 2:
        return NotImplemented
    op.windows, op.groups = windows, groups
    return _weight_and_bias(x, y, windows, groups)[0]


def _weight_and_bias(x: Array, y: Array, windows: Any, groups: int) -> tuple:
    """The gradients of weight and bias, from the image x and the gradient y of the output."""
    (samples, outputs), channels = y.shape[:2], x.shape[1] // groups
    threads, count = get_num_threads(), math.prod(windows.counts)
    places = places_of(windows, channels, outputs // groups)
    few = outputs // groups <= FEW
    some = max(1, min(-(-samples // threads), TOGETHER // count))
    steps = np.add.outer(
        np.arange(some) * (x.shape[1] * places.planes), windows_of(places.geometry)
    ).reshape(-1)
    depth, room = places.taps.size, -(-outputs // groups // COLUMNS) * COLUMNS
    parts, db = empty((threads, groups, depth, room)), np.empty((threads, outputs))
    conv_weight(
        threads, _picture(x), _matrices(y), groups, places.geometry, places.taps, steps,
        np.arange(some * count) * COLUMNS, parts, db,
        empty((threads, some * x.shape[1] * places.planes)),
        empty((threads, outputs * places.runs if few else some * count * COLUMNS)),
    )  # fmt: skip
    dw = empty((groups, outputs // groups, depth))
    sum_of_parts(room // COLUMNS, parts, dw)
    if few and not math.isfinite(dw.sum()):
        return NotImplemented, None  # an infinite number of x times the gap of a run is NaN
    return dw.reshape(outputs, channels, *windows.kernel), db.sum(axis=0).astype(np.float32)
