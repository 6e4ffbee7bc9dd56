"""Inverses and decompositions beyond the table: what they are made of, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import linalg

RNG = np.random.default_rng(0)
A = tt.tensor(RNG.standard_normal((5, 3)))
S = A.T @ A  # symmetric, positive definite


def close(a: tt.Tensor, b: tt.Tensor) -> bool:
    return tt.allclose(a, b, rtol=1e-9, atol=1e-9)


def test_decompositions_multiply_back() -> None:
    u, s, vh = linalg.svd(A, full_matrices=False)
    assert close(u * s @ vh, A) and (s[:-1] >= s[1:]).all()
    assert tuple(linalg.svd(A).U.shape) == (5, 5)
    values, vectors = linalg.eigh(S)
    assert close(vectors * values @ vectors.T, S) and close(s.square().flip(0), values)
    q, r = linalg.qr(A)
    assert close(q @ r, A) and close(q.T @ q, tt.eye(3, dtype=tt.float64)) and close(r, r.triu())
    lower = linalg.cholesky(S)
    assert close(lower @ lower.T, S) and close(lower, lower.tril())


def test_least_squares_three_ways() -> None:
    b = tt.tensor(RNG.standard_normal((5, 2)))
    found = linalg.lstsq(A, b)
    assert found.rank.item() == 3
    assert close(found.solution, linalg.pinv(A) @ b)
    assert close(found.solution, linalg.solve(S, A.T @ b))
    assert close(found.solution, S.inverse() @ A.T @ b)


def test_dtype_is_kept() -> None:
    x = S.float()
    for result in (x.inverse(), x.det(), linalg.solve(x, x), linalg.cholesky(x), linalg.svd(x).S):
        assert result.dtype == tt.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tt.inverse(A), RuntimeError, r"inverse: got shape \(5, 3\), expected square"),
        (lambda: tt.ones(2, 2).inverse(), RuntimeError, r"inverse: Singular matrix.*\(2, 2\)"),
        (lambda: tt.det(tt.eye(2).long()), RuntimeError, "det: .*int64.*floating point"),
        (lambda: linalg.solve(S, A), RuntimeError, r"solve: got shapes \(3, 3\) and \(5, 3\)"),
        (lambda: linalg.solve(tt.zeros(2, 2), tt.ones(2)), RuntimeError, "solve: Singular matrix"),
        (lambda: linalg.cholesky(-S), RuntimeError, "cholesky: .*not positive definite"),
        (lambda: linalg.eigh(S.clone().requires_grad_()), NotImplementedError, "eigh: .*detach"),
        (
            lambda: linalg.svd(A * tt.ones(3, requires_grad=True)),
            NotImplementedError,
            "svd: no gradient",
        ),
        (lambda: linalg.norm(A, 1), NotImplementedError, "norm: got ord = 1 for matrices"),
    ],
)
def test_errors(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_no_gradient_is_needed_without_one() -> None:
    with tt.no_grad():
        assert not linalg.eigh(S.clone().requires_grad_()).eigenvalues.requires_grad
