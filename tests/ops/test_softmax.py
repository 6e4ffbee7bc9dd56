"""Softmax: what a row of the table cannot say."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_dim_out_of_range(name: str) -> None:
    with pytest.raises(IndexError, match=r"softmax: dim 3 is out of range .* 2 dim.* -2 to 1"):
        getattr(tt, name)(tt.zeros(2, 3), 3)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((4,), 0), ((2, 3), 1), ((2, 3, 2), 0), ((1, 2, 3, 2), 1)]
)
def test_missing_dim_is_guessed_with_a_warning(name: str, shape: tuple, dim: int) -> None:
    x = tt.randn(*shape)
    function = getattr(tt, name)
    with pytest.warns(UserWarning, match="dim is not given") as found:
        y = function(x)
    assert found[0].filename == __file__
    np.testing.assert_array_equal(y.numpy(), function(x, dim).numpy())


@pytest.mark.parametrize("dtype", [tt.int64, tt.bool])
def test_integers_need_a_dtype(dtype: tt.dtype) -> None:
    x = tt.ones(3, dtype=dtype)
    with pytest.raises(RuntimeError, match=f"softmax: got .*{dtype.name}.*floating point"):
        tt.softmax(x, 0)
    assert tt.softmax(x, 0, dtype=tt.float64).dtype == tt.float64


def test_dtype_is_applied_first() -> None:
    x = tt.tensor([1e3, 1e3 + 1e-5], dtype=tt.float64)
    assert tt.softmax(x, 0, dtype=tt.float32).tolist() == [0.5, 0.5]
    assert tt.softmax(x, 0).tolist() != [0.5, 0.5]


def test_fully_masked_row_is_nan_as_in_pytorch() -> None:
    y = tt.softmax(tt.full((2, 3), -float("inf")), 1)
    assert np.isnan(y.numpy()).all()


def test_input_is_not_changed() -> None:
    x = tt.randn(3, 4)
    before = x.numpy().copy()
    tt.softmax(x, 1)
    tt.log_softmax(x, 1)
    np.testing.assert_array_equal(x.numpy(), before)


def test_gumbel_softmax() -> None:
    tt.manual_seed(0)
    logits = tt.tensor([[2.0, 0.0, -1.0]]).expand(4000, 3).contiguous().requires_grad_()
    soft = tt.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.sum(1).detach().numpy(), 1, rtol=1e-5)
    hard = tt.gumbel_softmax(logits, hard=True)
    assert set(np.unique(np.round(hard.detach().numpy(), 5))) == {0.0, 1.0}
    # The classes are chosen as often as softmax says.
    expected = tt.softmax(logits[0], 0).detach().numpy()
    np.testing.assert_allclose(hard.mean(0).detach().numpy(), expected, atol=0.03)
    hard[:, 0].sum().backward()
    assert logits.grad is not None and np.abs(logits.grad.numpy()).max() > 0
