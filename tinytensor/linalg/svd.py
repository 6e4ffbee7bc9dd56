"""Singular values, eigenvalues of symmetric matrices, and QR: decompositions with gradients.

Singular vectors and eigenvectors are defined up to their signs only, and those of equal values up
to a rotation. The gradient of a function that depends on the sign, or of vectors with equal values,
is meaningless; for equal values it is infinite or NaN. Complex vectors are defined up to a factor
of absolute value 1; a function that depends on it is refused.
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
from ..ops.promote import cast
from ..ops.return_types import linalg_eigh, linalg_qr, linalg_svd
from ..out import takes_out
from .checks import (
    adjoint,
    check_matrix,
    check_square,
    identity_like,
    lapack,
    real_part,
    transposed,
)
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
    """U, s, V = the factors of x = U·diag(s)·Vᴴ;
    dx = U·(skew(Uᴴ·gU)/E·diag(s) + diag(s)·skew(Vᴴ·gV)/E + diag(gs))·Vᴴ
         + (1 − U·Uᴴ)·gU·diag(1/s)·Vᴴ + U·diag(1/s)·gVᴴ·(1 − V·Vᴴ)

    with skew(X) = X − Xᴴ and E[i, j] = sⱼ² − sᵢ², 1 on the diagonal. With full matrices, only the
    first min(m, n) columns of U and V have a gradient. Of complex matrices the diagonal of Uᴴ·gU,
    which is imaginary, is divided by s; it must be the opposite of that of Vᴴ·gV.
    """

    op_name = "linalg.svd"
    complex_rule = True

    def forward(self, x: Array, full: bool, check: bool) -> tuple:
        self.full, self.check = full, check
        return self.factors_of(_svd, x, full)

    def backward(self, gU: Any, gs: Any, gV: Any) -> Any:
        U, s, V = self.factors(_svd, self.full)
        k = s.shape[-1]
        U, V = U[..., :k], V[..., :k]
        VH, row = adjoint(V), s.reshape((*s.shape[:-1], 1, k))
        inner = None if gs is None else diag_embed(gs)
        E = None if gU is None and gV is None else _differences(s * s)
        outer = left = right = None
        if gU is not None:
            gU = gU[..., :k]
            UHg = adjoint(U) @ gU
            left = UHg - adjoint(UHg)
            inner = _plus(inner, left / E * row)
            if U.shape[-2] > k:
                outer = ((gU - U @ UHg) / row) @ VH
        if gV is not None:
            gV = gV[..., :k]
            VHg = VH @ gV
            right = VHg - adjoint(VHg)
            inner = _plus(inner, transposed(row) * (right / E))
            if V.shape[-2] > k:
                outer = _plus(outer, U @ adjoint((gV - V @ VHg) / row))
        if unwrap(U).dtype.kind == "c" and not (left is None and right is None):
            self._check_phase(_plus(left, right))
            if left is not None:
                inner = inner + diag_embed(diagonal(left, 0, -2, -1) / (2 * s))
        return _plus(outer, U @ cast(inner, unwrap(U).dtype) @ VH)

    def _check_phase(self, skew: Any) -> None:
        """Refuse a function of the phase of the singular vectors; see Eig."""
        if self.check:
            check_phase("linalg.svd", "singular vectors", diagonal(unwrap(skew), 0, -2, -1))
            self.check = not is_grad_enabled()


def check_phase(name: str, vectors: str, numbers: Array) -> None:
    """Refuse a function of the phase of vectors, which is not defined: imaginary parts are 0."""
    if (abs(numbers.imag) > 1e-2).any():
        raise RuntimeError(
            f"{name}: the function depends on the phase of the {vectors}, which is not "
            "defined, so it has no gradient; use one that does not change if they are multiplied "
            "by numbers of absolute value 1"
        )


def _svd(x: Any, full: bool) -> tuple:
    if isinstance(x, Variable):
        return Svd.apply(x, full, False)
    U, s, Vh = lapack("linalg.svd", "svd", x, full_matrices=full)
    return U, s, adjoint(Vh)


def _differences(values: Any) -> Any:
    """E[i, j] = valuesⱼ − valuesᵢ, and 1 on the diagonal."""
    n = values.shape[-1]
    row = values.reshape((*values.shape[:-1], 1, n))
    return row - transposed(row) + identity_like(values, n)


def _plus(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return a + b


@takes_out("same dtype")
@in_float32
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> linalg_svd:
    """(U, S, Vh) with A = U·diag(S)·Vh and descending singular values S.

    (…, m, n) → (…, m, m), (…, k), (…, n, n) with k = min(m, n); with full_matrices=False
    (…, m, k), (…, k), (…, k, n). driver is PyTorch's choice of a method on a GPU.
    """
    check_flags("linalg.svd", full_matrices=full_matrices)
    check_matrix("linalg.svd", A)
    _check_driver("linalg.svd", driver)
    U, s, V = Svd.apply(A, bool(full_matrices), True)
    return linalg_svd(U, s, adjoint(V))


@takes_out("same dtype")
@in_float32
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values in descending order: (…, m, n) → (…, min(m, n))."""
    check_matrix("linalg.svdvals", A)
    _check_driver("linalg.svdvals", driver)
    if differentiated(A):
        return Svd.apply(A, False, True)[1]
    return wrap(lapack("linalg.svdvals", "svd", unwrap(A), compute_uv=False))


def _check_driver(name: str, driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(f"{name}: got driver {driver!r}, expected None; drivers are for CUDA")


# ------------------------------------------------------------------------------------------
# Eigenvalues of symmetric matrices
# ------------------------------------------------------------------------------------------


class Eigh(Decomposition):
    """λ, V = the factors of x = V·diag(λ)·Vᴴ;  dx = (M + Mᴴ)/2, M = V·(Vᴴ·gV/E + diag(gλ))·Vᴴ

    E[i, j] = λⱼ − λᵢ; the diagonal of Vᴴ·gV/E counts as 0. One triangle of x is read, but dx is
    symmetric, as x is, or Hermitian.
    """

    op_name = "linalg.eigh"
    complex_rule = True

    def forward(self, x: Array, uplo: str, check: bool) -> tuple:
        self.uplo, self.check = uplo, check
        return self.factors_of(_eigh, x, uplo)

    def backward(self, gvalues: Any, gV: Any) -> Any:
        values, V = self.factors(_eigh, self.uplo)
        VH = adjoint(V)
        inner = None if gvalues is None else diag_embed(gvalues)
        if gV is not None:
            product = (VH @ gV) / _differences(values)
            lengths = diagonal(product, 0, -2, -1)
            if self.check and unwrap(V).dtype.kind == "c":
                check_phase("linalg.eigh", "eigenvectors", unwrap(lengths))
                self.check = not is_grad_enabled()
            inner = _plus(inner, product - diag_embed(lengths))
        M = V @ cast(inner, unwrap(V).dtype) @ VH
        return (M + adjoint(M)) * 0.5


def _eigh(x: Any, uplo: str) -> tuple:
    if isinstance(x, Variable):
        return Eigh.apply(x, uplo, False)
    return tuple(lapack("linalg.eigh", "eigh", x, UPLO=uplo))


def _triangle(name: str, UPLO: Any) -> str:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"{name}: got UPLO = {UPLO!r}, expected 'L' or 'U'")
    return UPLO.upper()


@takes_out("same dtype")
@in_float32
def eigh(A: Tensor, UPLO: str = "L") -> linalg_eigh:
    """(eigenvalues, eigenvectors) of symmetric matrices: ascending values, vectors as columns.

    (…, n, n) → (…, n), (…, n, n). UPLO: the triangle that is read, "L" or "U".
    """
    check_square("linalg.eigh", A)
    return linalg_eigh(*Eigh.apply(A, _triangle("linalg.eigh", UPLO), True))


@takes_out("same dtype")
@in_float32
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices in ascending order: (…, n, n) → (…, n)."""
    check_square("linalg.eigvalsh", A)
    uplo = _triangle("linalg.eigvalsh", UPLO)
    if differentiated(A):
        return Eigh.apply(A, uplo, True)[0]
    return wrap(lapack("linalg.eigvalsh", "eigvalsh", unwrap(A), UPLO=uplo))


# ------------------------------------------------------------------------------------------
# QR
# ------------------------------------------------------------------------------------------


class Qr(Decomposition):
    """Q, R = the factors of x = Q·R for m ≥ n;  dx = (gQ + Q·sym(R·gRᴴ − gQᴴ·Q))·R⁻ᴴ

    sym(M) is symmetric or Hermitian, with the lower triangle of M; of its diagonal, the real part.
    """

    op_name = "linalg.qr"
    complex_rule = True

    def forward(self, x: Array) -> tuple:
        return self.factors_of(_qr, x)

    def backward(self, gQ: Any, gR: Any) -> Any:
        Q, R = self.factors(_qr)
        M: Any = None if gR is None else R @ adjoint(gR)
        if gQ is not None:
            M = _plus(M, -(adjoint(gQ) @ Q))
        lower = tril(M, -1)
        symmetric = lower + adjoint(lower) + diag_embed(real_part(diagonal(M, 0, -2, -1)))
        return solve_rows(adjoint(R), _plus(gQ, Q @ symmetric), upper=False)


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


@takes_out("same dtype")
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
    # A = (A₁, A₂) with square A₁ = Q·R₁, and R = (R₁, Qᴴ·A₂)
    Q, R = Qr.apply(A[..., :m])
    return linalg_qr(Q, cat([R, adjoint(Q) @ A[..., m:]], -1))


__all__ = ["eigh", "eigvalsh", "qr", "svd", "svdvals"]
