"""How the kernels of convolutions lay out images: planes with padding, and runs of windows.

An image is copied with its padding. With stride > 1 it is divided into stride² planes, one for each
offset within a stride, so that neighbouring windows are neighbours in a plane. The inputs of all
windows at one element of the kernel are then one run of numbers. A run continues from one row of
windows to the next: after the `count` windows of a row there is a gap, up to the width of the
plane.

Planes and runs are given by their addresses, and have room at their end for a whole tile.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ..backend import Array
from .machinery.compile import part
from .machinery.table_product import address, numbers
from .machinery.tile import COLUMNS
from .machinery.vector_math import f32


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


def windows_of(geometry: tuple) -> Array:
    """(L): where each window is in a run."""
    _, _, _, _, _, rows, count, width, _ = geometry
    return np.add.outer(np.arange(rows) * width, np.arange(count)).reshape(-1)


class Places(NamedTuple):
    """Tables for a convolution of one group: in planes, in runs, and in the weight."""

    geometry: tuple  # stride, padding, lines, rows, count, width, pitch; see `places_of`
    planes: int  # numbers in the planes of a channel
    runs: int  # numbers in a run, rounded up to whole tiles
    margin: int  # the last tap; a run is that much shorter than a plane
    taps: Array  # (C/G·K): where the run of each row of the columns begins
    by_plane: tuple  # for ConvTranspose: (w_steps, x_steps, ends), the taps of each plane


@functools.lru_cache(maxsize=256)
def places_of(windows: Any, channels: int, outputs: int, room: int = COLUMNS) -> Places:
    """The tables for C/G channels and O/G outputs; room: numbers after a plane, for a tile."""
    _, kernel, stride, padding, dilation, counts = windows
    if len(kernel) == 1:  # one dimension: an image of one row
        kernel, stride, dilation, counts = ((1, *n) for n in (kernel, stride, dilation, counts))
        padding = (0, *padding)
    (kh, kw), (sh, sw), (dh, dw), (rows, count) = kernel, stride, dilation, counts
    width = count + (kw - 1) * dw // sw
    lines = rows + (kh - 1) * dh // sh
    pitch = lines * width + room
    geometry = (sh, sw, *padding, lines, rows, count, width, pitch)

    down, right = np.divmod(np.arange(kh * kw), kw) * np.array([[dh], [dw]])
    plane, place = down % sh * sw + right % sw, down // sh * width + right // sw  # of each tap
    taps = np.add.outer(np.arange(channels) * (sh * sw * pitch), plane * pitch + place)
    margin = lines * width - (rows - 1) * width - count
    length = margin + pitch  # of a run with its margins
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
        (w_steps, x_steps, ends),
    )
