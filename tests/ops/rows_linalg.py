"""Linear algebra: inverses, decompositions, norms, products of matrices."""

from __future__ import annotations

from typing import Any

from .table import I, Row, T, V


def regular(x: Any) -> Any:
    """A matrix far from singular."""
    return x + 5 * x.new_ones(x.shape[-1]).diag()


def positive(x: Any) -> Any:
    """A symmetric positive definite matrix."""
    return x @ x.swapaxes(-1, -2) + 2 * x.new_ones(x.shape[-1]).diag()


def symmetric(x: Any) -> Any:
    return x + x.swapaxes(-1, -2)


def spread_out(x: Any) -> Any:
    """A symmetric matrix with eigenvalues far from each other."""
    n = x.shape[-1]
    return symmetric(x) + (x.new_ones(n).cumsum(0) * 9).diag()


def cond_by_norms(x: Any, p: Any) -> Any:
    norm = _linalg().matrix_norm
    return norm(x, p) * norm(_linalg().inv(x), p)


def _linalg() -> Any:
    import torch

    return torch.linalg


def older_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unit: bool = False
) -> Any:
    """triangular_solve by its successor: PyTorch warns about the older name."""
    x = A.mT if transpose else A
    found = _linalg().solve_triangular(x, b, upper=upper != transpose, unitriangular=unit)
    return found, A.clone()


def sizes(result: Any) -> list:
    """The parts of a decomposition without their signs."""
    return [part.abs() for part in result]


def parts(*names: str) -> Any:
    return lambda result: [getattr(result, name) for name in names]


SQUARE = T(3, 3), T(2, 3, 3), T(2, 1, 2, 2), T(1, 1)
RECTANGULAR = T(4, 2), T(2, 4), T(3, 3), T(2, 3, 2), T(2, 2, 3)

ROWS = [
    *[Row("linalg.inv", x, prepare=regular) for x in SQUARE],
    Row("inverse", T(3, 3), prepare=regular),
    Row("linalg.inv_ex", T(2, 3, 3), prepare=regular),
    *[Row("linalg.det", x) for x in SQUARE],
    Row("det", T(0, 0), order=0),
    Row("det", V([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [1.0, 1.0, 0.3]]), order=1, atol=1e-4,
        torch=None, note="a singular matrix, for which PyTorch returns a gradient of zeros"),
    *[Row("linalg.slogdet", x, prepare=regular) for x in SQUARE],
    Row("slogdet", T(3, 3)),
    *[Row("logdet", x, prepare=regular) for x in SQUARE],
    Row("logdet", V([[0.0, 1.0], [1.0, 0.0]]), order=0),
    *[Row("linalg.solve", x, T(*x.shape), prepare=regular) for x in SQUARE],
    Row("linalg.solve", T(3, 3), T(3), prepare=regular),
    Row("linalg.solve", T(2, 3, 3), T(2, 3), prepare=regular),
    Row("linalg.solve", T(2, 3, 3), T(3, 2), prepare=regular),
    Row("linalg.solve", T(3, 3), T(2, 3, 1), prepare=regular),
    Row("linalg.solve", T(2, 3, 3), T(4, 3), left=False, prepare=regular),
    Row("linalg.solve_ex", T(3, 3), T(3, 2), prepare=regular),
    Row("linalg.tensorinv", T(2, 3, 6), order=1, atol=1e-4,
        prepare=lambda x: regular(x.reshape(6, 6)).reshape(2, 3, 6)),
    Row("linalg.tensorsolve", T(2, 3, 6), T(2, 3),
        prepare=lambda x: regular(x.reshape(6, 6)).reshape(2, 3, 6)),
    Row("linalg.tensorsolve", T(2, 6, 3), T(2, 3), dims=(1,),
        prepare=lambda x: regular(x.reshape(6, 6)).reshape(2, 3, 6).swapaxes(1, 2)),
    *[
        Row("linalg.solve_triangular", T(2, 3, 3), B, upper=upper, left=left, unitriangular=unit,
            prepare=regular)
        for left, B in ((True, T(3, 2)), (False, T(2, 4, 3)))
        for upper in (True, False)
        for unit in (True, False)
    ],
    Row("triangular_solve", T(3, 2), T(3, 3, low=1), order=1, atol=1e-3, torch=older_solve),
    Row("triangular_solve", T(3, 2), V([[1.0, 0.5], [0.3, 2.0]]), False, True, True,
        prepare=lambda x: x[:2], torch=older_solve),
    *[Row("linalg.cholesky", x, prepare=positive) for x in SQUARE],
    Row("linalg.cholesky", T(3, 3), upper=True, prepare=positive),
    Row("linalg.cholesky_ex", T(2, 3, 3), prepare=positive),
    Row("cholesky", T(3, 3), True, prepare=positive,
        torch=lambda x, upper: _linalg().cholesky(x, upper=upper)),
    Row("cholesky_solve", T(2, 3, 2), V([[1.0, 0, 0], [0.5, 2, 0], [0.3, 0.2, 3]], grad=False)),
    Row("cholesky_solve", T(3, 2), V([[1.0, 0.5], [0, 2]], grad=False), True,
        prepare=lambda x: x[:2]),
    Row("cholesky_inverse", T(3, 3), prepare=lambda x: regular(x).tril()),
    Row("cholesky_inverse", T(2, 3, 3), upper=True, prepare=lambda x: regular(x).triu()),
    *[Row("linalg.svd", x, False, after=sizes) for x in RECTANGULAR],
    Row("linalg.svd", T(2, 4, 2), after=lambda usv: [usv[0][..., :2].abs(), usv[1], usv[2].abs()]),
    Row("svd", T(4, 2), after=sizes),
    Row("svd", T(4, 2), compute_uv=False, after=sizes),
    *[Row("linalg.svdvals", x) for x in RECTANGULAR],
    *[Row("linalg.eigh", x, prepare=spread_out, after=sizes) for x in SQUARE],
    Row("linalg.eigh", T(3, 3), "U", prepare=spread_out, after=sizes),
    Row("linalg.eigvals", T(3, 3), prepare=spread_out, after=lambda y: y.abs().sort().values),
    Row("linalg.eig", T(2, 3, 3), prepare=lambda x: x + spread_out(x),
        after=lambda y: [y.eigenvalues.abs(), y.eigenvectors.abs()]),
    *[Row("linalg.eigvalsh", x, prepare=symmetric) for x in SQUARE],
    *[Row("linalg.qr", x) for x in RECTANGULAR],
    Row("linalg.qr", T(2, 3), "complete"),
    Row("linalg.qr", T(4, 2), "complete", order=0),
    Row("linalg.qr", T(4, 2), "r", order=0),
    Row("qr", T(4, 2), torch="linalg.qr"),
    Row("geqrf", T(4, 2), order=0),
    *[Row("linalg.lu_factor", x, after=parts("LU")) for x in RECTANGULAR],
    Row("linalg.lu_factor_ex", T(3, 3), after=parts("LU")),
    *[Row("linalg.lu", x) for x in RECTANGULAR],
    Row("lu", T(3, 3), torch="linalg.lu_factor", after=lambda result: result[:1]),
    Row("linalg.lu_factor", T(2, 3, 3), after=parts("LU", "pivots"), order=0),
    *[Row("linalg.pinv", x) for x in RECTANGULAR],
    Row("linalg.pinv", T(3, 3), hermitian=True, prepare=symmetric),
    Row("linalg.pinv", T(3, 3), 0.5, order=0),
    Row("linalg.pinv", T(3, 3), atol=1.0, order=0),
    Row("pinverse", T(3, 2)),
    *[Row("linalg.lstsq", x, T(*x.shape[:-1], 2), after=parts("solution")) for x in RECTANGULAR],
    Row("linalg.lstsq", T(4, 2), T(4), after=parts("solution")),
    Row("linalg.lstsq", T(2, 4, 2), T(2, 4, 3), driver="gelsd",
        after=parts("solution", "residuals")),
    Row("linalg.matrix_rank", T(3, 4), order=0),
    Row("linalg.matrix_rank", T(2, 3, 3), hermitian=True, prepare=symmetric, order=0),
    Row("linalg.matrix_rank", T(3, 4), 1.5, order=0),
    *[Row("linalg.matrix_norm", T(2, 3, 4), p) for p in
      ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))],
    Row("linalg.matrix_norm", T(2, 3, 4), "nuc", (0, 2), True),
    Row("linalg.matrix_norm", T(2, 3, 4), 1, (0, 2), True),
    *[Row("linalg.vector_norm", T(3, 4), p) for p in
      (0, 1, 2, 3.5, -1, float("inf"), -float("inf"))],
    Row("linalg.vector_norm", T(3, 4), 2, (0, 1), True),
    Row("linalg.norm", T(3, 4)),
    Row("linalg.norm", T(2, 3, 4), dim=(0, 2)),
    Row("linalg.norm", T(3, 4), "nuc"),
    Row("linalg.norm", T(3, 4), 1),
    Row("linalg.norm", T(4), 1),
    Row("linalg.norm", T(3, 4), 2, -1),
    *[Row("linalg.cond", T(2, 3, 3), p, prepare=regular) for p in
      (None, 2, -2)],
    # PyTorch's own cond fails in its backward pass
    *[Row("linalg.cond", T(2, 3, 3), p, prepare=regular, torch=cond_by_norms) for p in
      (1, -1, "fro", "nuc", float("inf"), -float("inf"))],
    Row("linalg.cond", T(4, 2)),
    *[Row("linalg.matrix_power", T(2, 3, 3), n, prepare=regular, order=1 if abs(n) > 2 else 2,
          atol=1e-3 if n > 2 else 1e-5) for n in (-2, -1, 0, 1, 2, 5)],
    *[Row("matrix_exp", x) for x in SQUARE],
    Row("linalg.matrix_exp", T(2, 2), prepare=lambda x: x * 9, order=0),
    Row("linalg.multi_dot", [T(2, 3), T(3, 4), T(4, 1)]),
    Row("linalg.multi_dot", [T(3), T(3, 4), T(4)]),
    Row("chain_matmul", T(2, 3), T(3, 4), method=False),
    Row("linalg.cross", T(2, 3), T(1, 3)),
    Row("linalg.cross", T(3, 2), T(3, 2), dim=0),
    Row("linalg.diagonal", T(2, 3, 4), offset=1),
    Row("linalg.vander", T(3)),
    Row("linalg.vander", T(2, 3), N=5),
    Row("linalg.vander", I(3), order=0),
    Row("linalg.vecdot", T(2, 3), T(2, 3)),
    Row("linalg.vecdot", T(2, 3), T(2, 1), dim=0),
    Row("linalg.householder_product", T(4, 3), T(2)),
    Row("linalg.householder_product", T(2, 3, 3), T(2, 3)),
    Row("orgqr", T(3, 2), T(2)),
    Row("trapezoid", T(2, 5)),
    Row("trapezoid", T(2, 5), dx=0.3, dim=0),
    Row("trapezoid", T(2, 5), T(5)),
    Row("trapezoid", T(4, 5), T(4), dim=0),
    Row("trapezoid", T(2, 5), T(2, 5), dim=1),
    Row("trapezoid", T(3, 2, 5), T(2, 5)),
    Row("trapezoid", T(2, 1)),
    Row("trapezoid", I(2, 5), order=0),
    Row("trapz", T(5), T(5)),
    Row("cumulative_trapezoid", T(2, 5)),
    Row("cumulative_trapezoid", T(2, 5), T(5)),
    Row("cumulative_trapezoid", T(4, 5), dx=2, dim=0),
]  # fmt: skip
