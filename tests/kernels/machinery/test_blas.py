"""gemm, BLAS's product inside a kernel: rows apart in memory, transposes, alpha and beta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

from tinytensor.kernels.machinery import blas
from tinytensor.kernels.machinery.compile import serial

pytestmark = pytest.mark.skipif(blas.blas is None, reason="NumPy's BLAS is not found")


@serial
def product(a, a_transposed, b, b_transposed, c, alpha, beta):
    blas.gemm(a, a_transposed, b, b_transposed, c, alpha, beta)


def matrix(rng: Any, rows: int, columns: int, gap: int, transposed: bool) -> np.ndarray:
    """Contiguous rows, `gap` numbers apart."""
    rows, columns = (columns, rows) if transposed else (rows, columns)
    return rng.normal(size=(rows, columns + gap)).astype(np.float32)[:, :columns]


@pytest.mark.parametrize("gaps", [(0, 0, 0), (5, 0, 0), (0, 3, 0), (0, 0, 4), (7, 2, 9)], ids=str)
@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)], ids=str)
@pytest.mark.parametrize("sizes", [(4, 5, 6), (1, 5, 6), (4, 1, 6), (4, 5, 1)], ids=str)
def test_product(gaps: tuple, transposed: tuple, sizes: tuple) -> None:
    rng = np.random.default_rng(0)
    m, n, k = sizes
    a_transposed, b_transposed = map(bool, transposed)
    a = matrix(rng, m, k, gaps[0], a_transposed)
    b = matrix(rng, k, n, gaps[1], b_transposed)
    c = matrix(rng, m, n, gaps[2], False)
    whole = c.base.copy()
    expected = 2.0 * (a.T if a_transposed else a) @ (b.T if b_transposed else b) - 0.5 * c
    product(a, a_transposed, b, b_transposed, c, np.float32(2.0), np.float32(-0.5))
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(c.base[:, n:], whole[:, n:])  # nothing is written between rows
