"""Formulas over large arrays, block by block, against the same formula over the whole."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.ops.blockwise import BLOCK, blockwise

LARGE = (3, BLOCK + 5)  # no multiple of a block


def formula(a, b):
    return a * b + 1


def numbers(shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    "a, b",
    [
        (numbers(LARGE), numbers(LARGE, seed=1)),
        (numbers((2, BLOCK)), numbers((2, BLOCK), seed=1)),
        (numbers(LARGE[::-1]).T, numbers(LARGE, seed=1)),  # not contiguous
        (numbers(LARGE, "float64"), numbers(LARGE, "float64", seed=1)),
        (numbers((7, 3)), numbers((7, 3), seed=1)),  # too small for blocks
        (numbers((0, 3)), numbers((0, 3))),
        (numbers(()), numbers((), seed=1)),
    ],
    ids=["odd", "even", "transposed", "float64", "small", "empty", "0-d"],
)
def test_equals_the_formula(a, b):
    found = blockwise(formula, a, b)
    assert found.dtype == a.dtype and found.shape == a.shape
    np.testing.assert_array_equal(found, formula(a, b))


def test_is_taken_in_blocks_only_if_large():
    sizes = []

    def noting(x):
        sizes.append(x.size)
        return x

    blockwise(noting, numbers(2 * BLOCK + 3))
    blockwise(noting, numbers(BLOCK))
    assert sizes == [BLOCK, BLOCK, 3, BLOCK]


def test_tensors_go_through_whole_and_can_be_differentiated():
    x = tt.tensor(numbers(LARGE), requires_grad=True)
    blockwise(formula, x, x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_large_gelu_and_its_gradient_equal_float64(approximate):
    values = numbers(LARGE) * 3
    values[0, :3] = -60, 60, np.nan
    tt.set_kernels("numpy")
    try:
        found = value_and_gradient(values, approximate)
    finally:
        tt.set_kernels("auto")
    exact = value_and_gradient(values.astype("float64"), approximate)
    for mine, expected in zip(found, exact, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=2e-6, atol=2e-6)


def value_and_gradient(values, approximate):
    x = tt.tensor(values, requires_grad=True)
    y = tt.nn.functional.gelu(x, approximate=approximate)
    y.backward(tt.ones_like(y))
    return y.detach().numpy(), x.grad.numpy()
