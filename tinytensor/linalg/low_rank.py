"""Products with Householder's Q, and approximations of low rank by random projections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import check_flags
from ..autograd.variable import unwrap, wrap
from ..backend import xp
from ..create.random import randn
from ..errors import ShapeError
from ..ops.autocast import in_float32
from ..out import takes_out
from .checks import adjoint, check_matrix, check_same
from .svd import qr, svd

if TYPE_CHECKING:
    from ..tensor import Tensor


@takes_out("same dtype")
@in_float32
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q·other with Q = H₁·H₂⋯H_k, Hᵢ = 1 − τᵢ·vᵢ·vᵢᴴ, as `geqrf` returns v (in input) and τ.

    left=False: other·Q. transpose=True: Qᴴ in place of Q. Q is square, and never made.
    input (…, m, n), tau (…, k), other (…, m, p), or (…, p, m) for left=False → as other.
    """
    check_flags("ormqr", left=left, transpose=transpose)
    check_matrix("ormqr", input, "input")
    check_matrix("ormqr", other, "other")
    check_same("ormqr", input, tau)
    check_same("ormqr", input, other)
    (m, n), k = input.shape[-2:], tau.shape[-1] if tau.ndim else 0
    batch = tuple(input.shape[:-2])
    if k > min(m, n) or tuple(tau.shape[:-1]) != batch or tuple(other.shape[:-2]) != batch:
        raise ShapeError(
            f"ormqr: got input, tau and other of shapes {tuple(input.shape)}, {tuple(tau.shape)} "
            f"and {tuple(other.shape)}, expected (…, m, n), (…, k ≤ min(m, n)) and (…, m, p)"
        )
    if other.shape[-2 if left else -1] != m:
        raise ShapeError(
            f"ormqr: got other of shape {tuple(other.shape)}, expected "
            f"{f'(…, {m}, p)' if left else f'(…, p, {m})'} for input of shape {tuple(input.shape)}"
        )
    library, dtype = xp(unwrap(input)), unwrap(input).dtype
    places = library.arange(m)[:, None]
    y = other
    for i in reversed(range(k)) if left != transpose else range(k):
        below = wrap((places > i).astype(dtype))
        v = input[..., i : i + 1] * below + wrap((places == i).astype(dtype))  # (…, m, 1)
        factor = tau[..., i].reshape((*batch, 1, 1))
        if transpose and dtype.kind == "c":
            factor = factor.conj()
        vH = adjoint(v)
        y = y - ((v * factor) @ (vH @ y) if left else (y @ v) @ (factor * vH))
    return y


def _basis(A: Any, q: int, niter: int) -> Any:
    """q orthonormal columns that nearly span the columns of A (Halko and others, 2011).

    Each of the niter rounds multiplies by A·Aᴴ, which makes large singular values stand out.
    """
    Q = qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        Q = qr(adjoint(A) @ Q).Q
        Q = qr(A @ Q).Q
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A ≈ U·diag(S)·Vᴴ of rank q, found from a random projection.

    (…, m, n) → (…, m, q), (…, q), (…, n, q). niter: rounds that make it more exact. M: a matrix
    that is subtracted from A. The random numbers come from the default generator.
    """
    check_matrix("svd_lowrank", A)
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    if q < 0:
        raise ValueError(f"svd_lowrank: got q = {q}, expected at least 0")
    if M is not None:
        A = A - M.expand(A.shape)
    if A.shape[-2] < A.shape[-1]:  # the basis of the shorter side
        V, S, U = _tall(adjoint(A), q, niter)
    else:
        U, S, V = _tall(A, q, niter)
    return U, S, V


def _tall(A: Any, q: int, niter: int) -> tuple[Any, Any, Any]:
    Q = _basis(A, q, niter)
    U, S, Vh = svd(adjoint(Q) @ A, full_matrices=False)
    return Q @ U, S, adjoint(Vh)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V): V's columns are the first q principal directions of the rows of A.

    (…, m, n) → (…, m, q), (…, q), (…, n, q); q is min(6, m, n) by default. center: subtract the
    mean of the rows first. A @ V projects the data. See `svd_lowrank`.
    """
    check_flags("pca_lowrank", center=center)
    check_matrix("pca_lowrank", A)
    least = min(A.shape[-2:])
    q = min(6, least) if q is None else q
    if not 0 <= q <= least:
        raise ValueError(
            f"pca_lowrank: got q = {q} for shape {tuple(A.shape)}, expected 0 to {least}"
        )
    if niter < 0:
        raise ValueError(f"pca_lowrank: got niter = {niter}, expected at least 0")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


__all__ = ["ormqr", "pca_lowrank", "svd_lowrank"]
