"""gather, scatter and their kin: dtypes, ties, zeros, errors. The rest is in the table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.errors import GradientError
from tinytensor.kernels.machinery.route import kernels_for_all_sizes
from tinytensor.ops.accumulate import add_rows, multiply_rows

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")


def results(call: Callable) -> list[np.ndarray]:
    found = []
    for L in (tt, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(call(L).detach().numpy())
    return found


# ------------------------------------------------------------------------------------------
# Dtypes
# ------------------------------------------------------------------------------------------


def ints(L: Any) -> Any:
    return L.arange(12).reshape(3, 4)


PLACES = [[0, 0, 1], [1, 1, 1]]


@needs_torch
@pytest.mark.parametrize(
    "call",
    [
        lambda L: ints(L).gather(1, L.tensor([[3], [0]])),
        lambda L: ints(L).gather(1, L.tensor([[3], [0]], dtype=L.int32)),
        lambda L: ints(L).scatter(1, L.tensor([[0]]), 1.5),
        lambda L: ints(L).scatter_add(1, L.tensor(PLACES), L.tensor([[2, 3, 4], [-3, 0, 0]])),
        *[
            lambda L, r=reduce, s=include_self: ints(L).scatter_reduce(
                1, L.tensor(PLACES), L.tensor([[2, 3, 4], [-3, 0, 0]]), r, include_self=s
            )
            for reduce in ("sum", "prod", "mean", "amax", "amin")
            for include_self in (True, False)
        ],
        lambda L: L.ones(2, 3).scatter(1, L.tensor([[0, 0]]), L.tensor([[2.0, 3]]), reduce="add"),
        lambda L: L.ones(2, 3).scatter(
            1, L.tensor([[0, 0]]), L.tensor([[2.0, 3]]), reduce="multiply"
        ),
        lambda L: ints(L).index_add(0, L.tensor([2, 2]), L.ones(2, 4, dtype=L.int64), alpha=3),
        lambda L: ints(L).index_fill(0, L.tensor([0]), 1.7),
        lambda L: ints(L).masked_fill(ints(L) > 5, 1.7),
        lambda L: ints(L).masked_fill(ints(L) > 5, L.tensor(1.7)),
        lambda L: (ints(L) > 5).masked_fill(ints(L) > 3, 2),
        lambda L: L.ones(2, dtype=L.float16).masked_fill(L.tensor([True, False]), 0.1),
        lambda L: (ints(L) > 5).gather(0, L.tensor([[1, 2]])),
        lambda L: ints(L).index_put((L.tensor([0, 0]),), L.tensor(1), accumulate=True),
        lambda L: ints(L).take(L.tensor([[0, -1]])),
        lambda L: L.nonzero(L.zeros(0, 3)),
        lambda L: L.zeros(2, 3).scatter(0, L.empty(0, dtype=L.int64), L.empty(0)),
        lambda L: L.zeros(2, 3).gather(0, L.empty(0, dtype=L.int64)),
    ],
)
def test_integers_bools_and_empty_ones_like_pytorch(call: Callable) -> None:
    mine, reference = results(call)
    assert mine.dtype == reference.dtype
    assert mine.shape == reference.shape
    np.testing.assert_array_equal(mine, reference)


# ------------------------------------------------------------------------------------------
# Gradients at special points
# ------------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("reduce", ["amax", "amin", "prod"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(
    ("x", "src"),
    [
        ([3.0, 2.0, 1.0], [3.0, 3.0, 2.0, 2.0]),  # ties
        ([0.0, 2.0, 0.0], [3.0, 0.0, 2.0, 2.0]),  # one zero, two zeros
        ([1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 3.0]),
    ],
)
def test_gradient_at_ties_and_zeros(reduce: str, include_self: bool, x: list, src: list) -> None:
    if not include_self:
        x = [v + 10 for v in x]  # PyTorch counts it among the ties although it does not take part
    grads = []
    for L in (tt, torch):
        a, b = (L.tensor(v, dtype=L.float64).requires_grad_() for v in (x, src))
        index = L.tensor([0, 0, 1, 1])
        y = a.scatter_reduce(0, index, b, reduce, include_self=include_self)
        (y * L.tensor([1.0, 10.0, 100.0])).sum().backward()
        grads.append((a.grad.numpy(), b.grad.numpy()))
    np.testing.assert_allclose(grads[0][0], grads[1][0])
    np.testing.assert_allclose(grads[0][1], grads[1][1])


def test_second_derivative_of_prod_at_zero_is_refused() -> None:
    x = tt.tensor([0.0, 2.0], requires_grad=True)
    y = x.scatter_reduce(0, tt.tensor([0]), tt.tensor([3.0]), "prod")
    with pytest.raises(GradientError, match="prod"):
        tt.autograd.grad(y.sum(), x, create_graph=True)


def test_a_source_larger_than_the_index_has_a_gradient() -> None:
    # PyTorch fails here.
    for name in ("scatter", "scatter_add"):
        x, src = tt.zeros(2, 3), tt.ones(4, 4, requires_grad=True)
        getattr(x, name)(1, tt.tensor([[0, 2]]), src).sum().backward()
        expected = np.zeros((4, 4))
        expected[0, :2] = 1
        np.testing.assert_array_equal(src.grad.numpy(), expected)


def test_an_index_that_is_written_to_is_noticed() -> None:
    x, index = tt.ones(2, 3, requires_grad=True), tt.tensor([[0], [1]])
    y = x.gather(1, index)
    index.fill_(2)
    with pytest.raises(GradientError, match=r"gather: its input 'index'.*changed in place"):
        y.sum().backward()


# ------------------------------------------------------------------------------------------
# Adding and multiplying where places repeat
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6,), (6, 3), (6, 2, 2)])
@pytest.mark.parametrize("size", [0, 1, 4, 50])
def test_add_rows(shape: tuple, size: int) -> None:
    rng = np.random.default_rng(size)
    rows = rng.integers(0, 6, size)
    target, values = rng.normal(size=shape), rng.normal(size=(size, *shape[1:]))
    expected = target.copy()
    np.add.at(expected, rows, values)
    add_rows(target, rows, values)
    np.testing.assert_allclose(target, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(6, 3), (6, 2, 2), (1, 1)])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_add_rows_as_a_kernel(shape: tuple, dtype: type) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    rows = rng.integers(0, shape[0], 50).astype(dtype)
    target, values = (rng.normal(size=(n, *shape[1:])) for n in (shape[0], 50))
    found, frozen = target.astype(np.float32), values.astype(np.float32)
    frozen.flags.writeable = False  # as a gradient may be
    np.add.at(target, rows, values)
    with kernels_for_all_sizes():
        add_rows(found, rows, frozen)
        with pytest.raises(IndexError):  # a kernel would write outside of the array
            add_rows(found, rows + dtype(shape[0]), frozen)
    np.testing.assert_allclose(found, target, rtol=1e-4, atol=1e-5)


def test_multiply_rows() -> None:
    target = np.array([1.0, 2.0, 3.0])
    multiply_rows(target, np.array([0, 2, 0, 0]), np.array([2.0, 5.0, 3.0, 0.5]))
    assert target.tolist() == [3.0, 2.0, 15.0]


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------

X = tt.arange(12.0).reshape(3, 4)
I = tt.tensor  # noqa: E741 - as in the table


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: X.gather(1, I([[5]])), RuntimeError, "gather: index 5 .* 1 of size 4"),
        (lambda: X.gather(1, I([[-1]])), RuntimeError, "gather: index -1 .* 1 of size 4"),
        (lambda: X.gather(1, I([0])), RuntimeError, r"gather: .*\(1,\).*2 dim.*\(3, 4\)"),
        (lambda: X.gather(1, I([[0]] * 4)), RuntimeError, r"gather: .*\(4, 1\).*0.*\(3, 4\)"),
        (lambda: X.gather(1, I([[0.0]])), RuntimeError, "gather: .*float32.*int64"),
        (lambda: X.gather(1, [[0]]), TypeError, "gather: .*list.*tensor"),
        (lambda: X.gather(2, I([[0]])), IndexError, "gather: dim 2 .* -2 to 1"),
        (lambda: X.take_along_dim(I([[9]]), 0), IndexError, "take_along_dim: index 9 .* size 3"),
        (lambda: X.take_along_dim(I([0]), 0), RuntimeError, r"take_along_dim: .*\(1,\).*\(3, 4\)"),
        (lambda: X.index_select(0, I([3])), IndexError, "index_select: index 3 .* 0 of size 3"),
        (lambda: X.index_select(0, I([[0]])), IndexError, r"index_select: .*\(1, 1\).*one dim"),
        (lambda: X.take(I([12])), IndexError, "take: index 12 .* size 12"),
        (lambda: X.scatter(1, I([[4]]), 1.0), RuntimeError, "scatter: index 4 .* 1 of size 4"),
        (lambda: X.scatter(1, I([[0]]), I([[1]])), RuntimeError, "scatter: src .*int64.*float32"),
        (
            lambda: X.scatter(1, I([[0, 1]]), I([[1.0]])),
            RuntimeError,
            r"scatter: .*\(1, 2\).*src.*\(1, 1\)",
        ),
        (lambda: X.scatter(1, I([[0]])), TypeError, "scatter: .*neither src nor value"),
        (
            lambda: X.scatter(1, I([[0]]), 1.0, reduce="sum"),
            RuntimeError,
            "scatter: .*'sum'.*'add' or 'multiply'",
        ),
        (
            lambda: X.scatter_reduce(1, I([[0]]), I([[1.0]]), "add"),
            RuntimeError,
            "scatter_reduce: .*'add'.*'sum'.*'amin'",
        ),
        (
            lambda: X.index_add(0, I([0, 0]), tt.ones(3, 4)),
            RuntimeError,
            r"index_add: .*\(3, 4\).*\(2, 4\)",
        ),
        (
            lambda: X.index_add(0, I([3]), tt.ones(1, 4)),
            RuntimeError,
            "index_add: index 3 .* 0 of size 3",
        ),
        (
            lambda: X.index_copy(0, I([-1]), tt.ones(1, 4)),
            IndexError,
            "index_copy: index -1 .* 0 of size 3",
        ),
        (lambda: X.index_fill(0, I([-4]), 1), IndexError, "index_fill: index -4 .* size 3"),
        (lambda: X.index_fill(0, I([0]), I([1.0])), RuntimeError, r"index_fill: .*\(1,\).*0-d"),
        (lambda: X.index_put((I([0]),), I([1])), RuntimeError, "index_put: .*int64.*float32"),
        (lambda: X.put(I([0, 1]), I([1.0])), IndexError, "put: .*1 elements.*2"),
        (lambda: X.masked_fill(X, 0), RuntimeError, "masked_fill: .*float32.*boolean"),
        (lambda: X.masked_fill(X > 1, I([1.0])), RuntimeError, r"masked_fill: .*\(1,\).*0-d"),
        (lambda: X.masked_fill(X > 1, "a"), TypeError, "masked_fill: .*str.*number"),
        (
            lambda: X.masked_fill(tt.ones(5) > 0, 0),
            RuntimeError,
            r"masked_fill: .*\(3, 4\).*\(5,\)",
        ),
        (lambda: X.masked_select(X), RuntimeError, "masked_select: .*float32.*boolean"),
        (
            lambda: X.masked_scatter(X > 5, tt.ones(2)),
            RuntimeError,
            "masked_scatter: .*2 elements.*at least 6",
        ),
    ],
)
def test_errors_name_op_got_and_expected(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
