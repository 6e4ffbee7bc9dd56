"""exp and other functions against float64, at ordinary numbers and at the ends of their range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from tinytensor.kernels.activation import erf  # noqa: E402
from tinytensor.kernels.machinery import vector_math  # noqa: E402
from tinytensor.kernels.machinery.compile import serial  # noqa: E402

ENDS = [0.0, -0.0, -86.0, -87.3, -88.5, -103.0, -1e30, -np.inf, np.nan]
NEGATIVE = np.array([*ENDS, *np.linspace(-20, 0, 1001)], dtype=np.float32)
POSITIVE = np.array([88.0, 88.7, 88.8, 1e30, np.inf, *np.linspace(0, 20, 1001)], dtype=np.float32)
ANY = np.concatenate([NEGATIVE, POSITIVE])


@numba.njit
def over(function, x, y):
    for i in range(x.size):
        y[i] = function(x[i])


@serial
def largest_of_row(x, i):
    return vector_math.largest(x, i, x.shape[1])


@pytest.mark.parametrize(
    "name, of, x",
    [
        ("exp", np.exp, ANY),
        ("exp2_up_to_0", np.exp2, NEGATIVE),
        ("exp2_up_to_0", np.exp2, np.float32([1e-6, 1e-3])),
        ("exp2_up_to_0", np.exp2, np.linspace(-130, -120, 1001, dtype=np.float32)),
    ],
)
def test_exp(name: str, of: np.ufunc, x: np.ndarray) -> None:
    y = np.empty_like(x)
    over(getattr(vector_math, name), x, y)
    with np.errstate(over="ignore"):
        exact = of(x.astype(np.float64)).astype(np.float32)
    # Numbers below the least normal one may be 0.
    np.testing.assert_allclose(y, exact, rtol=5e-7, atol=np.finfo(np.float32).tiny)


def test_exp_of_what_is_masked_is_exactly_0() -> None:
    x = np.float32([-np.inf, -1e30, -130])
    for function in (vector_math.exp, vector_math.exp2_up_to_0):
        y = np.ones_like(x)
        over(function, x, y)
        assert not y.any()


@pytest.mark.parametrize(
    "row",
    [
        [3.0],
        [-1.5, -1.25, -7.0],
        [-0.0, -1e-45, -np.inf],
        [1e-45, 0.0, -1e38],
        [np.inf, 3e38, -np.inf],
        [-np.inf, -np.inf],
        [1.0, np.nan, 2.0],
        list(np.random.default_rng(0).standard_normal(67)),
    ],
    ids=str,
)
def test_largest(row: list[float]) -> None:
    x = np.array([row, row], dtype=np.float32)
    np.testing.assert_array_equal(largest_of_row(x, 1), x[1].max())


@pytest.mark.parametrize("name, function", [("erf", erf), ("tanh", vector_math.tanh)])
def test_functions_that_level_off(name: str, function: Any) -> None:
    ends = [-1e30, 1e30, -np.inf, np.inf, 1e-30, 0.0, np.nan]
    x = np.array([*np.linspace(-6, 6, 4001), *ends], dtype=np.float32)
    y = np.empty_like(x)
    over(function, x, y)
    exact = np.array([getattr(math, name)(float(v)) for v in x])
    np.testing.assert_allclose(y, exact, rtol=1e-6, atol=1e-37)
