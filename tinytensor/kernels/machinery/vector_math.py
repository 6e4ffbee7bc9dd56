"""exp and its kin for float32, of additions, products and selections only, so that loops vectorise.

Numba calls the C library for exp, one number at a time.
"""

from __future__ import annotations

import numpy as np

from .compile import ordered_part, part

f32 = np.float32

LOG2_E = f32(1.4426950408889634)
# ln 2 in two parts: n times the first is exact
LN_2_HIGH = f32(0.693359375)
LN_2_LOW = f32(-2.12194440e-4)

LOWEST = f32(-88.0)  # e to this is below the least normal number
HIGHEST = f32(88.72283)  # e to this is the largest
LEAST_POWER = f32(-126.0)  # 2 to this is the least normal number


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
    """2ˣ = 2ⁿ·2ʳ for x ≤ 0, or above it by no more than a rounding error; to 2e-7, 0 below 2⁻¹²⁶.

    In fewer steps than `exp`: r = x − n is exact, and n is added to the exponent in 2ʳ.
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
    """2ⁿ for a whole n in −126 … 127, and 0 for −127: the bits from 23 on are n + 127."""
    return np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@part
def largest(x, i, count):
    """The largest of the first `count` numbers in row i of x (…, N); NaN if one is there.

    As whole numbers, the bits of floats are in the same order, those of negative ones in reverse;
    only of whole numbers does the search for the largest vectorise.
    """
    top = np.int32(-(2**31))
    for j in range(count):
        top = max(top, in_order(f32(x[i, j]).view(np.int32)))
    return np.int32(in_order(top)).view(np.float32)


@part
def in_order(bits):
    """The bits of a float as a whole number that grows with it; and back."""
    return bits ^ ((bits >> np.int32(31)) & np.int32(2**31 - 1))


# Single steps that stay in order: minus(minus(x, top), log). LLVM looks only at the last step to
# see whether it may reorder, so all steps of an expression are to be written so.


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
    """1 − 2 / (e²ˣ + 1); near 0, where digits would cancel, x − x³/3 + 2x⁵/15 − 17x⁷/315"""
    square = x * x
    series = f32(2 / 15) - square * f32(17 / 315)
    series = x + x * square * (series * square - f32(1 / 3))
    far = f32(1.0) - f32(2.0) / (exp(x + x) + f32(1.0))
    return series if square < f32(0.04) else far
