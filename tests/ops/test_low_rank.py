"""svd_lowrank, pca_lowrank, poisson, binomial: random, so by what must hold; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt


def of_rank(rank: int, *shape: int, complex: bool = False) -> tt.Tensor:
    rng = np.random.default_rng(0)
    *batch, m, n = shape
    a, b = rng.normal(size=(*batch, m, rank)), rng.normal(size=(*batch, rank, n))
    return tt.tensor(a @ b * (1 + 1j) if complex else a @ b)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (2, 4, 6)])
def test_svd_of_low_rank_is_exact(shape: tuple, complex: bool) -> None:
    A = of_rank(3, *shape, complex=complex)
    U, S, V = tt.svd_lowrank(A, q=4)
    assert tuple(U.shape) == (*shape[:-1], 4) and tuple(V.shape) == (*shape[:-2], shape[-1], 4)
    assert tt.allclose((U * S.unsqueeze(-2).to(U.dtype)) @ V.mH, A)
    assert tt.allclose(S, tt.linalg.svdvals(A)[..., :4], atol=1e-9)


def test_subtracted_matrix_and_gradient() -> None:
    A = of_rank(2, 5, 4).requires_grad_()
    M = tt.ones(1, 4, dtype=tt.float64)
    S = tt.svd_lowrank(A, 3, M=M)[1]
    assert tt.allclose(S, tt.linalg.svdvals(A - M)[:3], atol=1e-9)
    (g,) = tt.autograd.grad(tt.svd_lowrank(A, 2)[1].sum(), A)
    (expected,) = tt.autograd.grad(tt.linalg.svdvals(A)[:2].sum(), A)
    assert tt.allclose(g, expected, atol=1e-8)


def test_principal_directions() -> None:
    x = of_rank(2, 9, 5) + 3
    _, S, V = tt.pca_lowrank(x)
    assert tuple(V.shape) == (5, 5) and tt.allclose(V.mT @ V, tt.eye(5, dtype=V.dtype), atol=1e-8)
    assert tt.allclose(S[:2], tt.linalg.svdvals(x - x.mean(0))[:2])
    assert tt.allclose(tt.pca_lowrank(x, 3, center=False)[1], tt.linalg.svdvals(x)[:3], atol=1e-8)


def test_poisson_and_binomial() -> None:
    tt.manual_seed(0)
    rates = tt.tensor([0.0, 1.0, 30.0]).expand(4000, 3)
    drawn = tt.poisson(rates)
    assert drawn.dtype == tt.float32 and (drawn == drawn.round()).all()
    for moment in (drawn.mean(0), drawn.var(0)):
        assert tt.allclose(moment, rates[0], rtol=0.1, atol=0.1)
    count, prob = tt.full((4000, 1), 20.0), tt.tensor([0.0, 0.3, 1.0])
    drawn = tt.binomial(count, prob)
    assert tuple(drawn.shape) == (4000, 3)
    assert tt.allclose(drawn.mean(0), 20 * prob, rtol=0.05)
    assert tt.allclose(drawn.var(0), 20 * prob * (1 - prob), rtol=0.1)
    again = tt.poisson(rates, tt.Generator().manual_seed(1))
    assert (again == tt.poisson(rates, tt.Generator().manual_seed(1))).all()


def test_histogram_with_given_edges() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(20, 2))
    edges = [np.array([-1.0, 0.5, 1.0]), np.array([-2.0, 0.0, 2.0, 3.0])]
    theirs = torch.histogramdd(torch.tensor(x), [torch.tensor(e) for e in edges])
    ours = tt.histogramdd(tt.tensor(x), [tt.tensor(e) for e in edges])
    assert np.array_equal(ours.hist.numpy(), theirs.hist)
    for mine, other in zip(ours.bin_edges, theirs.bin_edges, strict=True):
        assert np.array_equal(mine.numpy(), other)


def test_vander_of_integers_and_nothing() -> None:
    torch = pytest.importorskip("torch")
    cases: list[tuple[list, Any]] = [([1, 2, 3], ()), ([2, 3], (0,)), ([True, False], ()), ([], ())]
    for values, args in cases:
        theirs = torch.vander(torch.tensor(values), *args)
        ours = tt.vander(tt.tensor(values), *args)
        assert ours.tolist() == theirs.tolist() and f"torch.{ours.dtype.name}" == str(theirs.dtype)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tt.svd_lowrank(tt.ones(3, 3), -1), ValueError, "got q = -1"),
        (lambda: tt.pca_lowrank(tt.ones(3, 3), 4), ValueError, "got q = 4"),
        (lambda: tt.pca_lowrank(tt.ones(3, 3), niter=-1), ValueError, "niter = -1"),
        (lambda: tt.vander(tt.ones(2, 2)), RuntimeError, "one dimension"),
        (lambda: tt.vander(tt.ones(2), -1), RuntimeError, "N = -1"),
        (lambda: tt.poisson(tt.tensor([-1.0])), RuntimeError, "negative rate"),
        (lambda: tt.poisson(tt.tensor([1])), NotImplementedError, "int64"),
        (lambda: tt.binomial(tt.tensor([1]), tt.tensor([0.5])), ValueError, "count has dtype"),
        (lambda: tt.binomial(tt.ones(1), tt.ones(1).double()), RuntimeError, "same one"),
        (
            lambda: tt.ormqr(tt.ones(3, 2), tt.ones(2), tt.ones(2, 3)),
            RuntimeError,
            "other of shape",
        ),
        (lambda: tt.ormqr(tt.ones(3, 2), tt.ones(3), tt.ones(3, 3)), RuntimeError, "k ≤"),
        (lambda: tt.histogramdd(tt.ones(3), [2]), RuntimeError, "expected"),
        (lambda: tt.histogramdd(tt.ones(3, 2), [2]), RuntimeError, "bins for 1"),
        (lambda: tt.histogramdd(tt.ones(3, 2), 2, range=[0, 1]), RuntimeError, "range of 2"),
        (lambda: tt.histogramdd(tt.ones(3, 2), 2, weight=tt.ones(2)), RuntimeError, "weight"),
        (lambda: tt.func.functionalize(abs, remove="all"), RuntimeError, "remove"),
    ],
)
def test_refused(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_functionalize_is_the_same_function() -> None:
    def f(x: tt.Tensor) -> tt.Tensor:
        y = x.clone()
        y += 1
        return y.sum()

    x = tt.ones(3, requires_grad=True)
    assert tt.func.functionalize(f)(x).item() == 6
    assert tt.func.grad(tt.func.functionalize(f))(x).tolist() == [1, 1, 1]
