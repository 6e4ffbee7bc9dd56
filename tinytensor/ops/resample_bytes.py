"""uint8 images at another size, in the fixed-point arithmetic of PyTorch and Pillow.

Weights become integers of 15 bits and a sign, as large as fit. One dimension is resized after the
other, the last one first, and each result is rounded to uint8 before the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import xp

BITS = 15  # of the largest weight


def resize_bytes(x: Any, dim: int, weights: np.ndarray) -> Any:
    """y[…, i, …] = Σⱼ weights[i, j]·x[…, j, …] along `dim`, rounded: an array of uint8.

    weights (count, length), in float64; the rows sum to 1.
    """
    library = xp(x)
    shift = shift_for(float(weights.max()))
    whole = np.trunc(weights * 2.0**shift + np.copysign(0.5, weights))
    columns = library.moveaxis(x, dim, -1).astype(np.float64)  # products of integers, exact
    sums = columns @ library.asarray(whole.T) + 2.0 ** (shift - 1)
    y = library.floor(sums / 2.0**shift).clip(0, 255).astype(np.uint8)
    return library.ascontiguousarray(library.moveaxis(y, -1, dim))


def shift_for(largest: float) -> int:
    """The most binary places with which the largest weight has at most 15 bits."""
    shift = 0
    while shift < 22 and 0.5 + largest * 2.0 ** (shift + 1) < 2**BITS:
        shift += 1
    return shift


def weight_matrix(taps: list, count: int, length: int) -> np.ndarray:
    """(count, length): the weight of each old element in each new one.

    taps: [(index, weight), …] with one of each for each new element. An index outside counts for
    the element at that end.
    """
    matrix = np.zeros((count, length))
    rows = np.arange(count)
    for index, weight in taps:
        np.add.at(matrix, (rows, index.clip(0, length - 1)), weight)
    return matrix
