"""The gradients of embedding and of indexing: y[i] += Σ x over the positions where index is i."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array
from .machinery.compile import parallel
from .machinery.contiguous import as_rows, contiguous, flat
from .machinery.memory import empty


@parallel
def add_rows(start, stop, x, index, y):
    """y[index[i]] += x[i] in columns start … stop: no two threads write to the same element."""
    for row in range(x.shape[0]):
        for j in range(start, stop):
            y[index[row], j] += x[row, j]


def add_rows_forward(op: Any, x: Array, index: Array, rows: int) -> Array:
    if index.dtype != np.int64:
        return NotImplemented
    y = empty((rows, x.shape[-1]))
    y.fill(0)
    add_rows(y.shape[1], as_rows(x), flat(index), y)
    return y


def add_to_rows(target: Array, rows: Array, values: Array) -> None:
    """target[rows[i]] += values[i], as ops/accumulate.py does it; rows from 0 to len(target) − 1.

    target (N, …) and values (M, …) are contiguous, rows (M,).
    """
    width = math.prod(target.shape[1:])
    # (N, …) → (N, width), (M, …) → (M, width)
    y, x = target.reshape(-1, width), values.reshape(-1, width)
    add_rows(width, contiguous(x), flat(rows.astype(np.int64, copy=False)), y)
