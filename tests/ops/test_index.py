"""x[index]: what is a view, layouts, dtypes, errors. The values and gradients are in the table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

X = np.arange(24.0).reshape(2, 3, 4)


# ------------------------------------------------------------------------------------------
# Views and copies
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "is_view"),
    [
        (0, True),
        (np.s_[:, 1:], True),
        (np.s_[..., ::2], True),
        ((), True),
        (None, True),
        (tt.tensor(1), True),
        (np.int64(1), True),
        (np.array(1), True),
        (np.s_[0, 1, 2], True),
        ([0], False),
        (np.s_[:, [1, 2]], False),
        (True, False),
        (X > 3, False),
        (np.s_[0, [0, 1]], False),
    ],
    ids=str,
)
def test_what_shares_memory(index: Any, is_view: bool) -> None:
    x = tt.tensor(X)
    y = x[index]
    y.fill_(-1)
    assert ((x == -1).any().item()) == is_view
    assert (y._base is not None) == is_view
    assert y._version == 1 and x._version == int(is_view)


@pytest.mark.parametrize(
    "index",
    [np.s_[:, [2, 0]], np.s_[..., [3, 1]], np.s_[:, [0, 1], [2, 2]], np.s_[[1], :, [0, 3]]],
    ids=str,
)
def test_a_copy_lies_in_memory_row_by_row(index: Any) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = tt.tensor(X)[index], torch.tensor(X)[index]
    assert ours.stride() == theirs.stride() and ours.is_contiguous()
    np.testing.assert_array_equal(ours.view(-1).numpy(), theirs.view(-1).numpy())


def test_a_view_of_views_has_the_gradient_of_the_base() -> None:
    x = tt.tensor(X, requires_grad=True)
    x[1][1:][:, 2].sum().backward()
    expected = np.zeros((2, 3, 4))
    expected[1, 1:, 2] = 1
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), expected)


# ------------------------------------------------------------------------------------------
# Kinds of index
# ------------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize(
    "index",
    [
        lambda L: [[0, 1], [1, 2]],  # a list of lists is a tuple in disguise
        lambda L: [slice(0, 1), 1],
        lambda L: [None, 0],
        lambda L: [L.tensor([0, 1]), L.tensor([1, 0])],
        lambda L: L.tensor([0, 1], dtype=L.uint8),  # a mask, from before there was bool
        lambda L: L.tensor(1, dtype=L.uint8),
        lambda L: L.tensor([0, 1], dtype=L.int32),
        lambda L: np.array([1, 0, 1]),
        lambda L: np.array([True, False]),
        lambda L: np.array([], dtype=np.float64),
        lambda L: (slice(L.tensor(0), L.tensor(1)), L.tensor(2)),
        lambda L: ((0, 1), (1, 2)),
        lambda L: (0, slice(None), [0, 1]),  # unlike NumPy, the integer does not count as array
        lambda L: ([0, 1], slice(None), [0, 1]),
        lambda L: (..., ...),
        lambda L: (False, [0]),
    ],
)
def test_like_pytorch(index: Callable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of a uint8 mask
        expected = torch.tensor(X)[index(torch)].numpy()
        found = tt.tensor(X)[index(tt)].numpy()
    np.testing.assert_array_equal(found, expected)
    assert found.shape == expected.shape


@pytest.mark.parametrize("dtype", [tt.int8, tt.int16, tt.int32, tt.int64])
def test_any_integer_dtype_is_an_index(dtype: tt.dtype) -> None:
    x = tt.arange(600.0).reshape(300, 2).requires_grad_()
    index = tt.tensor([100, -1, 100], dtype=dtype)
    y = x[index, [1, 1, 1]]
    assert y.tolist() == [201, 599, 201]
    y.sum().backward()
    assert x.grad is not None
    assert x.grad[100, 1].item() == 2 and x.grad[299, 1].item() == 1 and x.grad.sum().item() == 3


@pytest.mark.parametrize("dtype", [tt.bool, tt.uint8, tt.int32, tt.float16, tt.float32])
def test_the_dtype_is_kept(dtype: tt.dtype) -> None:
    x = tt.ones(2, 3).to(dtype)
    for y in (x[0], x[:, 1], x[[0, 0]], x[x == 1]):
        assert y.dtype == dtype


def test_many_repeated_rows_add_up() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, 1000)
    weight = rng.normal(size=(1000, 7))
    x = tt.zeros(5, 7, dtype=tt.float64, requires_grad=True)
    x[tt.tensor(rows)].backward(tt.tensor(weight))
    expected = np.zeros((5, 7))
    np.add.at(expected, rows, weight)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (2, IndexError, "getitem: index 2 .* 0 .* size 2"),
        (np.s_[:, -4], IndexError, "getitem: index -4 .* 1 .* size 3"),
        (np.s_[[0], 5], IndexError, "getitem: index 5 .* 1 .* size 3"),
        ([0, 7], IndexError, "getitem: index 7 .* 0 .* size 2"),
        (np.s_[:, [0, -9]], IndexError, "getitem: index -9 .* 1 .* size 3"),
        (np.s_[0, 0, 0, 0], IndexError, "getitem: too many indices.* 3.* 4"),
        (np.s_[0, 0, 0, [0]], IndexError, "getitem: too many indices.* 4 .* 3"),
        (np.ones(3, dtype=bool), IndexError, r"getitem: .*mask.*\(3,\).*\(2,\).*\(2, 3, 4\)"),
        (np.s_[:, np.ones((3, 2), dtype=bool)], IndexError, r"mask.*\(3, 2\).*\(3, 4\)"),
        (1.5, IndexError, "getitem: .*float"),
        ("a", IndexError, "getitem: .*str"),
        ({}, IndexError, "getitem: .*dict"),
        (np.array([0.5]), IndexError, "getitem: .*float64.*integers"),
        ([0.5], IndexError, "getitem: .*float64.*integers"),
        (np.s_[[0, 1], [0, 1, 2]], IndexError, r"getitem: .*\(2,\).*\(3,\)"),
        (np.s_[::-1], ValueError, "getitem: .*step -1.*flip"),
        (np.s_[[0], ::-2], ValueError, "getitem: .*step -2.*flip"),
        (np.s_[::0], ValueError, "getitem: .*step 0"),
    ],
    ids=str,
)
def test_errors_name_what_was_got_and_expected(index: Any, error: type, message: str) -> None:
    x = tt.tensor(X)
    with pytest.raises(error, match=message):
        x[index]
    with pytest.raises(error):
        x[index] = 0
    np.testing.assert_array_equal(x.numpy(), X)


def test_a_0d_tensor_has_no_elements_to_index() -> None:
    with pytest.raises(IndexError, match="0 dimensions; use item"):
        tt.tensor(1.0)[0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tt.select_scatter(x, tt.ones(3), 0, 1), RuntimeError, r"\(3,\).*\(4,\)"),
        (lambda x: tt.select_scatter(x, tt.ones(4), 0, 9), IndexError, "index 9"),
        (lambda x: tt.slice_scatter(x, tt.ones(3, 4), 0, 1), RuntimeError, r"\(3, 4\).*\(2, 4\)"),
        (lambda x: tt.slice_scatter(x, tt.ones(3, 4), 2), IndexError, "slice_scatter: dim 2"),
    ],
)
def test_errors_of_the_scatters(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call(tt.zeros(3, 4))
