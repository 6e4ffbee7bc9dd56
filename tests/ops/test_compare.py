"""Comparisons, logic and bits, beyond the op table."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

NAN, INF = float("nan"), float("inf")
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
F, N, B = tt.tensor([1.5, -2.0]), tt.tensor([3, -2]), tt.tensor([True, False])


@pytest.mark.parametrize("name", COMPARISONS)
def test_function_method_and_operator_agree(name: str) -> None:
    a, b = tt.tensor([1.0, 2.0, 3.0, NAN]), tt.tensor([2.0, 2.0, 2.0, NAN])
    expected = getattr(operator, name)(a.numpy(), b.numpy()).tolist()
    assert getattr(tt, name)(a, b).tolist() == expected
    assert getattr(a, name)(b).tolist() == expected
    assert getattr(operator, name)(a, b).tolist() == expected
    assert getattr(operator, name)(a, b.numpy()).tolist() == expected
    assert getattr(operator, name)(a.numpy(), b).tolist() == expected


@pytest.mark.parametrize("name", COMPARISONS)
def test_number_on_the_left(name: str) -> None:
    result = getattr(operator, name)(2, tt.tensor([1, 2, 3]))
    assert result.tolist() == [getattr(operator, name)(2, n) for n in (1, 2, 3)]


@pytest.mark.parametrize("name", COMPARISONS)
def test_result_is_bool_and_not_tracked(name: str) -> None:
    x = tt.ones(2, requires_grad=True)
    result = getattr(tt, name)(x, x)
    assert result.dtype == tt.bool
    assert not result.requires_grad


def test_in_place_comparison_keeps_the_dtype() -> None:
    x = tt.tensor([1.0, 3.0])
    assert x.gt_(2) is x
    assert x.tolist() == [0.0, 1.0]
    assert x.dtype == tt.float32


def test_equality_leaves_tensors_hashable() -> None:
    x, y = tt.ones(2), tt.ones(2)
    assert len({x, y}) == 2
    assert {x: "x"}[x] == "x"


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (F, F.clone(), True),
        (F, F + 1, False),
        (F, F.reshape(1, 2), False),
        (tt.tensor([1.0, 2.0]), tt.tensor([1, 2]), True),
        (tt.tensor([NAN]), tt.tensor([NAN]), False),
        (tt.zeros(0), tt.zeros(0), True),
        (tt.zeros(0, 2), tt.zeros(2, 0), False),
    ],
)
def test_equal_is_one_python_bool(a: Any, b: Any, expected: bool) -> None:
    assert tt.equal(a, b) is expected
    assert a.equal(b) is expected


@pytest.mark.parametrize(
    "a, b, options, expected",
    [
        ([1.0, 2.0], [1.0, 2.00001], {}, True),
        ([1.0, 2.0], [1.0, 2.001], {}, False),
        ([1.0, 2.0], [1.0, 2.1], {"atol": 0.2}, True),
        ([100.0], [110.0], {"rtol": 0.1}, True),
        ([INF], [INF], {}, True),
        ([INF], [-INF], {}, False),
        ([INF], [1.0], {"atol": INF}, False),
        ([NAN], [NAN], {}, False),
        ([NAN], [NAN], {"equal_nan": True}, True),
        ([], [], {}, True),
    ],
)
def test_allclose_is_one_python_bool(a: list, b: list, options: dict, expected: bool) -> None:
    assert tt.allclose(tt.tensor(a), tt.tensor(b), **options) is expected


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_shifts_beyond_the_width_lose_every_bit(dtype: str) -> None:
    x = tt.tensor([1, 100], dtype=getattr(tt, dtype))
    width = 8 * x.element_size()
    assert (x << width).tolist() == [0, 0]
    assert (x >> width).tolist() == [0, 0]
    assert (x >> 1).tolist() == [0, 50]
    if dtype != "uint8":
        assert (-x >> width).tolist() == [-1, -1]
        assert (x << -1).tolist() == [0, 0]


@pytest.mark.parametrize(
    "result, values, dtype",
    [
        (B & True, [True, False], tt.bool),
        (B & 1, [1, 0], tt.int64),
        (B | tt.tensor([2, 3], dtype=tt.uint8), [3, 3], tt.uint8),
        (1 ^ N, [2, -1], tt.int64),
        (~B, [False, True], tt.bool),
        (~N, [-4, 1], tt.int64),
        (~N.to(tt.uint8), [252, 1], tt.uint8),
        (1 << tt.tensor([3, 4]), [8, 16], tt.int64),
        (B << 1, [2, 0], tt.int64),
    ],
)
def test_bits_and_their_dtype(result: Any, values: list, dtype: Any) -> None:
    assert result.tolist() == values
    assert result.dtype == dtype


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "logical_not"])
def test_questions_give_bool_for_every_dtype(name: str) -> None:
    for dtype in (tt.bool, tt.uint8, tt.int64, tt.float16, tt.float32, tt.float64):
        result = getattr(tt, name)(tt.ones(2, dtype=dtype))
        assert result.dtype == tt.bool
        assert result.tolist() == [name == "isfinite"] * 2


@pytest.mark.parametrize(
    "function, error, message",
    [
        (lambda: tt.eq(F, None), TypeError, "eq: got an operand of type NoneType"),
        (lambda: F < "a", TypeError, "not supported between"),
        (lambda: tt.lt(F, tt.ones(3)), RuntimeError, r"lt: shapes \(2,\), \(3,\) do not fit"),
        (lambda: F & F, NotImplementedError, "bitwise_and: got dtype float32, expected integers"),
        (lambda: F ^ 1, NotImplementedError, "bitwise_xor: got dtype float32"),
        (lambda: ~F, TypeError, "bitwise_not: got dtype float32, expected integers or bools"),
        (
            lambda: N << 1.0,
            NotImplementedError,
            "bitwise_left_shift: got dtype float32",
        ),
        (lambda: B >> B, NotImplementedError, "bitwise_right_shift: got dtype bool"),
        (lambda: tt.isclose(F, F.double()), RuntimeError, "isclose: other has dtype float64"),
        (lambda: tt.isclose(F, 1.0), TypeError, "isclose: got a float, expected a tensor"),
        (lambda: tt.equal(F, 1), TypeError, "equal: got a int, expected a tensor"),
        (lambda: tt.logical_and(F, 1), TypeError, "logical_and: got a int, expected a tensor"),
    ],
)
def test_error_names_op_and_what_was_got(function: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        function()


def test_raw_arrays_in_raw_arrays_out() -> None:
    a, b = np.array([1.0, 2.0]), np.array([2.0, 2.0])
    for result in (tt.lt(a, b), tt.isnan(a), tt.logical_and(a, b), tt.where(a < b, a, 0.0)):
        assert type(result) is np.ndarray
