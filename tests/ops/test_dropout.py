"""Dropout: what is random about it, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt


def test_share_and_scale() -> None:
    tt.manual_seed(0)
    y = tt.dropout(tt.ones(100, 100), 0.3).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.7)}
    assert abs((y == 0).mean() - 0.3) < 0.02
    assert abs(y.mean() - 1) < 0.02


def test_gradient_goes_where_values_went() -> None:
    x = tt.randn(50, 50, requires_grad=True)
    y = tt.dropout(x, 0.4)
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy() * x.detach().numpy(), y.detach().numpy(), rtol=1e-6)


def test_seed_decides() -> None:
    x = tt.ones(100)
    tt.manual_seed(3)
    first = tt.dropout(x)
    second = tt.dropout(x)
    tt.manual_seed(3)
    assert tt.dropout(x).tolist() == first.tolist() != second.tolist()


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_not_training_returns_the_input_itself(p: float) -> None:
    x = tt.randn(3, 4)
    assert tt.dropout(x, p, training=False) is x


def test_everything_dropped() -> None:
    x = tt.full((2, 3), 5.0, requires_grad=True)
    y = tt.dropout(x, 1.0)
    y.sum().backward()
    assert x.grad is not None
    assert not y.detach().numpy().any() and not x.grad.numpy().any()


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout3d", "alpha_dropout"])
@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_bad_probability(name: str, p: float) -> None:
    shape = (2, 3, 2, 2) if name == "dropout3d" else (2, 3)
    with pytest.raises(ValueError, match=f"{name}: dropout probability .* between 0 and 1, .*{p}"):
        getattr(tt, name)(tt.ones(*shape), p, False)


def test_integers_are_refused() -> None:
    with pytest.raises(RuntimeError, match="dropout: got dtype int64, expected a floating point"):
        tt.dropout(tt.ones(3, dtype=tt.int64))


@pytest.mark.parametrize(
    ("name", "shape", "channels"),
    [
        ("dropout1d", (20, 30, 4), 2),
        ("dropout1d", (50, 4), 1),
        ("dropout2d", (20, 30, 2, 2), 2),
        ("dropout3d", (20, 30, 2, 1, 2), 2),
        ("dropout3d", (50, 2, 1, 2), 1),
    ],
)
def test_whole_channels(name: str, shape: tuple, channels: int) -> None:
    tt.manual_seed(1)
    y = getattr(tt, name)(tt.ones(*shape), 0.5).numpy().reshape(*shape[:channels], -1)
    assert (y == y[..., :1]).all()  # a channel is dropped or kept as a whole
    assert 0.3 < (y == 0).mean() < 0.7


def test_feature_dropout() -> None:
    y = tt.feature_dropout(tt.ones(20, 30, 4), 0.5, True).numpy()
    assert (y == y[..., :1]).all() and 0.3 < (y == 0).mean() < 0.7
    x = tt.ones(2, 3)
    assert tt.feature_dropout(x, 0.5, False) is x


def test_three_dimensions_of_dropout2d_warn() -> None:
    with pytest.warns(UserWarning, match="dropout2d: got 3 dimensions, expected 4"):
        y = tt.dropout2d(tt.ones(20, 30, 4), 0.5).numpy()
    assert (y == y[..., :1]).all()


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4, 5)])
def test_dropout1d_shape(shape: tuple) -> None:
    with pytest.raises(RuntimeError, match=f"dropout1d: got {len(shape)} dimensions, expected 2"):
        tt.dropout1d(tt.ones(*shape))


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "alpha_dropout"])
def test_in_place(name: str) -> None:
    x = tt.ones(40, 5)
    version = x._version
    y = getattr(tt, name)(x, 0.5, True, True)
    assert y is x and x._version > version and (x.numpy() != 1).any()


def test_in_place_on_a_tracked_tensor() -> None:
    x = tt.ones(40, requires_grad=True)
    y = x * 2
    tt.dropout(y, 0.5, inplace=True)
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.detach().numpy())
    with pytest.raises(RuntimeError, match="leaf"):
        tt.dropout(x, 0.5, inplace=True)


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_keeps_mean_and_variance(name: str) -> None:
    tt.manual_seed(0)
    y: Any = getattr(tt, name)(tt.randn(300, 300, 2), 0.2, True).numpy()
    assert y.dtype == np.float32
    assert abs(y.mean()) < 0.02 and abs(y.var() - 1) < 0.03
