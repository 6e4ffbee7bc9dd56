"""Decompositions, inverses and solutions of complex matrices, by PyTorch's convention."""

from __future__ import annotations

from typing import Any

from .rows_linalg import regular
from .table import C, Row


def positive(x: Any) -> Any:
    """A Hermitian positive definite matrix."""
    return x @ x.mH + 2 * x.new_ones(x.shape[-1]).diag()


def hermitian(x: Any) -> Any:
    """A Hermitian matrix with eigenvalues far from each other."""
    return x + x.mH + (x.new_ones(x.shape[-1]).cumsum(0) * 9).diag()


def sizes(result: Any) -> list:
    """The parts of a decomposition without their phases."""
    return [part.abs() for part in result]


def rebuilt(result: Any) -> Any:
    """A function of all singular vectors that their phases do not change."""
    U, s, Vh = result
    return (U * s.exp().unsqueeze(-2)) @ Vh


def projectors(result: Any) -> Any:
    values, V = result
    return [(V[..., i : i + 1] @ V[..., i : i + 1].mH) * values[..., i, None, None] for i in (0, 1)]


SQUARE = C(3, 3), C(2, 2, 2)
RECTANGULAR = C(4, 2), C(2, 4), C(3, 3), C(2, 3, 2)

ROWS = [
    *[Row("linalg.cholesky", x, prepare=positive) for x in SQUARE],
    Row("linalg.cholesky", C(3, 3), upper=True, prepare=positive),
    Row("linalg.cholesky_ex", C(2, 3, 3), prepare=positive),
    Row("cholesky_solve", C(3, 2), C(3, 3, low=1, grad=False)),
    Row("cholesky_solve", C(3, 2), C(3, 3, low=1, grad=False), True),
    Row("cholesky_inverse", C(3, 3), prepare=lambda x: x.tril(-1) + 2 * x.new_ones(3).diag()),
    *[Row("linalg.svd", x, False, after=sizes) for x in RECTANGULAR],
    *[Row("linalg.svd", x, False, after=rebuilt, label=f"{x.shape} rebuilt") for x in RECTANGULAR],
    *[Row("linalg.svdvals", x) for x in RECTANGULAR],
    *[Row("linalg.eigh", x, prepare=hermitian, after=sizes) for x in SQUARE],
    *[
        Row("linalg.eigh", x, prepare=hermitian, after=projectors, label=f"{x.shape} projectors")
        for x in SQUARE
    ],
    Row("linalg.eigh", C(3, 3), "U", prepare=hermitian, after=sizes),
    *[Row("linalg.eigvalsh", x, prepare=hermitian) for x in SQUARE],
    Row("linalg.eigvals", C(3, 3), prepare=hermitian, after=lambda y: y.abs().sort().values),
    *[Row("linalg.qr", x) for x in RECTANGULAR],
    *[Row("linalg.pinv", x) for x in RECTANGULAR],
    Row("linalg.pinv", C(3, 3), hermitian=True, prepare=hermitian),
    Row("linalg.lstsq", C(4, 2), C(4, 3), after=lambda result: result.solution),
    *[Row("linalg.slogdet", x, prepare=regular) for x in SQUARE],
    Row("logdet", C(3, 3), prepare=regular),
    *[Row("linalg.inv", x, prepare=regular) for x in SQUARE],
    *[Row("linalg.det", x) for x in SQUARE],
    Row("linalg.solve", C(3, 3), C(3, 2), prepare=regular),
    Row("linalg.solve", C(3, 3), C(2, 3), left=False, prepare=regular),
    *[
        Row("linalg.solve_triangular", C(3, 3), C(3, 2), upper=upper, prepare=regular)
        for upper in (True, False)
    ],
    Row("linalg.lu", C(3, 3), after=lambda result: result[1:]),
    Row("linalg.matrix_exp", C(3, 3, low=-1, high=1)),
    Row("linalg.matrix_norm", C(3, 2), "nuc"),
    Row("linalg.matrix_norm", C(3, 2), 2),
    Row("linalg.cond", C(3, 3)),
    Row("linalg.householder_product", C(4, 2), C(2)),
    Row("linalg.vecdot", C(2, 3), C(2, 3)),
]
