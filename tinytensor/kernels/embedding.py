"""The gradients of embedding and of indexing: y[i] += Σ x over the positions where index is i.

Also the product with a sparse matrix, which adds rows times a number, and the gradient of gather.
"""

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


@parallel
def add_multiples(start, stop, values, x, rows, columns, y):
    """y[rows[k]] += values[k]·x[columns[k]], in columns start … stop of x and y"""
    for k in range(values.size):
        row, column, factor = rows[k], columns[k], values[k]
        for j in range(start, stop):
            y[row, j] += factor * x[column, j]


def add_products(values: Array, x: Array, rows: Array, columns: Array, y: Array) -> None:
    """y (M, F) ← y + A·x, where A has values[k] at (rows[k], columns[k]); x (N, F)."""
    add_multiples(y.shape[1], contiguous(values), contiguous(x), flat(rows), flat(columns), y)


@parallel
def add_numbers(start, stop, x, index, y):
    """y[i, index[i, j]] += x[i, j] for the lines i = start … stop"""
    for i in range(start, stop):
        for j in range(x.shape[1]):
            y[i, index[i, j]] += x[i, j]


def add_along_lines(x: Array, index: Array, y: Array) -> None:
    """y[…, index[…, j]] += x[…, j] along the last dimension; all contiguous, index from 0 on."""
    lines = math.prod(y.shape[:-1])
    add_numbers(
        lines, contiguous(x).reshape(lines, -1), contiguous(index).reshape(lines, -1),
        y.reshape(lines, -1),
    )  # fmt: skip
