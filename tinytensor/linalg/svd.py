"""Singular values, eigenvalues of symmetric matrices, and QR: decompositions with gradients.

Singular vectors and eigenvectors are defined up to their signs only, and those of equal values up
to a rotation. The gradient of a function that depends on the sign, or of vectors with equal values,
is meaningless; for equal values it is infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import check_flags
from ..autograd.forward_ad import differentiated
from ..autograd.op import Op
from ..autograd.settings import is_grad_enabled
from ..autograd.variable import Variable, unwrap, wrap
from ..backend import Array, xp
from ..ops.autocast import in_float32
from ..ops.join import cat
from ..ops.matrix import diag_embed, tril
from ..ops.partial_views import diagonal
from ..ops.return_types import linalg_eigh, linalg_qr, linalg_svd
from .checks import check_matrix, check_square, identity_like, lapack, transposed
from .triangular import solve_rows

if TYPE_CHECKING:
    from ..tensor import Tensor


class Decomposition(Op):
    """An op with several outputs whose rule uses them."""

    saves = ("x",)

    def factors_of(self, helper: Callable, x: Array, *options: Any) -> tuple:
        """In forward: helper(x, …), kept for backward; copies of it, as the caller may write."""
        found = self.keep(helper, x, *options)
        return tuple([y.copy() for y in found]) if self._tracked else tuple(found)

    def factors(self, helper: Callable, *options: Any) -> tuple:
        """In backward: the same, which is differentiable while grad mode is on."""
        kept = None if is_grad_enabled() else self.kept(helper.__name__)
        return helper(self.saved[0], *options) if kept is None else kept

    def fill_missing(self, grads: list) -> list:
        return grads  # None where no gradient came: its terms are left out


# ------------------------------------------------------------------------------------------
# Singular values
# ------------------------------------------------------------------------------------------


class Svd(Decomposition):
    """U, s, V = the factors of x = U·diag(s)·Vᵀ;
    dx = U·(skew(Uᵀ·gU)/E·diag(s) + diag(s)·skew(Vᵀ·gV)/E + diag(gs))·Vᵀ
         + (1 − U·Uᵀ)·gU·diag(1/s)·Vᵀ + U·diag(1/s)·gVᵀ·(1 − V·Vᵀ)

    with skew(X) = X − Xᵀ and E[i, j] = sⱼ² − sᵢ², 1 on the diagonal. With full matrices, only the
    first min(m, n) columns of U and V have a gradient.
    """

    op_name = "linalg.svd"

    def forward(self, x: Array, full: bool) -> tuple:
        self.full = full
        return self.factors_of(_svd, x, full)

    def backward(self, gU: Any, gs: Any, gV: Any) -> Any:
        U, s, V = self.factors(_svd, self.full)
        k = s.shape[-1]
        U, V = U[..., :k], V[..., :k]
        VT, row = transposed(V), s.reshape((*s.shape[:-1], 1, k))
        inner = None if gs is None else diag_embed(gs)
        E = None if gU is None and gV is None else _differences(s * s)
        outer = None
        if gU is not None:
            gU = gU[..., :k]
            UTg = transposed(U) @ gU
            inner = _plus(inner, (UTg - transposed(UTg)) / E * row)
            if U.shape[-2] > k:
                outer = ((gU - U @ UTg) / row) @ VT
        if gV is not None:
            gV = gV[..., :k]
            VTg = VT @ gV
            inner = _plus(inner, transposed(row) * ((VTg - transposed(VTg)) / E))
            if V.shape[-2] > k:
                outer = _plus(outer, U @ transposed((gV - V @ VTg) / row))
        return _plus(outer, U @ inner @ VT)


def _svd(x: Any, full: bool) -> tuple:
    if isinstance(x, Variable):
        return Svd.apply(x, full)
    U, s, Vh = lapack("linalg.svd", "svd", x, full_matrices=full)
    return U, s, transposed(Vh)


def _differences(values: Any) -> Any:
    """E[i, j] = valuesⱼ − valuesᵢ, and 1 on the diagonal."""
    n = values.shape[-1]
    row = values.reshape((*values.shape[:-1], 1, n))
    return row - transposed(row) + identity_like(values, n)


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a + b


@in_float32
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> linalg_svd:
    """(U, S, Vh) with A = U·diag(S)·Vh and descending singular values S.

    (…, m, n) → (…, m, m), (…, k), (…, n, n) with k = min(m, n); with full_matrices=False
    (…, m, k), (…, k), (…, k, n). driver is PyTorch's choice of a method on a GPU.
    """
    check_flags("linalg.svd", full_matrices=full_matrices)
    check_matrix("linalg.svd", A)
    _check_driver("linalg.svd", driver)
    U, s, V = Svd.apply(A, bool(full_matrices))
    return linalg_svd(U, s, transposed(V))


@in_float32
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values in descending order: (…, m, n) → (…, min(m, n))."""
    check_matrix("linalg.svdvals", A)
    _check_driver("linalg.svdvals", driver)
    if differentiated(A):
        return Svd.apply(A, False)[1]
    return wrap(lapack("linalg.svdvals", "svd", unwrap(A), compute_uv=False))


def _check_driver(name: str, driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(f"{name}: got driver {driver!r}, expected None; drivers are for CUDA")


# ------------------------------------------------------------------------------------------
# Eigenvalues of symmetric matrices
# ------------------------------------------------------------------------------------------


class Eigh(Decomposition):
    """λ, V = the factors of x = V·diag(λ)·Vᵀ;  dx = (M + Mᵀ)/2, M = V·(Vᵀ·gV/E + diag(gλ))·Vᵀ

    E[i, j] = λⱼ − λᵢ; the diagonal of Vᵀ·gV/E counts as 0. One triangle of x is read, but dx is
    symmetric, as x is.
    """

    op_name = "linalg.eigh"

    def forward(self, x: Array, uplo: str) -> tuple:
        self.uplo = uplo
        return self.factors_of(_eigh, x, uplo)

    def backward(self, gvalues: Any, gV: Any) -> Any:
        values, V = self.factors(_eigh, self.uplo)
        VT = transposed(V)
        inner = None if gvalues is None else diag_embed(gvalues)
        if gV is not None:
            product = (VT @ gV) / _differences(values)
            inner = _plus(inner, product - diag_embed(diagonal(product, 0, -2, -1)))
        M = V @ inner @ VT
        return (M + transposed(M)) * 0.5


def _eigh(x: Any, uplo: str) -> tuple:
    if isinstance(x, Variable):
        return Eigh.apply(x, uplo)
    return tuple(lapack("linalg.eigh", "eigh", x, UPLO=uplo))


def _triangle(name: str, UPLO: Any) -> str:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"{name}: got UPLO = {UPLO!r}, expected 'L' or 'U'")
    return UPLO.upper()


@in_float32
def eigh(A: Tensor, UPLO: str = "L") -> linalg_eigh:
    """(eigenvalues, eigenvectors) of symmetric matrices: ascending values, vectors as columns.

    (…, n, n) → (…, n), (…, n, n). UPLO: the triangle that is read, "L" or "U".
    """
    check_square("linalg.eigh", A)
    return linalg_eigh(*Eigh.apply(A, _triangle("linalg.eigh", UPLO)))


@in_float32
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices in ascending order: (…, n, n) → (…, n)."""
    check_square("linalg.eigvalsh", A)
    uplo = _triangle("linalg.eigvalsh", UPLO)
    if differentiated(A):
        return Eigh.apply(A, uplo)[0]
    return wrap(lapack("linalg.eigvalsh", "eigvalsh", unwrap(A), UPLO=uplo))


# ------------------------------------------------------------------------------------------
# QR
# ------------------------------------------------------------------------------------------


class Qr(Decomposition):
    """Q, R = the factors of x = Q·R for m ≥ n;  dx = (gQ + Q·sym(R·gRᵀ − gQᵀ·Q))·R⁻ᵀ

    sym(M) is symmetric, with the lower triangle of M.
    """

    op_name = "linalg.qr"

    def forward(self, x: Array) -> tuple:
        return self.factors_of(_qr, x)

    def backward(self, gQ: Any, gR: Any) -> Any:
        Q, R = self.factors(_qr)
        M: Any = None if gR is None else R @ transposed(gR)
        if gQ is not None:
            M = _plus(M, -(transposed(gQ) @ Q))
        dQ = _plus(gQ, Q @ (tril(M) + transposed(tril(M, -1))))
        return solve_rows(transposed(R), dQ, upper=False)


def _qr(x: Any) -> tuple:
    return Qr.apply(x) if isinstance(x, Variable) else tuple(lapack("linalg.qr", "qr", x))


class QrComplete(Op):
    """(Q, R) = y with x = Q·R and Q of shape (m, m), for m > n: it has no gradient"""

    op_name = "linalg.qr"

    def forward(self, x: Array, mode: str) -> tuple:
        self.mode = mode
        if mode == "r":
            return xp(x).empty(0, x.dtype), lapack("linalg.qr", "qr", x, mode="r")
        return tuple(lapack("linalg.qr", "qr", x, mode="complete"))

    def backward(self, gQ: Any, gR: Any) -> Any:
        why = "depends on Q, which mode='r' does not compute"
        if self.mode == "complete":
            why = "is not defined for mode='complete' and more rows than columns"
        raise RuntimeError(f"linalg.qr: the derivative {why}; use mode='reduced'")


@in_float32
def qr(A: Tensor, mode: str = "reduced") -> linalg_qr:
    """(Q, R) with A = Q·R: orthonormal columns, and an upper triangular matrix.

    mode="reduced": (…, m, n) → (…, m, k), (…, k, n) with k = min(m, n); "complete": (…, m, m),
    (…, m, n), whose gradient needs m ≤ n; "r": R alone, without a gradient.
    """
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"linalg.qr: got mode {mode!r}, expected 'reduced', 'complete' or 'r'")
    m, n = A.shape[-2:]
    if mode == "r" or (mode == "complete" and m > n):
        return linalg_qr(*QrComplete.apply(A, mode))
    if m >= n or not differentiated(A):
        return linalg_qr(*Qr.apply(A))
    # A = (A₁, A₂) with square A₁ = Q·R₁, and R = (R₁, Qᵀ·A₂)
    Q, R = Qr.apply(A[..., :m])
    return linalg_qr(Q, cat([R, transposed(Q) @ A[..., m:]], -1))


__all__ = ["eigh", "eigvalsh", "qr", "svd", "svdvals"]
