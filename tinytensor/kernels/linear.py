"""Linear: y = x·Wᵀ + b;  dx = g·W, dW = gᵀ·x, db = Σ g"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from .blas import product, product_of_transposed, share
from .compile import parallel
from .layout import as_rows
from .threads import get_num_threads


@parallel
def add_to_rows(y, bias, threads):
    """y ← y + bias for each row of y (M, N)."""
    for i in prange(threads):
        start, stop = share(y.shape[0], threads, i)
        for row in range(start, stop):
            for j in range(y.shape[1]):
                y[row, j] += bias[j]


@parallel
def sum_of_rows(g, total, threads):
    """total ← Σ of the rows of g (M, N); each thread takes some columns."""
    for i in prange(threads):
        start, stop = share(g.shape[1], threads, i)
        total[start:stop] = 0
        for row in range(g.shape[0]):
            for j in range(start, stop):
                total[j] += g[row, j]


def linear_forward(op: Any, x: Any, weight: Any, bias: Any) -> Any:
    if not weight.flags.c_contiguous or (bias is not None and bias.shape != weight.shape[:1]):
        return NotImplemented
    op.shape = x.shape
    op.bias_shape = None if bias is None else bias.shape
    threads = get_num_threads()
    y = np.empty(x.shape[:-1] + weight.shape[:1], dtype=x.dtype)
    rows = as_rows(y)
    product(as_rows(x), weight, True, rows, threads)
    if bias is not None:
        add_to_rows(rows, bias, threads)
    return y


def linear_backward(op: Any, g: Any) -> Any:
    x, weight = op.saved
    if weight is not None and not weight.flags.c_contiguous:
        return NotImplemented
    threads = get_num_threads()
    g = as_rows(g)
    dx = dw = db = None
    if weight is not None:
        dx = np.empty(op.shape, dtype=g.dtype)
        product(g, weight, False, as_rows(dx), threads)
    if x is not None:
        x = as_rows(x)
        dw = np.empty((g.shape[1], x.shape[1]), dtype=g.dtype)
        product_of_transposed(g, x, dw, threads)
    if op.needs(2):
        db = np.empty(g.shape[1], dtype=g.dtype)
        sum_of_rows(g, db, threads)
    return dx, dw, db
