"""Matrix products inside a kernel: BLAS's gemm on any matrices whose rows are contiguous."""

from __future__ import annotations

import numpy as np
from numba import prange, types
from numba.np.linalg import _BLAS

from .compile import parallel, part

# Numba's `np.dot` takes whole arrays only. This is the function behind it, which takes a part of a
# matrix as well (its rows lie `lda` numbers apart) and can add to what is there.
_gemm = _BLAS.numba_xxgemm(types.float32)
_SINGLE, _PLAIN, _TRANSPOSED = ord("s"), ord("n"), ord("t")


@part
def gemm(a, a_transposed, b, b_transposed, c, alpha, beta):
    """c ← alpha·a·b + beta·c, of aᵀ or bᵀ where so said; c (M, N), rows contiguous in all three."""
    inner = a.shape[0] if a_transposed else a.shape[1]
    factors = np.array([alpha, beta], dtype=np.float32)
    # BLAS goes by columns, so what it sees is cᵀ = bᵀ·aᵀ.
    _gemm(
        _SINGLE,
        _TRANSPOSED if b_transposed else _PLAIN,
        _TRANSPOSED if a_transposed else _PLAIN,
        c.shape[1],
        c.shape[0],
        inner,
        factors.ctypes,
        b.ctypes,
        max(b.strides[0] // 4, b.shape[1]),  # NumPy gives a single row any stride
        a.ctypes,
        max(a.strides[0] // 4, a.shape[1]),
        factors[1:].ctypes,
        c.ctypes,
        max(c.strides[0] // 4, c.shape[1]),
    )


@part
def share(whole, parts, i):
    """(start, stop) of the i-th of so many nearly equal parts of 0 … whole."""
    return whole * i // parts, whole * (i + 1) // parts


@parallel
def product(a, b, b_transposed, c, threads):
    """c ← a·b or a·bᵀ; each thread takes some rows of a and c."""
    for i in prange(threads):
        start, stop = share(a.shape[0], threads, i)
        if start < stop:
            gemm(a[start:stop], False, b, b_transposed, c[start:stop], 1.0, 0.0)


@parallel
def product_of_transposed(a, b, c, threads):
    """c ← aᵀ·b; each thread takes some columns of a, which are rows of c."""
    for i in prange(threads):
        start, stop = share(a.shape[1], threads, i)
        if start < stop:
            gemm(a[:, start:stop], True, b, False, c[start:stop], 1.0, 0.0)
