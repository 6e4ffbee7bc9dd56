"""The inner loop of packed_product.py, written in LLVM: one tile of a matrix product.

Numba's loops would keep the sums of a tile in memory. Here they are vectors that fill the registers
of the processor, and each step of the sum is an outer product: ROWS numbers of a, each times
COLUMNS numbers of b. Memory is given by addresses; distances count numbers, not bytes.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# Registers for the sums, two vectors of b and one number of a: 15 of 16, or 27 of 32.
WIDE = llvm.get_host_cpu_features().get("avx512f", False)
LANES, ROWS = (16, 12) if WIDE else (8, 6)
COLUMNS = 2 * LANES

_NUMBER, _WORD, _INDEX = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_NUMBER, LANES)
_ANY = ir.Constant(_VECTOR, ir.Undefined)
_FUSED = ("contract",)  # a·b + c may be one instruction


def _at(builder: Any, address: Any, distance: Any, kind: Any) -> Any:
    """Return a pointer to the number, or vector, `distance` numbers after an address."""
    place = builder.add(address, builder.mul(distance, _WORD(4)))
    return builder.inttoptr(place, kind.as_pointer())


def load_at(builder: Any, address: Any, distance: Any, kind: Any = _VECTOR) -> Any:
    return builder.load(_at(builder, address, distance, kind), align=4)


def store_at(builder: Any, value: Any, address: Any, distance: Any) -> None:
    builder.store(value, _at(builder, address, distance, value.type), align=4)


def _shuffle(builder: Any, x: Any, y: Any, places: list[int]) -> Any:
    """Return the numbers at these places of x followed by y."""
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_INDEX, LANES), places))


def everywhere(builder: Any, number: Any) -> Any:
    """Return a vector with the same number in all lanes."""
    return _shuffle(builder, builder.insert_element(_ANY, number, _INDEX(0)), _ANY, [0] * LANES)


def multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x·y + z"""
    return builder.fadd(builder.fmul(x, y, flags=_FUSED), z, flags=_FUSED)


def _rows(builder: Any, wanted: int, count: Any) -> list:
    """Return the numbers 0 … wanted of rows, with the last of `count` repeated."""
    last = builder.sub(count, _WORD(1))
    return [
        builder.select(builder.icmp_signed("<", _WORD(i), last), _WORD(i), last)
        for i in range(wanted)
    ]


@intrinsic
def multiply_tile(typing, a, a_row, a_step, rows, b, depth, alpha, beta, c, c_row):
    """c ← alpha·a·b + beta·c; a (ROWS, depth), b (depth, COLUMNS), c (ROWS, COLUMNS).

    a_row, a_step and c_row are distances: between rows of a, between numbers of a row of a, and
    between rows of c. b is contiguous. `a` has `rows` ≤ ROWS rows; the last one is repeated to fill
    the tile. c is not read if beta is 0.
    """
    word, number = types.intp, types.float32
    signature = types.void(word, word, word, word, word, word, number, number, word, word)

    def generate(context, builder, _, values):
        a, a_row, a_step, rows, b, depth, alpha, beta, c, c_row = values
        lines = [  # address of each row of a
            builder.add(a, builder.mul(builder.mul(row, a_row), _WORD(4)))
            for row in _rows(builder, ROWS, rows)
        ]
        sums = _outer_products(builder, lines, a_step, b, depth)
        alpha, many_beta = everywhere(builder, alpha), everywhere(builder, beta)
        with builder.if_else(builder.fcmp_ordered("==", beta, _NUMBER(0.0))) as (fresh, added):
            for branch, is_fresh in ((fresh, True), (added, False)):
                with branch:
                    for i, total in enumerate(sums):
                        place = builder.add(builder.mul(_WORD(i // 2), c_row), _WORD(i % 2 * LANES))
                        y = builder.fmul(alpha, total, flags=_FUSED)
                        if not is_fresh:
                            before = load_at(builder, c, place)
                            y = multiply_add(builder, many_beta, before, y)
                        store_at(builder, y, c, place)
        return context.get_dummy_value()

    return signature, generate


def _outer_products(builder: Any, lines: list, a_step: Any, b: Any, depth: Any) -> list:
    """Σ over k of the outer products of column k of a and row k of b, two vectors per row."""
    before = builder.block
    loop, end = (builder.append_basic_block(name) for name in ("sum", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(_WORD)
    k.add_incoming(_WORD(0), before)
    sums = [builder.phi(_VECTOR) for _ in range(2 * ROWS)]
    right = [
        load_at(builder, b, builder.add(builder.mul(k, _WORD(COLUMNS)), _WORD(half)))
        for half in (0, LANES)
    ]
    totals = []
    for i, line in enumerate(lines):
        left = everywhere(builder, load_at(builder, line, builder.mul(k, a_step), _NUMBER))
        totals += [multiply_add(builder, left, right[half], sums[2 * i + half]) for half in (0, 1)]
    following = builder.add(k, _WORD(1))
    k.add_incoming(following, loop)
    for total, sum in zip(totals, sums, strict=True):
        sum.add_incoming(ir.Constant(_VECTOR, [0.0] * LANES), before)
        sum.add_incoming(total, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, end)
    builder.position_at_end(end)
    return totals


@intrinsic
def transpose_square(typing, x, x_row, rows, y, y_row):
    """y ← xᵀ for LANES × LANES numbers; x_row, y_row: distances between rows.

    x has `rows` ≤ LANES rows; the last one is repeated.
    """

    def generate(context, builder, _, values):
        x, x_row, count, y, y_row = values
        rows = [
            load_at(builder, x, builder.mul(row, x_row)) for row in _rows(builder, LANES, count)
        ]
        half = LANES // 2
        while half:  # swap the upper right and lower left quarters, then those of each quarter
            left = [j if not j & half else LANES + j - half for j in range(LANES)]
            right = [j + half if not j & half else LANES + j for j in range(LANES)]
            for i in range(LANES):
                if not i & half:
                    pair = rows[i], rows[i + half]
                    rows[i] = _shuffle(builder, *pair, left)
                    rows[i + half] = _shuffle(builder, *pair, right)
            half //= 2
        for i, row in enumerate(rows):
            store_at(builder, row, y, builder.mul(_WORD(i), y_row))
        return context.get_dummy_value()

    word = types.intp
    return types.void(word, word, word, word, word), generate


@intrinsic
def copy_vector(typing, x, y):
    """y ← x for LANES numbers."""

    def generate(context, builder, _, values):
        x, y = values
        store_at(builder, load_at(builder, x, _WORD(0)), y, _WORD(0))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


@intrinsic
def load(typing, x):
    """The number at x."""

    def generate(context, builder, _, values):
        return load_at(builder, values[0], _WORD(0), _NUMBER)

    return types.float32(types.intp), generate


@intrinsic
def store(typing, x, value):
    """x ← value"""

    def generate(context, builder, _, values):
        store_at(builder, values[1], values[0], _WORD(0))
        return context.get_dummy_value()

    return types.void(types.intp, types.float32), generate


@intrinsic
def room_for_tile(typing):
    """Return the address of ROWS × COLUMNS numbers on the stack of the function."""

    def generate(context, builder, _, values):
        room = cgutils.alloca_once(builder, ir.ArrayType(_NUMBER, ROWS * COLUMNS))
        return builder.ptrtoint(room, _WORD)

    return types.intp(), generate
