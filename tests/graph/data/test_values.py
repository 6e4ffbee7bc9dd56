"""Values: small arrays in full, statistics of large ones, and their text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tinytensor.graph.data.values import bars, keep, norm_of, number, shortest, trouble, value_of


def test_small_arrays_are_kept_in_full() -> None:
    array = np.arange(6.0).reshape(2, 3)
    value = value_of(array)
    array[0, 0] = 99  # what was recorded stays
    assert value.data == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert value.array().tolist() == value.data and value.array().shape == (2, 3)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "bool"])
def test_arrays_come_back_as_they_were(dtype: str) -> None:
    array = np.random.default_rng(0).normal(size=(3, 2)).astype(dtype)
    value = value_of(array)
    assert value.dtype == dtype
    assert value.array().dtype == array.dtype and (value.array() == array).all()
    assert (np.array(shortest(value), dtype) == array).all()


def test_shortest_decimals() -> None:
    assert shortest(value_of(np.float32([0.1, 2.5, 1e-7]))) == [0.1, 2.5, 1e-7]


def test_statistics_of_large_arrays() -> None:
    array = np.random.default_rng(0).normal(size=1000)
    value = value_of(array)
    assert value.data is None and value.shape == (1000,)
    assert value.low == array.min() and value.high == array.max()
    assert value.mean == pytest.approx(array.mean()) and value.std == pytest.approx(array.std())
    assert value.norm == pytest.approx(np.linalg.norm(array))
    expected, _ = np.histogram(array, bins=12)
    assert value.histogram == tuple(expected.tolist())
    with pytest.raises(ValueError, match="larger max_values"):
        value.array()


def test_nan_and_infinities_are_counted_and_left_out() -> None:
    array = np.array([1.0, np.nan, 3.0, np.inf, -np.inf, np.nan] * 20)
    value = value_of(array)
    assert (value.nan, value.inf, value.low, value.high) == (40, 40, 1.0, 3.0)
    assert value.mean == 2.0 and sum(value.histogram) == 40
    assert trouble(value) == ["⚠ 40 NaN", "⚠ 40 inf"]
    assert "⚠ 40 NaN" in value.text()
    nothing = value_of(np.full(100, np.nan))
    assert nothing.nan == 100 and nothing.histogram == () and nothing.text() == "⚠ 100 NaN"


@pytest.mark.parametrize(
    "array",
    [np.zeros(100), np.full(100, 7.0), np.array([-1e308, 1e308] * 50), np.array([0, 5e-324] * 50)],
    ids=["zeros", "equal", "huge", "tiny"],
)
def test_statistics_of_odd_arrays(array: np.ndarray) -> None:
    value = value_of(array)
    assert sum(value.histogram) == 100 and value.low == array.min() and value.high == array.max()


def test_max_values() -> None:
    array = np.arange(100.0)
    full = value_of(array, max_values=None)
    assert full.data is not None
    assert value_of(full, 100) is full and value_of(full, None) is full
    statistics = value_of(full, 99)
    assert statistics.data is None and statistics.mean == 49.5


def test_keep() -> None:
    array = np.arange(100.0)
    kept, statistics = keep(array, 100), keep(array, 99)
    array[:] = 0
    assert value_of(kept, None).data == list(range(100)) and value_of(kept, 3) == statistics


def test_norm() -> None:
    assert norm_of(value_of(np.array([3.0, 4.0]))) == 5.0


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.25, "0.25"), (-0.25, "−0.25"), (1e-5, "1e−5"), (123456.0, "1.23e5"), (-0.0, "0"),
        (3, "3"), (-3, "−3"), (True, "True"), (math.nan, "NaN"), (-math.inf, "−∞"),
    ],
    ids=str,
)  # fmt: skip
def test_numbers(x: Any, text: str) -> None:
    assert number(x) == text


def test_bars_show_every_bin_that_is_not_empty() -> None:
    assert bars((0, 1, 1000)) == "▁▂█"
    assert bars(()) == "" and bars((0, 0)) == ""


def test_text() -> None:
    assert value_of(np.array(2.5)).text() == "2.5"
    assert value_of(np.zeros((0, 3))).text() == "empty"
    assert value_of(np.array([True, False])).text() == "50% true"
    assert value_of(np.array([1.0, 3.0])).text().startswith("1 … 3, mean 2, std 1 ")
