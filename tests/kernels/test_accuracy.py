"""Digits that kernels must not lose: large rows, long sums, constant channels, infinite gradients.

The expected numbers are the same op's in float64, where no kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from tinytensor.autograd.variable import wrap
from tinytensor.kernels.machinery.route import kernels_for_all_sizes

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


def test_layer_norm_of_constant_rows() -> None:
    """Numbers that do not differ are their own mean: y = 0 and dw = 0."""
    x, g = np.full((2, 127), -553.5145), np.random.default_rng(0).uniform(1, 2, (2, 127))
    y, _, dw = results(lambda x, w: tt.layer_norm(x, (127,), w), [x, np.ones(127)], [g], np.float32)
    assert not y.any() and not dw.any()


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


def test_layer_norm_of_constant_rows_in_a_graph_of_gradients() -> None:
    x = wrap(np.full((1, 127), -553.5145, np.float32)).requires_grad_()
    w = tt.ones(127).requires_grad_()
    (dw,) = tt.autograd.grad(tt.layer_norm(x, (127,), w).sum(), w, create_graph=True)
    assert not dw.detach().numpy().any()


def test_batch_norm_of_channels_with_equal_numbers_in_each_sample() -> None:
    """Sums of equal numbers round in one direction all the way."""
    x = np.repeat([[[-0.6782497]], [[0.70001924]], [[0.06974962]]], 207, axis=2)
    y, _ = results(lambda x: tt.batch_norm(x, None, None, training=True), [x], [x], np.float32)
    centered = x.astype(np.float32).astype(np.float64) - x.astype(np.float32).mean(dtype=np.float64)
    np.testing.assert_allclose(y, centered / np.sqrt((centered**2).mean() + 1e-5), rtol=4e-7)


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_cross_entropy_passes_nothing_to_ignored_rows(smoothing: float) -> None:
    """Not even NaN, which is ∞·0."""
    x, g = np.zeros((2, 3)), np.array([np.inf, 1.0])
    _, dx = results(
        lambda x: tt.cross_entropy(
            x, wrap(np.array([-100, 1])), reduction="none", label_smoothing=smoothing
        ),
        [x], [g], np.float32,
    )  # fmt: skip
    np.testing.assert_array_equal(dx[0], np.zeros(3))
    assert np.isfinite(dx[1]).all() and dx[1].any()


def shut_lstm(h: Any, c: Any) -> Any:
    eye = tt.eye(1).to(h.dtype)
    return tt.lstm_sequence(0 * h[None], h, c, eye.repeat(4, 1), -eye.repeat(4, 1))[1]


def shut_lstm_cell(h: Any, c: Any) -> Any:
    eye = tt.eye(1).to(h.dtype)
    return tt.lstm_cell(0 * h, (h, c), eye.repeat(4, 1), -eye.repeat(4, 1))[1]


def shut_gru(h: Any, c: Any) -> Any:
    eye = tt.eye(1).to(h.dtype)
    b = 1e30 * tt.ones(3).to(h.dtype)
    return tt.gru_sequence(h[None], c, eye.repeat(3, 1), 0 * eye.repeat(3, 1), b)


def shut_gru_cell(h: Any, c: Any) -> Any:
    eye = tt.eye(1).to(h.dtype)
    b = 1e30 * tt.ones(3).to(h.dtype)
    return tt.gru_cell(h, c, eye.repeat(3, 1), 0 * eye.repeat(3, 1), b)


@pytest.mark.parametrize("cell", [shut_lstm, shut_lstm_cell, shut_gru, shut_gru_cell])
def test_gates_that_are_shut_pass_no_overflow(cell: Callable) -> None:
    """The gradient of a gate is slope·state·σ′: the first two overflow, and σ′ is 0."""
    h, c, g = np.full((3, 1), 1e3), np.full((3, 1), 1e13), np.full((3, 1), 1e30)
    if cell is shut_gru:
        g = g[None]
    _, *gradients = results(cell, [h, c], [g], np.float32)
    for gradient in gradients:
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("keys", [7, 32, 224])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_gradient_with_equal_values(keys: int, causal: bool) -> None:
    """dS = A·(dA − Σ dA·A) is 0, and so are dQ and dK, however dA was rounded."""
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((224, 16)), rng.standard_normal((keys, 16))
    value = rng.uniform(100, 1000, 16)
    g = rng.standard_normal((224, 16))
    g[:, -1] = -(g[:, :-1] @ value[:-1]) / value[-1]  # dA = g·value is far less than its terms
    _, dq, dk, _ = results(
        lambda *qkv: tt.scaled_dot_product_attention(*qkv, is_causal=causal),
        [q, k, np.tile(value, (keys, 1))], [g], np.float32,
    )  # fmt: skip
    terms = np.abs(g) @ value
    assert np.abs(dq).max() < 1e-9 * terms.max() and np.abs(dk).max() < 1e-9 * terms.sum()


@pytest.mark.parametrize("size", [(7, 8, 9), (5, 2, 8), (4, 4, 4), (9, 3), (12,)])
def test_adaptive_average_of_numbers_near_the_largest(size: tuple) -> None:
    """The mean of numbers is no larger than they are, also if their sum is beyond float32."""
    rng = np.random.default_rng(0)
    x = (rng.uniform(-1, 1, (2, *size)) * 3.4e38).astype(np.float32)
    pool = getattr(nn.functional, f"adaptive_avg_pool{len(size)}d")
    counts = (4, 2, 4)[: len(size)]
    with np.errstate(over="ignore", invalid="ignore"):
        g = rng.standard_normal((2, *counts))
        found, expected = (
            results(lambda x: pool(x, counts), [x], [g], dtype)
            for dtype in (np.float32, np.float64)
        )
    for ours, truth in zip(found, expected):
        np.testing.assert_allclose(ours, truth, rtol=1e-5, atol=1e-6 * np.abs(truth).max())


@pytest.mark.parametrize("size, counts", [((7, 5), (3, 2)), ((9,), (4,)), ((5, 4, 6), (2, 3, 4))])
def test_adaptive_maximum_of_ties(size: tuple, counts: tuple) -> None:
    """The first of the largest in a window has the gradient, in the order of memory."""
    x = np.round(np.random.default_rng(0).standard_normal((3, *size)))
    pool = getattr(nn.functional, f"adaptive_max_pool{len(size)}d")
    y, dx = results(lambda x: pool(x, counts), [x], [np.ones((3, *counts))], np.float32)
    largest, expected = np.empty_like(y), np.zeros_like(dx)
    for place in np.ndindex(3, *counts):
        window: tuple = (place[0],)
        for i, n, m in zip(place[1:], size, counts):
            window += (slice(i * n // m, -(-(i + 1) * n // m)),)
        part = x[window]
        largest[place] = part.max()
        first = np.unravel_index(part.argmax(), part.shape)
        expected[(place[0], *(s.start + j for s, j in zip(window[1:], first)))] += 1
    np.testing.assert_array_equal(y, largest)
    np.testing.assert_array_equal(dx, expected)


MANY = 1_000_000
LAYOUTS: dict[str, Callable] = {
    "rows": lambda x: x.sum(0),
    "transposed": lambda x: x.T.sum(1),
    "all of a part": lambda x: x[:, :3].sum() / 3,
    "all of an expanded one": lambda x: x[:, :1].expand(MANY, 2).sum() / 2,
    "mean": lambda x: x[:, :3].mean(0) * MANY,
    "softmax": lambda x: MANY * 0.1 * MANY * tt.softmax(x.T, 1)[:, 0],
    "log_softmax": lambda x: MANY * 0.1 * MANY * tt.exp(tt.log_softmax(x.T, 1)[:, 0]),
    "cumsum": lambda x: x.cumsum(0)[-1],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_sum_of_a_million_in_every_layout(name: str) -> None:
    """Added up one after the other in float32, it would be off by 1 %."""
    y = LAYOUTS[name](tt.full((MANY, 4), 0.1)).numpy()
    np.testing.assert_allclose(y, np.full(y.shape, 1e5), rtol=2e-6)


def test_cumprod_keeps_its_digits() -> None:
    x = np.full(10_000, 1.0001, np.float32)
    expected = np.cumprod(x.astype(np.float64))
    np.testing.assert_allclose(wrap(x).cumprod(0).numpy(), expected, rtol=1e-7)
