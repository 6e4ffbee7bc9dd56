"""Matrix products a·b for a b that is used in many calls, with few rows of a in each.

BLAS rearranges b in each call, which for few rows takes as long as the product. Here a kernel
rearranges it once, into panels of COLUMNS columns: b (K, N) becomes an array (panels, K, COLUMNS),
padded with zeros at the end of the last panel.

    b = empty_panels(depth, columns)
    pack(x, b)                          # x (depth, columns), or the transpose of one
    multiply(a, b, c, alpha, beta)      # c ← alpha·a·b + beta·c, as often as needed
    multiply(a, b[:, 64:128], …)        # a part of the sum;  b[2:]: without the first two panels
"""

from __future__ import annotations

import numpy as np
from numba import types

from .compile import compile_for_kernels, part
from .tile import (
    COLUMNS,
    LANES,
    ROWS,
    copy_vector,
    load,
    multiply_tile,
    room_for_tile,
    store,
    transpose_square,
)
from .vector_math import f32

_WORD, _ADDRESS = types.int64, types.voidptr
ALIGNED = 64  # bytes: the size of a cache line


def product(rows, columns, depth, alpha, a, a_row, a_step, b, panel, beta, c, c_row):
    """c ← alpha·a·b + beta·c, tile by tile; b in panels, `panel` numbers apart.

    A panel is read once per tile of rows, and stays in the cache meanwhile.
    """
    edge = room_for_tile()
    for j in range(0, columns, COLUMNS):
        right = b + 4 * (j // COLUMNS * panel)
        width = min(COLUMNS, columns - j)
        for i in range(0, rows, ROWS):
            left, y, height = a + 4 * (i * a_row), c + 4 * (i * c_row + j), min(ROWS, rows - i)
            if height == ROWS and width == COLUMNS:
                multiply_tile(left, a_row, a_step, ROWS, right, depth, alpha, beta, y, c_row)
                continue
            multiply_tile(left, a_row, a_step, height, right, depth, alpha, f32(0.0), edge, COLUMNS)
            for row in range(height):
                for column in range(width):
                    value, place = load(edge + 4 * (row * COLUMNS + column)), row * c_row + column
                    if beta != f32(0.0):
                        value += beta * load(y + 4 * place)
                    store(y + 4 * place, value)


def rearrange(depth, columns, x, x_row, x_step, y):
    """y (panels, depth, COLUMNS) ← x (depth, columns)

    The rows of x are x_row numbers apart and its columns x_step; one of the two is 1.
    """
    for first in range(0, columns, COLUMNS):
        source, target = x + 4 * (first * x_step), y + 4 * (first * depth)
        width, done = min(COLUMNS, columns - first), 0
        if width == COLUMNS and x_step == 1:
            for k in range(depth):
                copy_vector(source + 4 * (k * x_row), target + 4 * (k * COLUMNS))
                copy_vector(source + 4 * (k * x_row + LANES), target + 4 * (k * COLUMNS + LANES))
            done = depth
        elif width == COLUMNS and x_row == 1:
            done = depth // LANES * LANES
            for k in range(0, done, LANES):
                for j in range(0, COLUMNS, LANES):
                    place = target + 4 * (k * COLUMNS + j)
                    transpose_square(source + 4 * (j * x_step + k), x_step, LANES, place, COLUMNS)
        for k in range(done, depth):
            for j in range(width):
                value = load(source + 4 * (k * x_row + j * x_step))
                store(target + 4 * (k * COLUMNS + j), value)
            for j in range(width, COLUMNS):
                store(target + 4 * (k * COLUMNS + j), f32(0.0))


_product = compile_for_kernels(
    product, "tinytensor_product", _WORD, _WORD, _WORD, types.float32, _ADDRESS, _WORD, _WORD,
    _ADDRESS, _WORD, types.float32, _ADDRESS, _WORD,
)  # fmt: skip
_rearrange = compile_for_kernels(
    rearrange, "tinytensor_rearrange", _WORD, _WORD, _ADDRESS, _WORD, _WORD, _ADDRESS
)


@part
def empty_panels(depth, columns):
    """Uninitialised panels for a matrix (depth, columns)."""
    panels = (columns + COLUMNS - 1) // COLUMNS
    room = np.empty(panels * depth * COLUMNS + ALIGNED // 4, dtype=np.float32)
    start = -room.ctypes.data % ALIGNED // 4
    return room[start : start + panels * depth * COLUMNS].reshape(panels, depth, COLUMNS)


@part
def pack(x, panels):
    """panels ← x (depth, columns), whose rows or columns are contiguous."""
    _rearrange(
        x.shape[0], x.shape[1], x.ctypes, x.strides[0] // 4, x.strides[1] // 4, panels.ctypes
    )


@part
def multiply(a, b, c, alpha, beta):
    """c ← alpha·a·b + beta·c; a (M, K) in any layout, b (K, N) in panels, c (M, N) with
    contiguous rows.
    """
    if b.shape[1]:
        _product(
            c.shape[0], c.shape[1], b.shape[1], alpha, a.ctypes, a.strides[0] // 4,
            a.strides[1] // 4, b.ctypes, b.strides[0] // 4, beta, c.ctypes, c.strides[0] // 4,
        )  # fmt: skip
