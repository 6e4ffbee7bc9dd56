"""A matrix product whose operands are read through tables of places, for convolutions.

    c[i, j] ← Σ a[a_rows[i] + a_steps[k]]·b[b_steps[k] + j] + beta·c[i, j]

The windows of a convolution overlap, so that its matrices hold each number many times. The tables
say where the numbers are in the image itself, and the matrices are never built.

As in tile.py, the sums of a tile are vectors that fill the registers. There is a loop for each
shape of tile in SHAPES, so that few rows or columns leave few registers idle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from .compile import compile_for_kernels, part
from .contiguous import pointer
from .tile import (
    COLUMNS,
    LANES,
    everywhere,
    load,
    load_at,
    multiply_add,
    store,
    store_at,
    transpose_square,
)
from .vector_math import f32

DEPTH = 256  # products that are summed one by one; a longer float32 sum would lose digits
TALLEST = LANES // 2  # LLVM loads all numbers of a first: 26 of 32 registers, or 14 of 16
HEIGHTS = [TALLEST >> i for i in range(TALLEST.bit_length())]  # powers of 2, down to 1
SHAPES = [
    (height, vectors) for height in HEIGHTS for vectors in ((1, 2, 4) if height <= 2 else (1, 2))
]

_NUMBER, _WORD = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_NUMBER, LANES)


@intrinsic
def _multiply_tile(typing, height, vectors, a, rows, a_steps, b, b_steps, depth, beta, c, c_row):
    """c ← a·b + beta·c in `height` rows and `vectors` vectors of each, one of SHAPES.

    c is not read if beta is 0.
    """

    def generate(context, builder, _, values):
        height, vectors, *rest = values
        choice = builder.add(builder.mul(height, _WORD(8)), vectors)
        end = builder.append_basic_block("end")
        switch = builder.switch(choice, end)
        for tall, wide in SHAPES:
            block = builder.append_basic_block(f"tile{tall}x{wide}")
            switch.add_case(_WORD(8 * tall + wide), block)
            builder.position_at_end(block)
            _tile(builder, tall, wide, *rest)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    word = types.intp
    places = [word] * 8
    return types.void(*places, types.float32, word, word), generate


def _tile(
    builder: Any, height: int, vectors: int, a: Any, rows: Any, a_steps: Any, b: Any, b_steps: Any,
    depth: Any, beta: Any, c: Any, c_row: Any,
) -> None:  # fmt: skip
    """One tile, of a fixed shape."""
    lines = []  # address of each row of a
    for i in range(height):
        row = load_at(builder, rows, _WORD(2 * i), _WORD)
        lines.append(builder.add(a, builder.mul(row, _WORD(4))))
    before = builder.block
    loop, end = (builder.append_basic_block(name) for name in ("sum", "done"))
    builder.branch(loop)

    builder.position_at_end(loop)
    k = builder.phi(_WORD)
    k.add_incoming(_WORD(0), before)
    sums = [builder.phi(_VECTOR) for _ in range(height * vectors)]
    twice = builder.mul(k, _WORD(2))  # a place has 8 bytes, a number 4
    a_step = load_at(builder, a_steps, twice, _WORD)
    b_step = load_at(builder, b_steps, twice, _WORD)
    right = [
        load_at(builder, b, builder.add(b_step, _WORD(v * LANES)), _VECTOR) for v in range(vectors)
    ]
    totals = []
    for i, line in enumerate(lines):
        left = everywhere(builder, load_at(builder, line, a_step, _NUMBER))
        for v in range(vectors):
            totals.append(multiply_add(builder, left, right[v], sums[i * vectors + v]))
    following = builder.add(k, _WORD(1))
    k.add_incoming(following, loop)
    for total, sum in zip(totals, sums, strict=True):
        sum.add_incoming(ir.Constant(_VECTOR, [0.0] * LANES), before)
        sum.add_incoming(total, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, end)

    builder.position_at_end(end)
    many_beta = everywhere(builder, beta)
    with builder.if_else(builder.fcmp_ordered("==", beta, _NUMBER(0.0))) as (fresh, added):
        for branch, is_fresh in ((fresh, True), (added, False)):
            with branch:
                for n, total in enumerate(totals):
                    row, column = _WORD(n // vectors), _WORD(n % vectors * LANES)
                    place = builder.add(builder.mul(row, c_row), column)
                    y = total
                    if not is_fresh:
                        y = multiply_add(builder, many_beta, load_at(builder, c, place), total)
                    store_at(builder, y, c, place)


def product_by_table(rows, columns, depth, a, a_rows, a_steps, b, b_steps, beta, c, c_row):
    """c ← a·b + beta·c, tile by tile; arrays by their addresses, places as int64; depth ≥ 1.

    Rows of c have room for `columns` rounded up to a multiple of COLUMNS, and as much of b is read.
    """
    most = 4 if rows <= 2 else 2  # vectors per row
    for k in range(0, depth, DEPTH):
        factor = f32(1.0) if k else beta
        for j in range(0, columns, most * LANES):
            vectors, i = 1 if columns - j <= LANES else 2 if columns - j <= COLUMNS else most, 0
            while i < rows:
                height = TALLEST
                while height > rows - i:
                    height //= 2
                _multiply_tile(
                    height, vectors, a, a_rows + 8 * i, a_steps + 8 * k, b + 4 * j,
                    b_steps + 8 * k, min(DEPTH, depth - k), factor, c + 4 * (i * c_row + j), c_row,
                )  # fmt: skip
                i += height


def turn(rows, length, x, y, y_row):
    """y (length, rows) ← xᵀ, for x (rows, length); rows of y have room for a multiple of LANES."""
    if length < LANES:
        for i in range(rows):
            for j in range(length):
                store(y + 4 * (j * y_row + i), load(x + 4 * (i * length + j)))
        return
    for i in range(0, rows, LANES):
        for j in range(0, length, LANES):
            first = min(j, length - LANES)  # the last square may overlap the one before it
            source, target = x + 4 * (i * length + first), y + 4 * (first * y_row + i)
            transpose_square(source, length, min(LANES, rows - i), target, y_row)


_WORDS = [types.intp] * 8
product = compile_for_kernels(
    product_by_table, "tinytensor_product_by_table", *_WORDS, types.float32, *_WORDS[:2]
)
transposed = compile_for_kernels(turn, "tinytensor_turn", *_WORDS[:5])


@part
def address(x, number):
    """The address of a number of x, counted from the first one; x has items of 4 bytes."""
    return np.int64(x.ctypes.data) + np.int64(4) * np.int64(number)


@part
def table(x):
    """The address of a table of places."""
    return np.int64(x.ctypes.data)


@part
def numbers(address, count):
    """The numbers at an address as an array. (Slices count references, which is slow in a loop.)"""
    return carray(pointer(address), count, np.float32)
