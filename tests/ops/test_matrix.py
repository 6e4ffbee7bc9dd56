"""Triangles, diagonals, padding, counting: dtypes, copies, errors. The rest is in the table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tinytensor as tt

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

X = tt.arange(12.0).reshape(3, 4)


@needs_torch
@pytest.mark.parametrize(
    "call",
    [
        lambda L, f: L.tril(L.ones(3, 3) > 0, -1),
        lambda L, f: L.triu(L.zeros(2, 0, 3)),
        lambda L, f: L.tril_indices(3, 0),
        lambda L, f: L.tril_indices(2, 3, -5),
        lambda L, f: L.triu_indices(3, 2, 5),
        lambda L, f: L.triu_indices(3, 2, dtype=L.int32),
        lambda L, f: L.diag(L.zeros(0)),
        lambda L, f: L.diag(L.tensor([1, 2]), -1),
        lambda L, f: L.diag_embed(L.tensor([True, False])),
        lambda L, f: L.trace(L.ones(3, 3, dtype=L.int32)),
        lambda L, f: L.block_diag(),
        lambda L, f: L.block_diag(L.ones(0, 2), L.ones(1, 1)),
        lambda L, f: f.pad(L.arange(4), (1, 1), value=2.5),
        lambda L, f: f.pad(L.ones(2) > 0, (1, 0), value=True),
        lambda L, f: f.pad(L.ones(2, 4), (-2, -2)),
        lambda L, f: f.pad(L.ones(0, 3), (1, 1, 1, 1)),
        lambda L, f: f.pad(L.ones(2, dtype=L.float16), (1, 1), value=float("-inf")),
        lambda L, f: f.pad(L.arange(8.0).reshape(2, 4), (3, -1), mode="reflect"),
        lambda L, f: f.pad(L.arange(8.0).reshape(2, 4), (-2, 1), mode="reflect"),
        lambda L, f: f.one_hot(L.tensor([], dtype=L.int64), 3),
        lambda L, f: L.bincount(L.tensor([], dtype=L.int64), minlength=2),
        lambda L, f: L.bincount(L.tensor([1, 1], dtype=L.uint8)),
        lambda L, f: L.bincount(L.tensor([0, 2, 2]), L.tensor([1, 2, 3])),
        lambda L, f: L.histc(L.tensor([]), 3),
        lambda L, f: L.histc(L.tensor([-1.0, 0, 1, 2, 2, 9]), 4, 0, 2),
    ],
)
def test_integers_bools_and_edges_like_pytorch(call: Callable) -> None:
    mine, reference = call(tt, tt).numpy(), call(torch, F).numpy()
    assert mine.dtype == reference.dtype
    assert mine.shape == reference.shape
    np.testing.assert_array_equal(mine, reference)


def test_diag_of_a_matrix_is_a_copy() -> None:
    x = tt.ones(2, 2)
    x.diag().zero_()
    assert x.sum().item() == 4
    x.diagonal().zero_()
    assert x.sum().item() == 2


def test_fill_diagonal_() -> None:
    x = tt.ones(2, 3, requires_grad=True)
    y = x * 1
    assert y.fill_diagonal_(5) is y
    assert y.tolist() == [[5, 1, 1], [1, 5, 1]]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 1, 1], [1, 0, 1]]


def test_nothing_from_outside_the_triangle() -> None:
    x = tt.tensor([[1.0, float("nan")], [2.0, float("inf")]], requires_grad=True)
    y = x.tril(-1)
    assert y.tolist() == [[0, 0], [2, 0]]
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0, 0], [1, 0]]


def test_counts_are_not_tracked() -> None:
    x = tt.ones(3, requires_grad=True)
    assert not tt.histc(x, 3).requires_grad
    assert not tt.bincount(tt.tensor([0, 1, 1]), x).requires_grad


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tt.tril(X[0]), RuntimeError, r"tril: .*\(4,\).*2 dimensions"),
        (lambda: tt.triu(X[0]), RuntimeError, r"triu: .*\(4,\).*2 dimensions"),
        (lambda: tt.diag(X[None]), RuntimeError, r"diag: .*\(1, 3, 4\).*vector or a matrix"),
        (lambda: tt.diag_embed(X, 0, 1, 1), RuntimeError, "diag_embed: dim1 and dim2 are both 1"),
        (lambda: tt.diag_embed(X, 0, 0, 3), IndexError, "diag_embed: dim 3 .* -3 to 2"),
        (lambda: tt.diagonal_scatter(X, X[0]), RuntimeError, r"diagonal_scatter: .*\(4,\).*\(3,\)"),
        (lambda: tt.ones(3).fill_diagonal_(0), RuntimeError, r"fill_diagonal_: .*\(3,\).*matrix"),
        (lambda: tt.trace(X[0]), RuntimeError, r"trace: .*\(4,\).*matrix"),
        (lambda: tt.block_diag(X[None]), RuntimeError, r"block_diag: .*\(1, 3, 4\).*2 dim"),
        (lambda: tt.pad(X, 1), TypeError, "pad: .*int.*tuple"),
        (lambda: tt.pad(X, (1, 2, 3)), RuntimeError, r"pad: .*3 numbers.*\(3, 4\)"),
        (lambda: tt.pad(X, (1,) * 6), RuntimeError, r"pad: .*6 numbers.*\(3, 4\)"),
        (lambda: tt.pad(X, (-2, -3)), RuntimeError, r"pad: \(-2, -3\).*1.*\(3, 4\)"),
        (lambda: tt.pad(X, (4, 1), mode="reflect"), RuntimeError, "reflect.*at most 3"),
        (lambda: tt.pad(X, (1, 5), mode="circular"), RuntimeError, "circular.*at most 4"),
        (lambda: tt.pad(X, (1, 1), mode="reflect", value=3), RuntimeError, "takes no value, got 3"),
        (lambda: tt.pad(X, (1, 1), mode="zeros"), NotImplementedError, "'zeros'.*constant"),
        (lambda: tt.one_hot(tt.tensor([0, 2]), 2), RuntimeError, "one_hot: got class 2"),
        (lambda: tt.one_hot(tt.tensor([-1])), RuntimeError, "one_hot: got class -1"),
        (lambda: tt.one_hot(tt.tensor([1.0])), RuntimeError, "one_hot: .*float32.*int64"),
        (lambda: tt.one_hot(tt.zeros(0, dtype=tt.int64)), RuntimeError, "one_hot: .*empty"),
        (lambda: tt.bincount(tt.tensor([-1])), RuntimeError, "bincount: got -1"),
        (lambda: tt.bincount(tt.tensor([[1]])), RuntimeError, r"bincount: .*\(1, 1\).*vector"),
        (lambda: tt.bincount(tt.tensor([1]), X), RuntimeError, r"bincount: .*\(3, 4\).*\(1,\)"),
        (lambda: tt.histc(X, 0), RuntimeError, "histc: got 0 bins"),
        (lambda: tt.histc(X, 2, 5, 1), RuntimeError, "histc: got min 5 and max 1"),
    ],
)
def test_errors_name_op_got_and_expected(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
