"""Convolution in one or two dimensions: products of the weight with the image, sample by sample.

An image is first copied with its padding. With stride > 1 it is divided into stride² planes, one
for each offset within a stride, so that neighbouring windows are neighbours in a plane. The inputs
of all windows at one element of the kernel are then one run of numbers. A run continues from one
row of windows to the next: after the `count` windows of a row there is a gap, up to the width of
the plane.

So the columns of the image, which ops/convolution.py builds, are already there: row (c, k) is the
run that begins at the place of element k in channel c. The products read it by a table of these
places (machinery/table_product.py):

    output           each row of the weight, with the runs
    image's gradient each plane by itself: its row of the transposed weight, with the runs of g
    weight's gradient the runs, with g transposed: (C/G·K, L) times (L, O)

Letters as in ops/convolution.py; R: length of a run.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array
from .machinery.blas import share
from .machinery.compile import parallel, part
from .machinery.contiguous import contiguous, flat
from .machinery.memory import empty
from .machinery.table_product import address, numbers, product, table, transposed
from .machinery.threads import get_num_threads
from .machinery.tile import COLUMNS
from .machinery.vector_math import f32

TOGETHER = 256  # windows: smaller images are summed several at a time
NO_NUMBERS = np.empty(0, dtype=np.float32)


@part
def span(size, width, stride, shift):
    """(first, stop): the i of 0 … width whose element i·stride + shift lies in 0 … size."""
    first = 0 if shift >= 0 else (-shift + stride - 1) // stride
    stop = (size - 1 - shift) // stride + 1 if shift < size else 0
    return first, max(first, min(width, stop))


@part
def area(x, geometry, place):
    """(start, end, first, stop): the lines and positions of a plane that are x (…, H, W).

    Position j of line i is the element (i·stride + up, j·stride + left), also returned.
    """
    sh, sw, ph, pw, lines, _, _, width, _ = geometry
    up, left = place // sw - ph, place % sw - pw
    start, end = span(x.shape[2], lines, sh, up)
    first, stop = span(x.shape[3], width, sw, left)
    return start, end, first, stop, up, left


@part
def lay_out(x, n, geometry, planes):
    """planes (C, stride², pitch) ← x[n] (C, H, W); the padding, which is 0, is not written."""
    sh, sw, _, _, _, _, _, width, pitch = geometry
    for place in range(sh * sw):
        start, end, first, stop, up, left = area(x, geometry, place)
        for c in range(x.shape[1]):
            plane = planes + 4 * ((c * sh * sw + place) * pitch + first)
            source = ((n * x.shape[1] + c) * x.shape[2] + up) * x.shape[3] + first * sw + left
            for i in range(start, end):
                line = numbers(plane + 4 * i * width, stop - first)
                seen = numbers(address(x, source + i * sh * x.shape[3]), (stop - first) * sw)
                if sw == 1:
                    for j in range(line.size):
                        line[j] = seen[j]
                else:
                    for j in range(line.size):
                        line[j] = seen[j * sw]


@part
def collect(planes, n, geometry, place, b, y):
    """y[n] (C, H, W) ← the numbers of one plane of each channel, + b; as `lay_out`, backwards."""
    sh, sw, _, _, _, _, _, width, pitch = geometry
    start, end, first, stop, up, left = area(y, geometry, place)
    for c in range(y.shape[1]):
        shift = b[c] if b.size else f32(0.0)
        plane = planes + 4 * ((c * sh * sw + place) * pitch + first)
        target = ((n * y.shape[1] + c) * y.shape[2] + up) * y.shape[3] + first * sw + left
        for i in range(start, end):
            line = numbers(plane + 4 * i * width, stop - first)
            out = numbers(address(y, target + i * sh * y.shape[3]), (stop - first) * sw)
            if sw == 1:
                for j in range(line.size):
                    out[j] = line[j] + shift
            else:
                for j in range(line.size):
                    out[j * sw] = line[j] + shift


@part
def narrow(runs, n, geometry, b, y):
    """y[n] (O, L) ← runs (O, R) without the gaps, + b"""
    _, _, _, _, _, rows, count, width, _ = geometry
    pitch = run_pitch(geometry)
    for o in range(y.shape[1]):
        shift = b[o] if b.size else f32(0.0)
        for i in range(rows):
            run = numbers(runs + 4 * (o * pitch + i * width), count)
            line = numbers(address(y, (n * y.shape[1] + o) * y.shape[2] + i * count), count)
            for j in range(line.size):
                line[j] = run[j] + shift


@part
def widen(y, n, geometry, runs, pitch):
    """runs (O, pitch) ← y[n] (O, L); the gaps, which are 0, are not written."""
    _, _, _, _, _, rows, count, width, _ = geometry
    for o in range(y.shape[1]):
        for i in range(rows):
            run = numbers(runs + 4 * (o * pitch + i * width), count)
            line = numbers(address(y, (n * y.shape[1] + o) * y.shape[2] + i * count), count)
            for j in range(line.size):
                run[j] = line[j]


@part
def run_pitch(geometry):
    """Distance between runs: R, rounded up to whole tiles."""
    return ((geometry[5] - 1) * geometry[7] + geometry[6] + COLUMNS - 1) // COLUMNS * COLUMNS


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
    sh, sw, _, _, _, _, _, _, pitch = geometry
    parts, room, length = w.shape[0], w.shape[3], y.shape[2]
    channels, outputs = x.shape[1] // groups, y.shape[1] // groups
    some, image_size = x_steps.size // length, x.shape[1] * sh * sw * pitch
    for i in range(start, stop):
        first, last = share(x.shape[0], parts, i)
        planes[i] = 0
        w[i] = 0
        b[i] = 0
        images, right = address(planes, i * planes.shape[1]), address(turned, i * turned.shape[1])
        for begin in range(first, last, some):
            together = min(some, last - begin)
            for n in range(begin, begin + together):
                lay_out(x, n, geometry, images + 4 * (n - begin) * image_size)
                add_sums(y, n, i, b)
            for group in range(groups):
                for o in range(0, outputs, COLUMNS):
                    columns, row = min(COLUMNS, outputs - o), group * outputs + o
                    for n in range(together):
                        source = address(y, ((begin + n) * y.shape[1] + row) * length)
                        target = right + 4 * n * length * COLUMNS
                        transposed(columns, length, source, target, COLUMNS)
                    product(
                        w.shape[2], columns, together * length,
                        images + 4 * group * channels * sh * sw * pitch, table(taps),
                        table(x_steps), right, table(y_steps), f32(1.0),
                        address(w, ((i * groups + group) * w.shape[2]) * room + o), room,
                    )  # fmt: skip


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
# Where numbers are
# ------------------------------------------------------------------------------------------


class Places(NamedTuple):
    """Tables for a convolution of one group: in planes, in runs, and in the weight."""

    geometry: tuple
    planes: int  # numbers in the planes of a channel
    runs: int  # numbers in a run, rounded up to whole tiles
    margin: int  # the last tap; a run is that much shorter than a plane
    taps: Array  # (C/G·K): where the run of each row of the columns begins
    windows: Array  # (L): where each window is in a run
    by_plane: tuple  # for ConvTranspose: (w_steps, x_steps, ends), the taps of each plane


@functools.lru_cache(maxsize=256)
def places_of(windows: Any, channels: int, outputs: int) -> Places:
    """The tables for C/G channels and O/G outputs."""
    _, kernel, stride, padding, dilation, counts = (
        (0, *field) if len(field) == 1 and number == 3 else (1, *field) if len(field) == 1 else field
        for number, field in enumerate(windows)
    )  # one dimension: an image of one row
    (kh, kw), (sh, sw), (dh, dw), (rows, count) = kernel, stride, dilation, counts
    width = count + (kw - 1) * dw // sw
    lines = rows + (kh - 1) * dh // sh
    pitch = lines * width + COLUMNS
    geometry = (sh, sw, *padding, lines, rows, count, width, pitch)

    down, right = np.divmod(np.arange(kh * kw), kw) * np.array([[dh], [dw]])
    plane, place = down % sh * sw + right % sw, down // sh * width + right // sw  # of each tap
    taps = np.add.outer(np.arange(channels) * (sh * sw * pitch), plane * pitch + place)
    margin = lines * width - (rows - 1) * width - count
    length = margin + lines * width + COLUMNS  # of a run with its margins
    steps = []
    for number in range(sh * sw):
        (mine,) = np.nonzero(plane == number)
        w_steps = np.add.outer(np.arange(outputs) * (channels * kh * kw), mine)
        x_steps = np.add.outer(np.arange(outputs) * length, margin - place[mine])
        steps.append((w_steps.reshape(-1), x_steps.reshape(-1)))
    ends = np.cumsum([0] + [w_steps.size for w_steps, _ in steps])
    w_steps, x_steps = (np.concatenate(part) for part in zip(*steps, strict=True))
    return Places(
        geometry,
        sh * sw * pitch,
        -(-((rows - 1) * width + count) // COLUMNS) * COLUMNS,
        margin,
        taps.reshape(-1),
        np.add.outer(np.arange(rows) * width, np.arange(count)).reshape(-1),
        (w_steps, x_steps, ends),
    )


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
    places = places_of(windows, w.shape[1], w.shape[0] // groups)
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
    if dx is NotImplemented:
        return dx
    return dx, *_weight_and_bias(x, g, op.windows, op.groups)


def conv_transpose_forward(
    op: Any, x: Array, w: Array, b: Array | None, windows: Any, groups: int
) -> Array:
    if len(windows.kernel) > 2 or not math.isfinite(w.sum()):
        return NotImplemented  # an infinite weight times the margin of a run would be NaN
    op.windows, op.groups = windows, groups
    y, threads = empty((x.shape[0], w.shape[1] * groups, *windows.size)), get_num_threads()
    places = places_of(windows, w.shape[1], w.shape[0] // groups)
    length = places.margin + places.geometry[-1]
    conv_transpose(
        threads, _matrices(x), _rows(w), _bias(b), groups, places.geometry, places.margin,
        np.arange(w.shape[1]) * math.prod(windows.kernel), *places.by_plane, _picture(y),
        empty((threads, y.shape[1] * places.planes)), empty((threads, w.shape[0] * length)),
    )  # fmt: skip
    return y


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
    some = max(1, min(-(-samples // threads), TOGETHER // count))
    steps = np.add.outer(np.arange(some) * (x.shape[1] * places.planes), places.windows).reshape(-1)
    depth, room = places.taps.size, -(-outputs // groups // COLUMNS) * COLUMNS
    parts, db = empty((threads, groups, depth, room)), np.empty((threads, outputs))
    conv_weight(
        threads, _picture(x), _matrices(y), groups, places.geometry, places.taps, steps,
        np.arange(some * count) * COLUMNS, parts, db,
        empty((threads, some * x.shape[1] * places.planes)),
        empty((threads, some * count * COLUMNS)),
    )  # fmt: skip
    dw = empty((groups, outputs // groups, depth))
    sum_of_parts(room // COLUMNS, parts, dw)
    return dw.reshape(outputs, channels, *windows.kernel), db.sum(axis=0).astype(np.float32)
