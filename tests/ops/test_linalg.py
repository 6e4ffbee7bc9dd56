"""Linear algebra beyond the table: what decompositions multiply to, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import linalg

RNG = np.random.default_rng(0)
A = tt.tensor(RNG.standard_normal((5, 3)))
S = A.T @ A  # symmetric, positive definite
EMPTY = [(0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 3, 3), (2, 0, 3), (2, 3, 0), (0, 2, 3)]
NAN = float("nan")


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
    p, lo, up = linalg.lu(A)
    assert close(p @ lo @ up, A) and close(lo, lo.tril()) and close(up, up.triu())
    vectors, tau = tt.geqrf(A)
    assert close(linalg.householder_product(vectors, tau) @ vectors[:3].triu(), A)


def test_least_squares_three_ways() -> None:
    b = tt.tensor(RNG.standard_normal((5, 2)))
    found = linalg.lstsq(A, b)
    assert found.rank.item() == 3
    assert close(found.solution, linalg.pinv(A) @ b)
    assert close(found.solution, linalg.solve(S, A.T @ b))
    assert close(found.solution, S.inverse() @ A.T @ b)


def test_eig_of_a_rotation() -> None:
    x = tt.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=tt.float64, requires_grad=True)
    values, vectors = linalg.eig(x)
    assert values.dtype == vectors.dtype == tt.complex128
    assert close(vectors * values, x.to(tt.complex128) @ vectors)
    assert sorted(values.imag.tolist()) == pytest.approx([-0.8, 0.8])
    values.real.sum().backward()  # the trace
    assert close(x.grad, tt.eye(2, dtype=tt.float64))
    assert linalg.eigvals(x.detach().float()).dtype == tt.complex64
    with pytest.raises(RuntimeError, match="eig: .*phase"):
        (linalg.eig(x).eigenvectors * tt.tensor([[1j, 2.0], [3.0, 1j]])).sum().real.backward()


def test_second_derivative_of_eig_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    a, weights = RNG.standard_normal((2, 3, 3)), RNG.standard_normal((3, 2, 3, 3))
    found = []
    for library in (tt, torch):
        x = library.tensor(a, requires_grad=True)
        w, v, u = (library.tensor(weight) for weight in weights)
        values, vectors = library.linalg.eig(x)
        y = (vectors.abs() ** 2 * w).sum() + (values.abs() ** 2 * v[:, 0]).sum()
        (g,) = library.autograd.grad(y, x, create_graph=True)
        (h,) = library.autograd.grad((g * u).sum(), x)
        found.append((g.detach().numpy(), h.detach().numpy()))
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_solutions_from_factors() -> None:
    M, b = tt.tensor(RNG.standard_normal((2, 4, 4))), tt.tensor(RNG.standard_normal((2, 4, 3)))
    LU, pivots = linalg.lu_factor(M)
    assert close(linalg.lu_solve(LU, pivots, b), linalg.solve(M, b))
    assert close(linalg.lu_solve(LU, pivots, b, adjoint=True), linalg.solve(M.mT, b))
    assert close(linalg.lu_solve(LU, pivots, b.mT, left=False), linalg.solve(M, b.mT, left=False))
    assert close(tt.lu_solve(b, LU, pivots), linalg.solve(M, b))
    p, lo, up = tt.lu_unpack(LU, pivots)
    assert close(p @ lo @ up, M)
    assert close(tt.cholesky_solve(A.T, linalg.cholesky(S)), linalg.solve(S, A.T))


def test_gradient_flows_through_factors() -> None:
    b = tt.tensor(RNG.standard_normal((3, 2)))
    x = S.clone().requires_grad_()
    (one,) = tt.autograd.grad(linalg.lu_solve(*linalg.lu_factor(x), b).square().sum(), x)
    (two,) = tt.autograd.grad(linalg.solve(x, b).square().sum(), x)
    assert close(one, two)
    (three,) = tt.autograd.grad(tt.cholesky_solve(b, linalg.cholesky(x)).square().sum(), x)
    assert close(three, (two + two.T) / 2)  # cholesky takes x to be symmetric


def test_dtype_is_kept() -> None:
    x = S.float()
    for result in (x.inverse(), x.det(), linalg.solve(x, x), linalg.cholesky(x), linalg.svd(x).S):
        assert result.dtype == tt.float32


def test_results_may_be_written_to_before_backward() -> None:
    x = S.clone().requires_grad_()
    y = linalg.eigh(x)
    y.eigenvectors.detach().zero_()
    y.eigenvalues.sum().backward()
    assert close(x.grad, tt.eye(3, dtype=tt.float64))


def test_info_instead_of_an_error() -> None:
    batch = tt.stack([tt.eye(2), tt.ones(2, 2), -tt.eye(2)])
    assert linalg.inv_ex(batch).info.tolist() == [0, 2, 0]
    assert tt.equal(linalg.inv_ex(batch).inverse[2], -tt.eye(2))
    assert linalg.solve_ex(batch, tt.ones(2, 1)).info.tolist() == [0, 2, 0]
    assert linalg.cholesky_ex(batch).info.tolist() == [0, 2, 1]
    assert linalg.lu_factor_ex(batch).info.tolist() == [0, 2, 0]
    assert linalg.inv_ex(batch).info.dtype == tt.int32
    with pytest.raises(linalg.LinAlgError, match=r"inv_ex: \(batch element 1\)"):
        linalg.inv_ex(batch, check_errors=True)


def test_singular_triangle_gives_infinity() -> None:
    found = linalg.solve_triangular(tt.tensor([[1.0, 1], [0, 0]]), tt.ones(2, 1), upper=True)
    assert found.isinf().any() and not found.isfinite().all()


def test_cond_of_a_singular_matrix() -> None:
    assert linalg.cond(tt.ones(2, 2), 1).isinf() and linalg.cond(tt.zeros(2, 2), "fro").isinf()


def test_equal_singular_values_have_a_gradient_but_vectors_have_none() -> None:
    x = tt.eye(3, dtype=tt.float64).requires_grad_()
    linalg.svdvals(x).sum().backward()
    assert close(x.grad, tt.eye(3, dtype=tt.float64))
    linalg.eigvalsh(x).sum().backward()
    assert x.grad.isfinite().all()


# ------------------------------------------------------------------------------------------
# Against PyTorch
# ------------------------------------------------------------------------------------------

EMPTY_CALLS: dict[str, Callable] = {
    "svd": lambda m, x: m.linalg.svd(x),
    "svd reduced": lambda m, x: m.linalg.svd(x, full_matrices=False),
    "svdvals": lambda m, x: m.linalg.svdvals(x),
    "eigh": lambda m, x: m.linalg.eigh(x),
    "qr": lambda m, x: m.linalg.qr(x),
    "qr complete": lambda m, x: m.linalg.qr(x, mode="complete"),
    "cholesky": lambda m, x: m.linalg.cholesky(x),
    "inv": lambda m, x: m.linalg.inv(x),
    "pinv": lambda m, x: m.linalg.pinv(x),
    "det": lambda m, x: m.linalg.det(x),
    "slogdet": lambda m, x: m.linalg.slogdet(x),
    "lu": lambda m, x: m.linalg.lu(x),
    "lu_factor": lambda m, x: m.linalg.lu_factor(x),
    "solve": lambda m, x: m.linalg.solve(x, x),
    "solve_triangular": lambda m, x: m.linalg.solve_triangular(x, x, upper=True),
    "matrix_rank": lambda m, x: m.linalg.matrix_rank(x),
    "matrix_exp": lambda m, x: m.linalg.matrix_exp(x),
    "matrix_power": lambda m, x: m.linalg.matrix_power(x, 3),
    "cond": lambda m, x: m.linalg.cond(x),
    "fro": lambda m, x: m.linalg.matrix_norm(x),
    "nuc": lambda m, x: m.linalg.matrix_norm(x, "nuc"),
    "1": lambda m, x: m.linalg.matrix_norm(x, 1),
    "2": lambda m, x: m.linalg.matrix_norm(x, 2),
    "inf": lambda m, x: m.linalg.matrix_norm(x, float("inf")),
    "lstsq": lambda m, x: m.linalg.lstsq(x, x).solution,
}


def outcome(call: Callable, library: Any, shape: tuple) -> Any:
    try:
        found = call(library, library.ones(shape, dtype=library.float64))
    except (RuntimeError, IndexError) as error:
        return "refused" if isinstance(error, (RuntimeError, IndexError)) else error
    found = found if isinstance(found, tuple) else (found,)
    return [(tuple(y.shape), str(y.dtype).split(".")[-1], y.tolist()) for y in found]


@pytest.mark.parametrize("name", EMPTY_CALLS)
def test_empty_matrices_as_in_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    for shape in EMPTY:
        ours = outcome(EMPTY_CALLS[name], tt, shape)
        assert ours == outcome(EMPTY_CALLS[name], torch, shape), shape


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pivots_and_permutations_as_in_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    for shape in [(4, 4), (2, 5, 3), (2, 3, 5), (30, 30)]:
        a = RNG.standard_normal(shape).astype(dtype)
        ours, theirs = linalg.lu_factor(tt.tensor(a)), torch.linalg.lu_factor(torch.tensor(a))
        assert ours.pivots.dtype == tt.int32
        np.testing.assert_array_equal(ours.pivots.numpy(), theirs.pivots.numpy())
        np.testing.assert_allclose(ours.LU.numpy(), theirs.LU.numpy(), rtol=1e-3, atol=1e-5)
        np.testing.assert_array_equal(
            linalg.lu(tt.tensor(a)).P.numpy(), torch.linalg.lu(torch.tensor(a)).P.numpy()
        )


def test_matrix_exp_of_large_and_mixed_matrices() -> None:
    torch = pytest.importorskip("torch")
    a = RNG.standard_normal((3, 6, 6)) * np.array([1e-3, 1, 20])[:, None, None]
    ours, theirs = tt.matrix_exp(tt.tensor(a)), torch.matrix_exp(torch.tensor(a))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tt.inverse(A), RuntimeError, r"inverse: A must be.*square matrices.*\(5, 3\)"),
        (lambda: tt.ones(2, 2).inverse(), linalg.LinAlgError, "inverse: .*singular"),
        (lambda: tt.det(tt.eye(2).long()), RuntimeError, "det: .*int64.*floating point"),
        (lambda: tt.det(tt.eye(2).half()), RuntimeError, "det: .*float16.*float32 or float64"),
        (lambda: linalg.svd(tt.ones(3)), RuntimeError, r"svd: .*at least 2 dimensions.*\(3,\)"),
        (lambda: linalg.svd([1]), TypeError, "linalg.svd: got a list"),
        (lambda: linalg.svd(tt.full((2, 2), NAN)), linalg.LinAlgError, "svd: .*converge"),
        (lambda: linalg.solve(S, A), RuntimeError, r"solve: incompatible.*\(3, 3\) and \(5, 3\)"),
        (lambda: linalg.solve(tt.zeros(2, 2), tt.ones(2)), linalg.LinAlgError, "solve: .*singular"),
        (lambda: linalg.solve(S, S.float()), RuntimeError, "solve: .*same dtype"),
        (lambda: linalg.cholesky(-S), linalg.LinAlgError, "cholesky: .*not positive-definite"),
        (lambda: linalg.lu_factor(tt.ones(2, 2)), linalg.LinAlgError, r"lu_factor: U\[2,2\] is"),
        (lambda: linalg.lu(S, pivot=False), RuntimeError, "lu: .*pivot=True"),
        (lambda: linalg.qr(S, "raw"), RuntimeError, "qr: got mode 'raw'"),
        (lambda: linalg.eigh(S, "X"), RuntimeError, "eigh: got UPLO = 'X'"),
        (lambda: linalg.matrix_norm(A, 3), RuntimeError, "matrix_norm: got ord = 3"),
        (lambda: linalg.matrix_norm(A, dim=0), RuntimeError, "matrix_norm: .*two dimensions"),
        (lambda: linalg.cond(A, 1), RuntimeError, "cond: A must be .*square"),
        (lambda: linalg.cross(A, S), RuntimeError, "cross"),
        (lambda: linalg.multi_dot([A]), RuntimeError, "multi_dot: got 1 tensors"),
        (lambda: linalg.multi_dot([A, A]), RuntimeError, "multi_dot: .*cannot be multiplied"),
        (lambda: linalg.lstsq(A, S), RuntimeError, "lstsq: got shapes"),
        (lambda: linalg.vector_norm(A, "fro"), TypeError, "vector_norm: got ord = 'fro'"),
    ],
)
def test_errors(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("mode", ["complete", "r"])
def test_qr_without_a_gradient_says_so(mode: str) -> None:
    x = A.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="linalg.qr: the derivative"):
        linalg.qr(x, mode).R.sum().backward()


def test_no_gradient_is_recorded_without_grad_mode() -> None:
    with tt.no_grad():
        assert not linalg.eigh(S.clone().requires_grad_()).eigenvalues.requires_grad


def test_limit_of_pinverse() -> None:
    """Singular values above 1e-15 of the largest count, in float64, as in PyTorch."""
    found = tt.pinverse(tt.tensor([[1.0, 0.0], [0.0, 1e-13]], dtype=tt.float64))
    np.testing.assert_allclose(found.numpy(), [[1, 0], [0, 1e13]], rtol=1e-6)
    found = tt.pinverse(tt.tensor([[1.0, 0.0], [0.0, 1e-16]], dtype=tt.float64))
    np.testing.assert_allclose(found.numpy(), [[1, 0], [0, 0]])
