"""float32 exp, sigmoid and tanh built from vectorisable operations (add, multiply, select).

Numba would call the C library for exp, one number at a time.
"""

from __future__ import annotations

import numpy as np

from .compile import ordered_part, part

f32 = np.float32

LOG2_E = f32(1.4426950408889634)
# ln 2 in two parts: n times the first is exact
LN_2_HIGH = f32(0.693359375)
LN_2_LOW = f32(-2.12194440e-4)

LOWEST = f32(-88.0)  # eˣ is below the least normal number
HIGHEST = f32(88.72283)  # eˣ is the largest number
LEAST_POWER = f32(-126.0)  # 2ˣ is the least normal number


@part
def exp(x):
    """eˣ = 2ⁿ·eʳ, n = round(x / ln 2), r = x − n·ln 2; to 3e-7, and 0 below e⁻⁸⁷·⁶."""
    z = LOWEST if x < LOWEST else x
    n = np.floor(z * LOG2_E + f32(0.5))
    n = f32(127.0) if n > f32(127.0) else n
    y = exp_near_0(z - n * LN_2_HIGH - n * LN_2_LOW) * power_of_2(n)
    return f32(np.inf) if x > HIGHEST else y


@part
def exp2_up_to_0(x):
    """2ˣ = 2ⁿ·2ʳ for x ≤ 0, or above it by a rounding error at most; to 2e-7, 0 below 2⁻¹²⁶.

    It takes fewer steps than `exp`: r = x − n is exact, and n is added to the exponent of 2ʳ.
    """
    z = LEAST_POWER if x < LEAST_POWER else x
    n = np.floor(z + f32(0.5))
    p = exp2_near_0(z - n)
    y = np.int32(f32(p).view(np.int32) + (np.int32(n) << np.int32(23))).view(np.float32)
    return f32(0.0) if x < LEAST_POWER else y


@part
def exp2_near_0(r):
    """2ʳ on |r| ≤ ½: the minimax polynomial of degree 5 that is 1 at 0."""
    p = f32(1.326472725e-3)
    p = p * r + f32(9.671512688e-3)
    p = p * r + f32(5.550733744e-2)
    p = p * r + f32(2.402224208e-1)
    p = p * r + f32(6.931469776e-1)
    return p * r + f32(1.0)


@part
def exp_near_0(r):
    """eʳ on |r| ≤ ln 2 / 2: the minimax polynomial of Cephes' expf."""
    p = f32(1.9875691500e-4)
    p = p * r + f32(1.3981999507e-3)
    p = p * r + f32(8.3334519073e-3)
    p = p * r + f32(4.1665795894e-2)
    p = p * r + f32(1.6666665459e-1)
    p = p * r + f32(5.0000001201e-1)
    return p * r * r + r + f32(1.0)


@part
def power_of_2(n):
    """2ⁿ for an integer n in −126 … 127, and 0 for −127: the bits from 23 on are n + 127."""
    return np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@part
def largest(x, i, count):
    """The largest of the first `count` numbers in row i of x (…, N); NaN if one of them is NaN.

    The search vectorises for integers only. Read as integers, the bits of floats have the same
    order, reversed for negative ones.
    """
    top = np.int32(-(2**31))
    for j in range(count):
        top = max(top, in_order(f32(x[i, j]).view(np.int32)))
    return np.int32(in_order(top)).view(np.float32)


@part
def in_order(bits):
    """Map the bits of a float to an integer of the same order; it is its own inverse."""
    return bits ^ ((bits >> np.int32(31)) & np.int32(2**31 - 1))


# Single operations that keep their order: minus(minus(x, top), log). LLVM checks only the last
# operation for permission to reorder, so write all operations of an expression this way.


@ordered_part
def plus(x, y):
    return x + y


@ordered_part
def minus(x, y):
    return x - y


@ordered_part
def times(x, y):
    return x * y


@part
def sigmoid(x):
    """1 / (1 + e⁻ˣ)"""
    return f32(1.0) / (f32(1.0) + exp(-x))


@part
def tanh(x):
    """1 − 2 / (e²ˣ + 1); near 0, where digits would cancel: x − x³/3 + 2x⁵/15 − 17x⁷/315"""
    square = x * x
    series = f32(2 / 15) - square * f32(17 / 315)
    series = x + x * square * (series * square - f32(1 / 3))
    far = f32(1.0) - f32(2.0) / (exp(x + x) + f32(1.0))
    return series if square < f32(0.04) else far
