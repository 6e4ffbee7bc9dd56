"""Running totals, beyond the op table: dtypes, errors, in-place forms, long input."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt


@pytest.mark.parametrize("dtype", [tt.bool, tt.uint8, tt.int32])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_integers_run_in_int64(name: str, dtype: tt.dtype) -> None:
    x = tt.tensor([1, 1, 1], dtype=dtype)
    assert getattr(tt, name)(x, 0).dtype == tt.int64
    assert getattr(tt, name)(x, 0, dtype=tt.float32).dtype == tt.float32


def test_in_place() -> None:
    x = tt.tensor([1.0, 2.0, 3.0])
    assert x.cumsum_(0) is x
    assert x.tolist() == [1, 3, 6]
    assert x.cumprod_(0).tolist() == [1, 3, 18]


def test_in_place_on_a_tracked_tensor() -> None:
    x = tt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y.cumsum_(0)
    y.sum().backward()
    assert x.grad.tolist() == [3, 2, 1]


def test_logcumsumexp_of_integers_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"^logcumsumexp: got dtype int64"):
        tt.logcumsumexp(tt.tensor([1, 2]), 0)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"])
@pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
def test_result_has_memory_of_its_own(name: str, shape: tuple) -> None:
    x = tt.ones(shape)
    result = getattr(tt, name)(x, -1)
    for y in result if isinstance(result, tuple) else (result,):
        y.fill_(7)
    assert x.sum().item() == x.numel()


def test_diff_of_order_0_is_a_copy() -> None:
    x = tt.ones(3)
    x.diff(0).fill_(7)
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 1000])
def test_every_length(length: int) -> None:
    """The doubling scan behind these must be right at, below and above powers of two."""
    array = np.random.default_rng(length).normal(size=(length, 2))
    x = tt.tensor(array)
    assert np.array_equal(x.cummax(0).values.numpy(), np.maximum.accumulate(array))
    assert np.array_equal(x.cummin(0).values.numpy(), np.minimum.accumulate(array))
    expected = np.logaddexp.accumulate(array)
    np.testing.assert_allclose(x.logcumsumexp(0).numpy(), expected, rtol=1e-12)


def test_long_cumprod_with_a_zero_to_second_order() -> None:
    x = tt.ones(50_000, dtype=tt.float64)
    x[10] = 0
    x.requires_grad_()
    (g,) = tt.autograd.grad(x.cumprod(0).sum(), [x], create_graph=True)
    # dy/dx₁₀ counts the elements from 10 on; each before it only what comes before the zero.
    assert g[10].item() == 49_990
    assert g[0].item() == 10
    assert g[11].item() == 0
    (gg,) = tt.autograd.grad(g[10], [x])
    assert gg[11].item() == 49_989
    assert gg[0].item() == 49_990


@pytest.mark.parametrize(
    "x, n, message",
    [(tt.tensor(1.0), 1, "^diff: got a 0-d tensor"), (tt.zeros(3), -1, "^diff: got n = -1")],
)
def test_diff_refuses(x: tt.Tensor, n: int, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        tt.diff(x, n)
