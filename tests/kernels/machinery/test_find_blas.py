"""The BLAS of NumPy: its product is called at its address, and its threads are counted."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

pytest.importorskip("threadpoolctl")

import tinytensor as tt
from tinytensor.kernels.machinery import find_blas as module
from tinytensor.kernels.machinery import route
from tinytensor.kernels.machinery.find_blas import find_blas

BY_ROWS, PLAIN = 101, 111
blas = find_blas()
needs_blas = pytest.mark.skipif(blas is None, reason="this NumPy has no BLAS with a C interface")


@needs_blas
def test_the_address_is_that_of_a_matrix_product() -> None:
    assert blas is not None
    size, matrix, real = ctypes.c_int64, ctypes.c_void_p, ctypes.c_float
    flags = [ctypes.c_int] * 3
    kind = ctypes.CFUNCTYPE(
        None, *flags, size, size, size, real, matrix, size, matrix, size, real, matrix, size
    )
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape).astype(np.float32) for shape in ((3, 5), (5, 2)))
    c = np.ones((3, 2), np.float32)
    expected = 2 * (a @ b) + 3 * c
    product = kind(blas.product)
    sizes = 3, 2, 5
    first, second, result = (x.ctypes.data for x in (a, b, c))
    product(BY_ROWS, PLAIN, PLAIN, *sizes, 2.0, first, 5, second, 2, 3.0, result, 2)
    np.testing.assert_allclose(c, expected, rtol=1e-6)


@needs_blas
def test_its_threads_are_counted() -> None:
    assert blas is not None
    before = blas.get_threads()
    try:
        blas.set_threads(1)
        assert blas.get_threads() == 1
    finally:
        blas.set_threads(before)


def test_a_library_without_the_product_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        pass

    class Open:
        scipy_cblas_sgemm64_ = ctypes.CFUNCTYPE(None)(lambda: None)

    pairs = [(library, lambda: 1, lambda number: None) for library in (Other(), Open())]
    monkeypatch.setattr(module, "_libraries", lambda: iter(pairs))
    found = find_blas.__wrapped__()
    assert found is not None
    assert found.product == ctypes.cast(Open.scipy_cblas_sgemm64_, ctypes.c_void_p).value


def test_without_a_blas_numpy_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(module, "find_blas", lambda: None)
    monkeypatch.setattr(route.choice, "on", None)
    monkeypatch.setattr(route.choice, "name", "auto")
    assert tt.get_kernels() == "numpy"
    with pytest.raises(ImportError, match="a NumPy with BLAS are needed for 'numba'"):
        tt.set_kernels("numba")
