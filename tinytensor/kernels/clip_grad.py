"""The norm of all gradients as one vector, and scaling all of them, each in one pass."""

from __future__ import annotations

import numpy as np

from ..backend import Array
from .machinery.blas import share
from .machinery.compile import parallel, part
from .machinery.many_arrays import addresses, overlap, piece, sizes
from .machinery.threads import get_num_threads
from .machinery.vector_math import f32

BLOCK = 1024  # elements summed in float32; the sums of blocks are added in float64


@part
def square_sum(x):
    """Σ x²"""
    result = 0.0
    for start in range(0, x.size, BLOCK):
        block, total = x[start : start + BLOCK], f32(0.0)
        for j in range(block.size):
            total += block[j] * block[j]
        result += total
    return result


@parallel
def square_sums(start, stop, x, size, count, total):
    """total (T) ← Σ x² over T parts of all `count` elements, in arrays at the addresses x."""
    for i in range(start, stop):
        first, last = share(count, total.size, i)
        total[i] = 0
        offset = 0
        for k in range(size.size):
            a, b = overlap(first, last, offset, size[k])
            if a < b:
                total[i] += square_sum(piece(x[k], a, b))
            offset += size[k]


@parallel
def scale(start, stop, x, size, factor):
    """x ← factor·x for elements start … stop of all arrays, at the addresses x."""
    offset = 0
    for k in range(size.size):
        a, b = overlap(start, stop, offset, size[k])
        if a < b:
            numbers = piece(x[k], a, b)
            for j in range(numbers.size):
                numbers[j] *= factor
        offset += size[k]


def total_norm(arrays: list) -> Array:
    """√ Σ x² over all elements of contiguous float32 arrays; inf if Σ x² overflows float32"""
    total, size = np.empty(get_num_threads(), dtype=np.float64), sizes(arrays)
    square_sums(total.size, addresses(arrays), size, size.sum(), total)
    with np.errstate(over="ignore"):
        return np.sqrt(total.sum().astype(np.float32))


def scale_all(arrays: list, factor: float) -> None:
    """x ← factor·x, in place, for contiguous float32 arrays"""
    size = sizes(arrays)
    scale(size.sum(), addresses(arrays), size, f32(factor))
