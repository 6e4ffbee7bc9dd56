"""Convolution with one row for each window: for small images and for wide kernels.

The runs of convolution.py have gaps between the rows of an image. In a picture of 4 × 4 numbers, or
where the kernel is about as wide as the image, most of a run is gap. Here the product has a row for
each window, of several samples together, and a column for each output:

    y (N·L, O)  windows (N·L, C/G·K) times wᵀ (C/G·K, O)

A table says where each window begins, so that there are no gaps; but w is rearranged first, into
panels of COLUMNS outputs, and y is transposed. The transposed convolution is the same product for
each plane of its image: the rows are the elements of the plane, the windows those of g.

Letters as in convolution.py.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array
from .convolution_layout import lay_out, places_of, widen, windows_of
from .machinery.blas import share
from .machinery.compile import parallel, part
from .machinery.memory import empty
from .machinery.table_product import address, numbers, product, table, transposed
from .machinery.threads import get_num_threads
from .machinery.tile import COLUMNS, LANES
from .machinery.vector_math import f32

TOGETHER = 256  # rows: smaller images are multiplied several at a time
PACKING = 40  # products that take as long as rearranging a number of w
GAIN = 0.85  # of the time with runs, from which this pays
WORTH = 2**24  # products saved, below which compiling these kernels takes longer than it saves


@parallel
def panels_of(start, stop, w, panels):
    """panels (G, P, B·K, COLUMNS) ← w (G, B, M, K): COLUMNS of the M as columns, in P panels."""
    _, blocks, count, length = w.shape
    for i in range(start, stop):
        group, column = i // panels.shape[1], i % panels.shape[1] * COLUMNS
        columns = min(COLUMNS, count - column)
        if columns < COLUMNS:
            panels[group, i % panels.shape[1]] = 0  # a product reads whole vectors
        for block in range(blocks):
            source = address(w, ((group * blocks + block) * count + column) * length)
            target = address(panels, (i * blocks + block) * length * COLUMNS)
            transposed(columns, length, source, target, COLUMNS)


@parallel
def product_by_rows(
    start, stop, x, lines, w, b, groups, geometry, backwards, group_size, margin, parts, rows,
    steps, w_steps, y, scratch, sums,
):  # fmt: skip
    """y[n] = windows of x[n]·wᵀ + b; x (N, C, H, W), lines (N, C, H·W) the same, y (N, O, H', W').

    w (G, P, depth, COLUMNS): panels. scratch (T, samples, …) and sums: memory for each thread.
    """
    outputs, some = y.shape[1] // groups, scratch.shape[1]
    for i in range(start, stop):
        first, last = share(x.shape[0], scratch.shape[0], i)
        scratch[i] = 0
        image, c = address(scratch, i * some * scratch.shape[2]), address(sums, i * sums.shape[1])
        for begin in range(first, last, some):
            together = min(some, last - begin)
            for n in range(together):
                place = image + 4 * n * scratch.shape[2]
                if backwards:
                    length = group_size * groups // x.shape[1]
                    widen(lines, begin + n, geometry, place + 4 * margin, length)
                    for o in range(y.shape[1]):
                        y[begin + n, o] = b[o] if b.size else f32(0.0)
                else:
                    lay_out(x, begin + n, geometry, place)
            for p in range(parts.shape[0]):
                windows, depth = parts[p, 1], parts[p, 3]
                if windows == 0 or depth == 0:
                    continue
                for group in range(groups):
                    for o in range(0, outputs, COLUMNS):
                        columns = min(COLUMNS, outputs - o)
                        panel = group * w.shape[1] + o // COLUMNS
                        product(
                            together * windows, columns, depth,
                            image + 4 * group * group_size, table(rows) + 8 * parts[p, 0],
                            table(steps) + 8 * parts[p, 2],
                            address(w, panel * w.shape[2] * COLUMNS),
                            table(w_steps) + 8 * parts[p, 2], f32(0.0), c, COLUMNS,
                        )  # fmt: skip
                        spread(c, columns, group * outputs + o, begin, together, parts, p, b, y)


@part
def spread(c, columns, output, begin, together, parts, p, b, y):
    """y[begin + n, output + o, …] ← c (windows, COLUMNS)ᵀ + b, at the elements of plane p."""
    top, left, down = parts[p, 4], parts[p, 5], parts[p, 6]
    right, lines, count = parts[p, 7], parts[p, 8], parts[p, 9]
    for n in range(together):
        for o in range(columns):
            shift = b[output + o] if b.size else f32(0.0)
            channel = ((begin + n) * y.shape[1] + output + o) * y.shape[2]
            for i in range(lines):
                seen = numbers(c + 4 * (((n * lines + i) * count) * COLUMNS + o), count * COLUMNS)
                place = (channel + top + i * down) * y.shape[3] + left
                out = numbers(address(y, place), count * right)
                for j in range(count):
                    out[j * right] = seen[j * COLUMNS] + shift


# ------------------------------------------------------------------------------------------
# Tables
# ------------------------------------------------------------------------------------------


class Plane(NamedTuple):
    """A plane of y: the elements [top + i·down, left + j·right], for i < lines, j < across."""

    row: int  # the first of its rows
    windows: int  # rows for each sample
    step: int  # the first of its steps
    depth: int
    top: int
    left: int
    down: int
    right: int
    lines: int
    across: int


class Rows(NamedTuple):
    """Tables for a product with a row for each window."""

    sample: int  # numbers of a sample in scratch memory
    group: int  # numbers of a group in it
    margin: int  # zeros before the runs of a transposed convolution
    planes: tuple  # of y
    rows: Array  # where each window begins
    steps: Array  # where the numbers of a window are
    w_steps: Array  # where their weights are


@functools.lru_cache(maxsize=256)
def rows_forward(windows: Any, channels: int, outputs: int, groups: int, some: int) -> Rows:
    """The tables of a convolution, for `some` samples at a time."""
    places = places_of(windows, channels, outputs, 0)
    _, _, _, _, _, rows, count, _, _ = places.geometry
    group, depth = channels * places.planes, places.taps.size
    starts = np.add.outer(np.arange(some) * (groups * group), windows_of(places.geometry))
    plane = Plane(0, rows * count, 0, depth, 0, 0, 1, 1, rows, count)
    weights = np.arange(depth) * COLUMNS
    return Rows(groups * group, group, 0, (plane,), starts.reshape(-1), places.taps, weights)


def planes_inside(windows: Any, places: Any) -> Iterator[tuple[int, list[int], list[int]]]:
    """(number, rows of the plane, columns) for each plane with elements inside of the image."""
    sh, sw, ph, pw, lines, _, _, width, _ = places.geometry
    height, breadth = (1, *windows.size)[-2:]
    for place in range(sh * sw):
        up, left = place // sw - ph, place % sw - pw
        down = [i for i in range(lines) if 0 <= i * sh + up < height]
        right = [j for j in range(width) if 0 <= j * sw + left < breadth]
        if down and right:
            yield place, down, right


@functools.lru_cache(maxsize=256)
def rows_backward(windows: Any, channels: int, outputs: int, groups: int, some: int) -> Rows:
    """The tables of a transposed convolution, for `some` samples at a time."""
    places = places_of(windows, channels, outputs, 0)
    sh, sw, ph, pw, _, _, _, width, pitch = places.geometry
    group = outputs * (places.margin + pitch)
    w_steps, x_steps, ends = places.by_plane
    planes, starts, row = [], [], 0
    for place, down, right in planes_inside(windows, places):
        inside = np.add.outer(np.array(down) * width, np.array(right)).reshape(-1)
        depth = ends[place + 1] - ends[place]
        top, first = down[0] * sh + place // sw - ph, right[0] * sw + place % sw - pw
        planes.append(
            Plane(row, inside.size, ends[place], depth, top, first, sh, sw, len(down), len(right))
        )
        starts.append(np.add.outer(np.arange(some) * (groups * group), inside).reshape(-1))
        row += some * inside.size
    kernel = math.prod(windows.kernel)
    output, tap = np.divmod(w_steps, channels * kernel)
    return Rows(
        groups * group, group, places.margin, tuple(planes), np.concatenate(starts), x_steps,
        (output * kernel + tap) * COLUMNS,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------
# Choice
# ------------------------------------------------------------------------------------------


def _whole(count: int) -> int:
    """Rounded up to whole vectors."""
    return -(-count // LANES) * LANES


def covers(windows: Any, dim: int) -> bool:
    """True if there is one window along a dimension, exactly as long as the image."""
    size, kernel, _, padding, _, counts = (dimensions[dim] for dimensions in windows)
    return counts == 1 and padding == 0 and kernel == size > 1


@functools.lru_cache(maxsize=256)
def better_forward(windows: Any, channels: int, outputs: int, samples: int) -> bool:
    """True if a convolution is faster with a row for each window than with runs."""
    _, _, _, _, _, rows, count, width, _ = places_of(windows, channels, outputs, 0).geometry
    runs = samples * _whole((rows - 1) * width + count) * outputs
    mine = samples * rows * count * _whole(outputs) + PACKING * outputs
    return (GAIN * runs - mine) * channels * math.prod(windows.kernel) > WORTH


@functools.lru_cache(maxsize=256)
def better_backward(windows: Any, channels: int, outputs: int, samples: int) -> bool:
    """The same for a transposed convolution."""
    places = places_of(windows, channels, outputs, 0)
    width, ends = places.geometry[7], places.by_plane[2]
    runs = mine = 0
    for place, down, right in planes_inside(windows, places):
        depth = ends[place + 1] - ends[place]
        runs += depth * _whole((len(down) - 1) * width + len(right)) * channels
        mine += depth * len(down) * len(right) * _whole(channels)
    packing = PACKING * channels * outputs * math.prod(windows.kernel)
    return samples * (GAIN * runs - mine) - packing > WORTH


# ------------------------------------------------------------------------------------------
# The product
# ------------------------------------------------------------------------------------------


def convolve_by_rows(
    x: Array, w: Array, b: Array, y: Array, windows: Any, groups: int, backwards: bool
) -> None:
    """y ← the convolution of x (N, C, H, W) with w (O, C/G, kernel …), + b (or none).

    backwards: the transposed convolution, from x (N, O, H', W') to y (N, C, H, W).
    """
    outputs, channels, threads = w.shape[0] // groups, w.shape[1], get_num_threads()
    if backwards:  # a plane is small, too, if the stride is large
        tables, area = rows_backward, math.prod(windows.size) // math.prod(windows.stride)
        blocks, columns = outputs, channels
    else:
        tables, area = rows_forward, math.prod(windows.counts)
        blocks, columns = 1, outputs
    some = max(1, min(-(-x.shape[0] // threads), TOGETHER // max(1, area)))
    rows = tables(windows, channels, outputs, groups, some)
    # (O, C/G, kernel …) → (G, 1, O/G, C/G·K), or (G, O/G, C/G, K) backwards
    blocked = w.reshape(groups, blocks, columns, w.size // (groups * blocks * columns))
    count = -(-columns // COLUMNS)
    panels = empty((groups, count, blocks * blocked.shape[3], COLUMNS))
    panels_of(groups * count, blocked, panels)
    most = max(plane.windows for plane in rows.planes)
    product_by_rows(
        threads, x, x.reshape(*x.shape[:2], math.prod(x.shape[2:])), panels, b, groups,
        places_of(windows, channels, outputs, 0).geometry, backwards, rows.group, rows.margin,
        np.array(rows.planes), rows.rows, rows.steps, rows.w_steps, y,
        empty((threads, some, rows.sample)), empty((threads, some * most * COLUMNS)),
    )  # fmt: skip
