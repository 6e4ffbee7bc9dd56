"""Matmul: y = a·b, for two matrices or two batches of them."""

from __future__ import annotations

import math
from typing import Any

from ..backend import Array
from .machinery.blas import gemm, share
from .machinery.compile import parallel
from .machinery.contiguous import contiguous
from .machinery.memory import empty
from .machinery.threads import get_num_threads


@parallel
def product(start, stop, parts, a, a_transposed, b, b_transposed, y):
    """y = a·b, with aᵀ or bᵀ if transposed, divided along the longer side of y."""
    for i in range(start, stop):
        if y.shape[0] >= y.shape[1]:
            first, last = share(y.shape[0], parts, i)
            if a_transposed:
                gemm(a[:, first:last], True, b, b_transposed, y[first:last], 1.0, 0.0)
            else:
                gemm(a[first:last], False, b, b_transposed, y[first:last], 1.0, 0.0)
        else:
            first, last = share(y.shape[1], parts, i)
            if b_transposed:
                gemm(a, a_transposed, b[first:last], True, y[:, first:last], 1.0, 0.0)
            else:
                gemm(a, a_transposed, b[:, first:last], False, y[:, first:last], 1.0, 0.0)


@parallel
def products(start, stop, a, a_transposed, b, b_transposed, y):
    """y = a·b for each pair of matrices; a, b and y (count, …, …)"""
    for i in range(start, stop):
        gemm(a[i], a_transposed, b[i], b_transposed, y[i], 1.0, 0.0)


def matmul_forward(op: Any, a: Array, b: Array) -> Array:
    if b.dtype is not a.dtype or a.shape[-1] != b.shape[-2]:
        return NotImplemented
    matrices: Any
    if b.ndim == 2:
        y = empty(a.shape[:-1] + b.shape[1:])
        # (…, M, K) → (…·M, K), times (K, N), → (…·M, N)
        matrices = [(a.reshape(-1, a.shape[-1]), b, y.reshape(-1, y.shape[-1]))]
    elif a.shape[:-2] == b.shape[:-2]:
        y = empty(a.shape[:-1] + b.shape[-1:])
        # (…, M, K), (…, K, N) and (…, M, N) → (count, …)
        count = math.prod(a.shape[:-2])
        together = [x.reshape(count, *x.shape[-2:]) for x in (a, b, y)]
        matrices = [together] if count >= get_num_threads() else zip(*together)
    else:
        return NotImplemented
    op.shapes = a.shape, b.shape
    for left, right, result in matrices:
        factors = *_by_rows(left), *_by_rows(right)
        if result.ndim == 3:
            products(len(result), *factors, result)
        else:
            product(get_num_threads(), get_num_threads(), *factors, result)
    return y


def _by_rows(x: Array) -> tuple[Array, bool]:
    """(x, False), or (xᵀ, True) if that is contiguous; a copy of x if neither is."""
    transposed = x.swapaxes(-1, -2)
    if transposed.flags.c_contiguous and not x.flags.c_contiguous:
        return contiguous(transposed), True
    return contiguous(x), False
