"""Linear: y = x·Wᵀ + b;  dx = g·W, dW = gᵀ·x, db = Σ g"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .machinery.blas import gemm, share
from .machinery.compile import parallel, part
from .machinery.contiguous import as_rows
from .machinery.memory import empty
from .machinery.threads import get_num_threads

BLOCK = 64  # rows that are summed in float32


@parallel
def linear(start, stop, x, weight, bias, y):
    """y = x·Wᵀ + b in the rows start … stop; x (M, K), W (N, K), y (M, N). bias may be empty.

    y starts as the bias, and the product is added to it.
    """
    if bias.size:
        for row in range(start, stop):
            for j in range(bias.size):
                y[row, j] = bias[j]
    gemm(x[start:stop], False, weight, True, y[start:stop], 1.0, 1.0 if bias.size else 0.0)


@parallel
def linear_gradient(start, stop, parts, x, weight, g, dx, dw, db):
    """dx = g·W, divided by rows;  dW = gᵀ·x and db = Σ g, divided by columns of g

    Results with an empty array are not computed.
    """
    for i in range(start, stop):
        first, last = share(g.shape[0], parts, i)
        if dx.size and first < last:
            gemm(g[first:last], False, weight, False, dx[first:last], 1.0, 0.0)
        first, last = share(g.shape[1], parts, i)
        if dw.size and first < last:
            gemm(g[:, first:last], True, x, False, dw[first:last], 1.0, 0.0)
        if db.size:
            sum_rows(g, first, last, db[first:last])


@part
def sum_rows(x, first, last, total):
    """total ← Σ x over the rows, in columns first … last.

    A long float32 sum loses digits. So blocks of rows are summed in float32, which vectorises, and
    the sums of blocks are added in float64.
    """
    wide = np.zeros(total.size, dtype=np.float64)
    sum = np.empty_like(total)  # of a block
    for begin in range(0, x.shape[0], BLOCK):
        sum[:] = 0
        for row in range(begin, min(begin + BLOCK, x.shape[0])):
            line = x[row, first:last]  # loops over a slice from 0 on vectorise
            for j in range(sum.size):
                sum[j] += line[j]
        for j in range(wide.size):
            wide[j] += sum[j]
    total[:] = wide


_NO_MATRIX = np.empty((0, 0), dtype=np.float32)
_NO_VECTOR = np.empty(0, dtype=np.float32)


def linear_forward(op: Any, x: Array, weight: Array, bias: Array | None) -> Array:
    if not weight.flags.c_contiguous or (bias is not None and bias.shape != weight.shape[:1]):
        return NotImplemented
    op.shape = x.shape
    op.bias_shape = None if bias is None else bias.shape
    y = empty(x.shape[:-1] + weight.shape[:1])
    rows = as_rows(x)
    linear(rows.shape[0], rows, weight, _NO_VECTOR if bias is None else bias, as_rows(y))
    return y


def linear_backward(op: Any, g: Array) -> tuple:
    x, weight = op.saved
    broadcast = op.needs(2) and op.bias_shape != g.shape[-1:]
    if broadcast or (weight is not None and not weight.flags.c_contiguous):
        return NotImplemented
    g = as_rows(g)
    x = None if x is None else as_rows(x)
    dx = None if weight is None else empty(op.shape)
    dw = None if x is None else empty((g.shape[1], x.shape[1]))
    db = np.empty(g.shape[1], dtype=np.float32) if op.needs(2) else None
    parts = get_num_threads()
    linear_gradient(
        parts,
        parts,
        _NO_MATRIX if x is None else x,
        _NO_MATRIX if weight is None else weight,
        g,
        _NO_MATRIX if dx is None else as_rows(dx),
        _NO_MATRIX if dw is None else dw,
        _NO_VECTOR if db is None else db,
    )
    return dx, dw, db
