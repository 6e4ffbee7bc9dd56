"""Digits that kernels must not lose: large rows, long sums, constant channels, infinite gradients.

The expected numbers are the same op's in float64, where no kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd.variable import wrap
from tinytensor.kernels.route import kernels_for_all_sizes

ROUTES = ["numpy", "numba"]


@pytest.fixture(autouse=True, params=ROUTES)
def route(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both versions of each op."""
    if request.param == "numba":
        pytest.importorskip("numba")
    tt.set_kernels(request.param)
    with kernels_for_all_sizes():
        yield
    tt.set_kernels("auto")


def results(function: Callable, arrays: list, slopes: list, dtype: Any) -> list[np.ndarray]:
    """Outputs and gradients of all inputs."""
    inputs = [wrap(a.astype(dtype)).requires_grad_() for a in arrays]
    y = function(*inputs)
    outputs = list(y) if isinstance(y, tuple) else [y]
    gradients = tt.autograd.grad(outputs, inputs, [wrap(g.astype(dtype)) for g in slopes])
    return [x.detach().numpy() for x in (*outputs, *gradients)]


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_log_softmax_keeps_the_logarithm_of_large_rows(size: float) -> None:
    x = np.array([[size, size, -size], [size, 0, 1], [-size, -size, -size]])
    y, dx = results(lambda x: tt.log_softmax(x, 1), [x], [np.ones((3, 3))], np.float32)
    half, third = -np.log(2), -np.log(3)
    rows = [[half, half, half - 2 * size], [0, -size, 1 - size], [third] * 3]
    np.testing.assert_allclose(y, rows, rtol=1e-6)
    np.testing.assert_allclose(dx[[0, 2]], [[-0.5, -0.5, 1], [0, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("size", [1e4, 1e30])
def test_cross_entropy_keeps_the_logarithm_of_large_rows(size: float, smoothing: float) -> None:
    x, target = np.full((2, 4), size), wrap(np.array([0, 3]))

    def loss(x: Any) -> Any:
        return tt.cross_entropy(x, target, label_smoothing=smoothing)

    y, dx = results(loss, [x], [np.ones(())], np.float32)
    np.testing.assert_allclose(y, np.log(4), rtol=1e-6)
    even = (1 - smoothing) * np.eye(4)[[0, 3]] + smoothing / 4
    np.testing.assert_allclose(dx, (0.25 - even) / 2, atol=1e-6)


def test_attention_weights_of_equal_large_scores() -> None:
    """Backward makes them again: 1/5 each, as in forward, and not 1."""
    q, k, v = np.full((1, 8), 1e4), np.full((5, 8), 1e4), np.arange(5.0)[:, None]
    *_, dv = results(tt.scaled_dot_product_attention, [q, k, v], [np.ones((1, 1))], np.float32)
    np.testing.assert_allclose(dv, np.full((5, 1), 0.2), rtol=1e-6)


BIASED: dict[str, Callable] = {
    "linear": lambda x, b: tt.linear(x, tt.ones((3, 3)).to(x.dtype), b),
    "layer_norm": lambda x, b: tt.layer_norm(x, (3,), None, b),
    "add_layer_norm": lambda x, b: tt.add_layer_norm(x, x, (3,), None, b)[1],
    "batch_norm": lambda x, b: tt.batch_norm(x, None, None, None, b, True),
    "conv1d": lambda x, b: tt.conv1d(x[..., None], tt.ones((3, 3, 1)).to(x.dtype), b)[..., 0],
    "add": lambda x, b: x + b,
}


@pytest.mark.parametrize("rows", [2538, 20_000])
@pytest.mark.parametrize("name", BIASED)
def test_gradient_of_a_bias_over_many_rows(name: str, rows: int) -> None:
    """It is the sum of what comes in, here of one sign, to a few units in the last place."""
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((rows, 3)), rng.uniform(1, 3, (rows, 3)).astype(np.float32)
    *_, db = results(BIASED[name], [x, np.zeros(3)], [g], np.float32)
    np.testing.assert_allclose(db, g.astype(np.float64).sum(axis=0), rtol=4e-7)


@pytest.mark.parametrize("name", ["layer_norm", "batch_norm", "rms_norm"])
def test_gradient_of_a_scale_over_many_rows(name: str) -> None:
    rng = np.random.default_rng(0)
    x, g = rng.uniform(1, 2, (20_000, 2)), rng.uniform(1, 3, (20_000, 2))
    g[:, 0] *= np.sign(x[:, 0] - x[:, 1])  # g·n of one sign
    function = {
        "layer_norm": lambda x, w: tt.layer_norm(x, (2,), w),
        "batch_norm": lambda x, w: tt.batch_norm(x, None, None, w, None, True),
        "rms_norm": lambda x, w: tt.rms_norm(x, (2,), w, 1e-5),
    }[name]
    dw = [results(function, [x, np.ones(2)], [g], dtype)[2] for dtype in (np.float32, np.float64)]
    terms = np.abs(g).sum(axis=0)
    assert (np.abs(dw[0] - dw[1]) <= 4e-7 * terms).all()


@pytest.mark.parametrize("shape", [(64, 3), (7, 3, 33)])
@pytest.mark.parametrize("value", [0.1, 1e5 / 3])
def test_batch_norm_of_constant_channels(shape: tuple, value: float) -> None:
    """Numbers that do not differ are their own mean: y = b and dw = 0."""
    x, g = np.full(shape, value), np.random.default_rng(0).uniform(1, 2, shape)
    y, _, dw, _ = results(
        lambda x, w, b: tt.batch_norm(x, None, None, w, b, True, eps=1e-12),
        [x, np.ones(3), np.ones(3)], [g], np.float32,
    )  # fmt: skip
    np.testing.assert_array_equal(y, np.ones(shape, np.float32))
    np.testing.assert_array_equal(dw, np.zeros(3, np.float32))


def test_batch_norm_of_numbers_a_last_place_apart(request: pytest.FixtureRequest) -> None:
    """Kernels keep what float32 leaves of the mean; without it NumPy is off by 100 %."""
    if "numpy" in request.node.name:
        pytest.skip("NumPy's mean is rounded to float32, as PyTorch's is")
    x, g = np.array([[999998.9375], [999999.0]]), np.array([[1.4229598], [0.0]])
    found, expected = (
        results(lambda x: tt.batch_norm(x, None, None, training=True), [x], [g], dtype)
        for dtype in (np.float32, np.float64)
    )
    for ours, truth in zip(found, expected):
        np.testing.assert_allclose(ours, truth, rtol=2e-5)


@pytest.mark.parametrize("name", ["layer_norm", "add_layer_norm"])
def test_layer_norm_of_constant_rows(name: str, request: pytest.FixtureRequest) -> None:
    """Kernels find the mean of equal numbers; NumPy's may be off by one last place."""
    if "numpy" in request.node.name:
        pytest.skip("NumPy's mean of equal numbers is not exact")
    x, g = np.full((2, 127), -553.5145), np.random.default_rng(0).uniform(1, 2, (2, 127))
    arguments: dict[str, Callable] = {
        "layer_norm": lambda x, w: tt.layer_norm(x, (127,), w),
        "add_layer_norm": lambda x, w: tt.add_layer_norm(x, 0 * x, (127,), w)[1],
    }
    y, _, dw = results(arguments[name], [x, np.ones(127)], [g], np.float32)
    assert not y.any() and not dw.any()


def test_residual_norm_takes_the_sum_as_it_was_rounded() -> None:
    """A row of one number is its own mean, also if x + r is not exact."""
    x, r, g = np.array([[1e7], [1e8]]), np.array([[0.3], [3.3]]), np.ones((2, 1))
    found = results(
        lambda x, r: tt.add_layer_norm(x, r, (1,), eps=1e-12), [x, r], [0 * g, g], np.float32
    )
    np.testing.assert_array_equal(found[2], 0 * g)


def test_norm_with_a_large_weight_does_not_overflow_on_the_way() -> None:
    x, w = np.array([[1e3, 3e3]]), np.array([1e36, 1e36])
    y, *_ = results(lambda x, w: tt.rms_norm(x, (2,), w, 1e-5), [x, w], [0 * x], np.float32)
    np.testing.assert_allclose(y, [[0.4472136e36, 1.3416408e36]], rtol=1e-6)


def test_gelu_far_out() -> None:
    x = np.array([-1e30, -1e20, 1e20, 1e30])
    with np.errstate(over="ignore"):
        y, dx = results(
            lambda x: tt.gelu(x, approximate="tanh"), [x], [np.ones(4)], np.float32
        )  # fmt: skip
    np.testing.assert_allclose(y, np.maximum(x, 0), rtol=1e-6)
    np.testing.assert_array_equal(dx, [0, 0, 1, 1])


def test_embedding_keeps_infinite_gradients_to_their_rows() -> None:
    weight, g = np.zeros((4, 2)), np.ones((3, 2))
    g[0] = np.inf, np.nan
    *_, dw = results(
        lambda w: tt.embedding(wrap(np.array([1, 2, 2])), w), [weight], [g], np.float32
    )
    np.testing.assert_array_equal(dw, [[0, 0], [np.inf, np.nan], [2, 2], [0, 0]])
