"""Embedding: gradients that are not derivatives, ranges, and rows that are scaled down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

INDEX = [[0, 2, 2], [1, 2, 4]]
COUNTS = np.array([1.0, 1.0, 3.0, 0.0, 1.0])[:, None]


@pytest.mark.parametrize("rows", [5, 1000])  # the two ways in which gradients are added up
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, COUNTS),
        ({"padding_idx": 2}, COUNTS * np.array([1, 1, 0, 1, 1])[:, None]),
        ({"scale_grad_by_freq": True}, np.minimum(COUNTS, 1)),
        ({"scale_grad_by_freq": True, "padding_idx": 0},
         np.minimum(COUNTS, 1) * np.array([0, 1, 1, 1, 1])[:, None]),
        ({"sparse": True}, COUNTS),
    ],
)  # fmt: skip
def test_gradient(rows: int, options: dict, expected: np.ndarray) -> None:
    table = tt.randn(rows, 3, requires_grad=True)
    tt.embedding(tt.tensor(INDEX), table, **options).sum().backward()
    assert table.grad is not None
    np.testing.assert_allclose(table.grad.numpy()[:5], np.broadcast_to(expected, (5, 3)))
    assert not table.grad.numpy()[5:].any()


def test_negative_padding_counts_from_the_end() -> None:
    table = tt.randn(5, 3, requires_grad=True)
    tt.embedding(tt.tensor(INDEX), table, padding_idx=-1).sum().backward()
    assert table.grad is not None
    assert table.grad[4].tolist() == [0, 0, 0] and table.grad[2].tolist() == [3, 3, 3]


@pytest.mark.parametrize("rows", [10, 1000])
def test_many_repetitions_add_up_like_add_at(rows: int) -> None:
    rng = np.random.default_rng(0)
    index = rng.integers(0, rows, (40, 50))
    g = rng.standard_normal((40, 50, 8))
    table = tt.randn(rows, 8, dtype=tt.float64).requires_grad_()
    tt.embedding(tt.tensor(index), table).backward(tt.tensor(g))
    expected = np.zeros((rows, 8))
    np.add.at(expected, index, g)
    assert table.grad is not None
    np.testing.assert_allclose(table.grad.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_empty_index(shape: tuple) -> None:
    table = tt.randn(5, 3, requires_grad=True)
    y = tt.embedding(tt.zeros(*shape, dtype=tt.int64), table)
    assert y.shape == (*shape, 3)
    y.sum().backward()
    assert table.grad is not None and not table.grad.numpy().any()


@pytest.mark.parametrize(
    ("index", "table", "options", "error", "message"),
    [
        (
            [0, 5],
            (5, 3),
            {},
            IndexError,
            "embedding: index 5 is out of range for a table of 5 rows",
        ),
        ([-1], (5, 3), {}, IndexError, "embedding: index -1 is out of range for a table of 5"),
        ([1.0], (5, 3), {}, RuntimeError, "embedding: input has dtype float32, expected integers"),
        ([1], (5,), {}, RuntimeError, r"embedding: 'weight' must be 2-D.*\(5,\)"),
        ([1], (5, 3), {"padding_idx": 5}, AssertionError, "padding_idx 5 .* table of 5 rows"),
    ],
)
def test_errors(index: list, table: tuple, options: dict, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        tt.embedding(tt.tensor(index), tt.ones(*table), **options)


def test_max_norm_scales_used_rows_in_place() -> None:
    table = tt.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], requires_grad=True)
    y = tt.embedding(tt.tensor([0, 1, 0]), table, max_norm=1.0)
    expected = [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]]  # the last row was not looked up
    np.testing.assert_allclose(table.detach().numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(y.detach().numpy()[0], [0.6, 0.8], rtol=1e-6)
    y.sum().backward()
    assert table.grad is not None and table.grad.tolist() == [[2, 2], [1, 1], [0, 0]]


def test_index_changed_after_the_lookup() -> None:
    """A later write to the indices must not move the gradients silently."""
    index = tt.tensor([0, 1])
    table = tt.ones(3, 1, requires_grad=True)
    y = tt.embedding(index, table)
    index[0] = 2
    with pytest.raises(RuntimeError, match=r"embedding: its input 'index'.* was changed in place"):
        y.sum().backward()
