"""A matrix product for few rows, where BLAS would take longer to rearrange b than to multiply.

`packed_product.py` rearranges b as well, which only pays if b is used many times. In convolutions
with at most 16 channels per group each b is used once: there the packed product took 1.0 to 1.4
times as long in forward, and 1.8 times as long with one channel per group.
"""

from __future__ import annotations

from .compile import part


@part
def add_product(a, b, c):
    """c ← c + a·b; a (M, K), b (K, N), c (M, N), rows of b and c contiguous.

    Each pass along c takes four rows of a and four of b: 16 products for 4 numbers written.
    """
    rows, inner = a.shape[0] // 4 * 4, a.shape[1] // 4 * 4
    for i in range(0, rows, 4):
        for k in range(0, inner, 4):
            a00, a01, a02, a03 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            a10, a11, a12, a13 = a[i + 1, k], a[i + 1, k + 1], a[i + 1, k + 2], a[i + 1, k + 3]
            a20, a21, a22, a23 = a[i + 2, k], a[i + 2, k + 1], a[i + 2, k + 2], a[i + 2, k + 3]
            a30, a31, a32, a33 = a[i + 3, k], a[i + 3, k + 1], a[i + 3, k + 2], a[i + 3, k + 3]
            for j in range(b.shape[1]):
                b0, b1, b2, b3 = b[k, j], b[k + 1, j], b[k + 2, j], b[k + 3, j]
                c[i, j] += a00 * b0 + a01 * b1 + a02 * b2 + a03 * b3
                c[i + 1, j] += a10 * b0 + a11 * b1 + a12 * b2 + a13 * b3
                c[i + 2, j] += a20 * b0 + a21 * b1 + a22 * b2 + a23 * b3
                c[i + 3, j] += a30 * b0 + a31 * b1 + a32 * b2 + a33 * b3
        add_outer(a, b, c, i, i + 4, inner)
    add_outer(a, b, c, rows, a.shape[0], 0)


@part
def add_outer(a, b, c, start, stop, first):
    """Add the remaining products: rows start … stop of a, columns from `first` on."""
    for i in range(start, stop):
        for k in range(first, a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
