"""gemm: BLAS's matrix product inside a kernel, for matrices with contiguous rows."""

from __future__ import annotations

import llvmlite.binding
from numba import types

from .compile import part
from .find_blas import find_blas

# Compiled code, also from the cache on disk, finds the product by this name.
blas = find_blas()
if blas is not None:
    llvmlite.binding.add_symbol("tinytensor_sgemm", blas.product)
# The library may be built for sizes of 32 or 64 bits. The lower half of a 64-bit argument is in the
# same register, or at the same place on the stack, as a 32-bit one.
_SIZE, _MATRIX, _FLAG = types.int64, types.voidptr, types.int32
_sgemm = types.ExternalFunction(
    "tinytensor_sgemm",
    types.void(
        _FLAG, _FLAG, _FLAG, _SIZE, _SIZE, _SIZE,
        types.float32, _MATRIX, _SIZE, _MATRIX, _SIZE, types.float32, _MATRIX, _SIZE,
    ),
)  # fmt: skip
_BY_ROWS, _PLAIN, _TRANSPOSED = 101, 111, 112


@part
def gemm(a, a_transposed, b, b_transposed, c, alpha, beta):
    """c ← alpha·a·b + beta·c, with aᵀ or bᵀ if transposed; c (M, N); all rows contiguous."""
    _sgemm(
        _BY_ROWS,
        _TRANSPOSED if a_transposed else _PLAIN,
        _TRANSPOSED if b_transposed else _PLAIN,
        c.shape[0],
        c.shape[1],
        a.shape[0] if a_transposed else a.shape[1],
        alpha,
        a.ctypes,
        max(a.strides[0] // 4, a.shape[1]),  # a single row may have any stride in NumPy
        b.ctypes,
        max(b.strides[0] // 4, b.shape[1]),
        beta,
        c.ctypes,
        max(c.strides[0] // 4, c.shape[1]),
    )


@part
def share(whole, parts, i):
    """(start, stop) of part i, where 0 … whole is divided into nearly equal parts."""
    return whole * i // parts, whole * (i + 1) // parts
