"""Constraints accept and reject what PyTorch's do, also near the edge and with batch dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

NUMBERS = [-2.0, -1.0, -1e-7, 0.0, 1e-7, 0.5, 1.0, 1.0 + 1e-6, 2.0, 2.5, 3.0, 7.0, np.inf, np.nan]
VECTORS = [
    [0.2, 0.3, 0.5], [0.2, 0.3, 0.5 + 4e-7], [0.2, 0.3, 0.5 + 3e-6], [0.2, 0.3, 0.501],
    [1.2, -0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 2.0, 1.0],
    [1.0, 1.5, 0.5], [np.nan, 0.5, 0.5],
]  # fmt: skip
IDENTITY = np.eye(3)
LOWER = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.48, 0.64, 0.6]])
SYMMETRIC = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 0.8]])


def at(matrix: np.ndarray, i: int, j: int, by: float) -> np.ndarray:
    changed = matrix.copy()
    changed[i, j] += by
    return changed


MATRICES = {
    "square": [
        IDENTITY, LOWER, SYMMETRIC, -SYMMETRIC, 0 * SYMMETRIC, 2 * LOWER, LOWER.T,
        at(SYMMETRIC, 0, 1, 4e-7), at(SYMMETRIC, 0, 1, 2e-5), at(SYMMETRIC, 0, 1, 5e-4),
        at(LOWER, 0, 1, 1e-9), at(LOWER, 2, 2, 1e-3), at(LOWER, 1, 1, -1.6), at(LOWER, 0, 0, -1.0),
        SYMMETRIC - 0.7 * IDENTITY, SYMMETRIC - 2 * IDENTITY, np.diag([1.0, 1.0, 0.0]),
    ],
    "wide": [np.ones((2, 3)), np.eye(2, 3)],
    "tall": [np.ones((3, 2)), np.eye(3, 2)],
}  # fmt: skip
ON_NUMBERS: dict[str, Any] = {
    **dict.fromkeys(
        ["boolean", "nonnegative_integer", "positive_integer", "real", "positive", "nonnegative",
         "unit_interval"]
    ),
    "greater_than": (1.0,), "greater_than_eq": (1.0,), "less_than": (1.0,),
    "interval": (-1.0, 1.0), "half_open_interval": (-1.0, 1.0), "integer_interval": (0, 3),
}  # fmt: skip
ON_VECTORS: dict[str, Any] = {
    "real_vector": None, "simplex": None, "one_hot": None, "multinomial": (3,),
}  # fmt: skip
ON_MATRICES = [
    "lower_triangular", "lower_cholesky", "corr_cholesky", "square", "symmetric",
    "positive_semidefinite", "positive_definite",
]  # fmt: skip
# Of matrices that are not square PyTorch's own functions raise errors.
SQUARE_ONLY = {"corr_cholesky"}


def compare(name: str, arguments: Any, values: np.ndarray, dtype: str) -> None:
    found = []
    for lib in (tt, torch):
        constraint = getattr(lib.distributions.constraints, name)
        constraint = constraint if arguments is None else constraint(*arguments)
        found.append(constraint.check(lib.tensor(values, dtype=getattr(lib, dtype))))
    ours, theirs = found
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.tolist() == theirs.tolist()
    assert ours.dtype == tt.bool


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ON_NUMBERS)
def test_numbers(name: str, dtype: str) -> None:
    compare(name, ON_NUMBERS[name], np.array(NUMBERS), dtype)
    compare(name, ON_NUMBERS[name], np.array(NUMBERS).reshape(2, 7), dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ON_VECTORS)
def test_vectors(name: str, dtype: str) -> None:
    for vector in VECTORS:
        compare(name, ON_VECTORS[name], np.array(vector), dtype)
    compare(name, ON_VECTORS[name], np.array(VECTORS)[:, None], dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", MATRICES)
@pytest.mark.parametrize("name", ON_MATRICES)
def test_matrices(name: str, shape: str, dtype: str) -> None:
    if shape != "square" and name in SQUARE_ONLY:
        pytest.skip("only for square matrices")
    for matrix in MATRICES[shape]:
        compare(name, None, matrix, dtype)
    batch = np.array(MATRICES[shape][:2])[:, None]
    compare(name, None, batch, dtype)
