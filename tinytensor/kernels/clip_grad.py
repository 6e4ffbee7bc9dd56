"""The norm of many gradients as one vector, and all of them scaled, each in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

from .blas import share
from .compile import parallel, part
from .many import addresses, overlap, piece, sizes
from .threads import get_num_threads
from .vector_math import f32

BLOCK = 4096  # numbers that are summed as float32; the sums of blocks are added as float64


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
def square_sums(x, size, total):
    """total (T) ← Σ x² over the share of each thread of all arrays, at the addresses x."""
    whole, threads = size.sum(), total.size
    for i in prange(threads):
        start, stop = share(whole, threads, i)
        total[i] = 0
        offset = 0
        for k in range(size.size):
            a, b = overlap(start, stop, offset, size[k])
            if a < b:
                total[i] += square_sum(piece(x[k], a, b))
            offset += size[k]


@parallel
def scale(x, size, factor, threads):
    """x ← factor·x for all arrays, at the addresses x."""
    whole = size.sum()
    for i in prange(threads):
        start, stop = share(whole, threads, i)
        offset = 0
        for k in range(size.size):
            a, b = overlap(start, stop, offset, size[k])
            if a < b:
                numbers = piece(x[k], a, b)
                for j in range(numbers.size):
                    numbers[j] *= factor
            offset += size[k]


def total_norm(arrays: list) -> Any:
    """√ Σ x² over all elements of contiguous float32 arrays"""
    total = np.empty(get_num_threads(), dtype=np.float64)
    square_sums(addresses(arrays), sizes(arrays), total)
    return np.float32(math.sqrt(total.sum()))


def scale_all(arrays: list, factor: float) -> None:
    """x ← factor·x, in place, for contiguous float32 arrays"""
    scale(addresses(arrays), sizes(arrays), f32(factor), get_num_threads())
