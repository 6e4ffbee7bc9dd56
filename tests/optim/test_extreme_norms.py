"""Clipping of gradients, Lion and Muon where squares underflow and overflow, with inf and NaN."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import optim

from .test_extremes import kernels, magnitudes  # noqa: F401  (a fixture)

ORDERS = [2.0, 1.0, 3.0, 0.5, 0.0, np.inf, -np.inf]
LIMITS = [1.0, 0.0, 1e30, np.inf]


def sizes(dtype: type) -> list[float]:
    """With one whose squares overflow only when all are added up."""
    return [*magnitudes(dtype), -np.inf, 0.4 * float(np.finfo(dtype).max) ** 0.5]


def parameters(lib: Any, *values: float, dtype: type) -> list[Any]:
    """(2, 3) and (5): two parameters, each with gradients of one size."""
    found = []
    for shape, value in zip([(2, 3), (5,)], values):
        p = lib.zeros(shape, dtype=getattr(lib, dtype.__name__), requires_grad=True)
        p.grad = lib.full(shape, value, dtype=p.dtype)
        found.append(p)
    return found


def pairs(dtype: type) -> Iterator[tuple[float, float]]:
    for size in sizes(dtype):
        yield from [(size, size), (size, 1e-3), (0.0, size)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ORDERS)
def test_norms_and_clipped_gradients_equal_pytorchs(
    order: float,
    dtype: type,
    kernels: str,  # noqa: F811
) -> None:
    torch = pytest.importorskip("torch")
    if kernels == "kernels" and (order, dtype) != (2, np.float32):
        pytest.skip("no kernel for this norm")
    info = np.finfo(dtype)
    for (first, second), limit in itertools.product(pairs(dtype), LIMITS):
        results = []
        for lib in (tt, torch):
            tensors = parameters(lib, first, second, dtype=dtype)
            norm = lib.nn.utils.clip_grad_norm_(tensors, limit, order)
            results.append([norm.numpy(), *(p.grad.numpy() for p in tensors)])
        for found, expected in zip(*results):
            np.testing.assert_allclose(
                found, expected, 16 * info.eps, 4 * float(info.smallest_subnormal),
                err_msg=f"gradients {first} and {second}, order {order}, limit {limit}",
            )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms_that_are_not_finite_are_refused_where_pytorch_does(
    dtype: type,
    kernels: str,  # noqa: F811
) -> None:
    torch = pytest.importorskip("torch")
    for values in pairs(dtype):
        refused = []
        for lib in (tt, torch):
            tensors = parameters(lib, *values, dtype=dtype)
            try:
                lib.nn.utils.clip_grad_norm_(tensors, 1.0, error_if_nonfinite=True)
                refused.append(False)
            except RuntimeError:
                refused.append(True)
                untouched = [p.grad.numpy().flat[0] for p in tensors]
                np.testing.assert_array_equal(untouched, np.array(values, dtype))
        assert refused[0] == refused[1], values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("limit", [0.0, 1e-40, 0.5, 1e30, np.inf])
def test_clipped_values_equal_pytorchs(limit: float, dtype: type) -> None:
    torch = pytest.importorskip("torch")
    for values in pairs(dtype):
        results = []
        for lib in (tt, torch):
            tensors = parameters(lib, *values, dtype=dtype)
            lib.nn.utils.clip_grad_value_(tensors, limit)
            results.append([p.grad.numpy() for p in tensors])
        for found, expected in zip(*results):
            np.testing.assert_array_equal(found, expected, err_msg=f"{values}, limit {limit}")


# ------------------------------------------------------------------------------------------
# Lion and Muon
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lion_steps_by_the_sign_of_any_gradient(dtype: type) -> None:
    """By lr for the smallest and the largest number, by nothing for NaN, as the authors' code."""
    values = [v for x in sizes(dtype) for v in (x, -x)]
    p = tt.zeros(len(values), dtype=getattr(tt, dtype.__name__), requires_grad=True)
    with np.errstate(all="ignore"):
        p.grad = tt.tensor(np.array(values, dtype) * 10)  # 0.1 times the smallest is 0
    optim.Lion([p], lr=0.5).step()
    expected = [0.0 if np.isnan(v) else -0.5 * np.sign(v) for v in values]
    np.testing.assert_array_equal(p.detach().numpy(), expected)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)], ids=str)
def test_muon_is_finite_where_pytorchs_is(shape: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    directions = np.random.default_rng(0).normal(size=shape)
    for value in sizes(np.float32):
        results = []
        for lib in (tt, torch):
            p = lib.ones(shape, dtype=lib.float32, requires_grad=True)
            optimizer = lib.optim.Muon([p], lr=0.1)
            for sign in (1, -1, 1):
                with np.errstate(all="ignore"):
                    p.grad = lib.tensor((directions * (sign * value)).astype(np.float32))
                optimizer.step()
            results.append(p.detach().numpy())
        found, expected = results
        message = f"gradients of size {value}"
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected), message)
        both = np.isfinite(expected)
        np.testing.assert_allclose(found[both], expected[both], atol=0.05, err_msg=message)


# ------------------------------------------------------------------------------------------
# The same steps as functions of tensors
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("value", [1, 0.001, -1000.0])
def test_order_of_factors_equals_pytorchs(name: str, value: float, dtype: type) -> None:
    torch = pytest.importorskip("torch")
    first, second = map(np.array, zip(*pairs(dtype)))
    found, expected = (
        getattr(lib, name)(
            lib.zeros(len(first), dtype=getattr(lib, dtype.__name__)),
            lib.tensor(first.astype(dtype)), lib.tensor(second.astype(dtype)), value=value,
        ).numpy()
        for lib in (tt, torch)
    )  # fmt: skip
    info = np.finfo(dtype)
    np.testing.assert_allclose(found, expected, 4 * info.eps, 2 * float(info.smallest_subnormal))


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_an_integer_factor_keeps_float64(name: str) -> None:
    x, whole, y = tt.zeros(1, dtype=tt.float64), tt.tensor([7]), tt.ones(1, dtype=tt.float64)
    assert getattr(tt, name)(x, whole, y, value=0.3).item() == 0.3 * 7
