"""Linear algebra with the names of torch.linalg.

Norms, inverses, determinants and solutions have gradients. Decompositions have none; they raise if
their input requires grad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .autograd.settings import is_grad_enabled
from .autograd.variable import as_array, wrap
from .ops.matmul import matmul
from .ops.reduce import require_float
from .ops.solve import check_square, det, lapack, solve
from .ops.solve import inverse as inv
from .ops.variance import norm as p_norm

if TYPE_CHECKING:
    from .tensor import Tensor


def vector_norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *,
                dtype: Any = None) -> Tensor:  # fmt: skip
    """The ord-norm (Σ |x|ᵖ)^(1/p) over `dim` (an int, a tuple, or all): see `tinytensor.norm`."""
    return p_norm(x, ord, dim, keepdim, dtype=dtype)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *,
         dtype: Any = None) -> Tensor:  # fmt: skip
    """The norm of vectors along one `dim`, or of all elements; "fro" for matrices.

    Other matrix norms are not supported.
    """
    over = A.ndim if dim is None else 1 if isinstance(dim, int) else len(dim)
    if ord not in (None, "fro") and over != 1:
        raise NotImplementedError(
            f"norm: got ord = {ord!r} for matrices, expected None or 'fro'; for the norm of all "
            "elements use vector_norm"
        )
    return p_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def matrix_power(A: Tensor, n: int) -> Tensor:
    """A·A·…·A, n times; for a negative n, a power of the inverse."""
    check_square("matrix_power", A)
    factor = inv(A) if n < 0 else A
    if n == 0:
        return A * 0 + wrap(A.array).new_ones(A.shape[-1]).diag()
    if n == 1:
        return A.clone()
    result = factor
    for bit in bin(abs(n))[3:]:  # the bits after the first: square, and multiply where it is 1
        result = matmul(result, result)
        if bit == "1":
            result = matmul(result, factor)
    return result


# ------------------------------------------------------------------------------------------
# Decompositions
# ------------------------------------------------------------------------------------------


class eigh_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


class qr_result(NamedTuple):
    Q: Tensor
    R: Tensor


class lstsq_result(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def _untracked(name: str, A: Any) -> Any:
    """The array of A; raises if a gradient would be needed."""
    require_float(name, A)
    if A.requires_grad and is_grad_enabled():
        raise NotImplementedError(f"{name}: no gradient is implemented; call it on A.detach()")
    return A.array


def cholesky(A: Tensor) -> Tensor:
    """The lower triangular L with L·Lᵀ = A, for a symmetric positive definite A."""
    check_square("cholesky", A)
    return wrap(lapack("cholesky", _untracked("cholesky", A), "cholesky"))


def eigh(A: Tensor, UPLO: str = "L") -> eigh_result:
    """(eigenvalues, eigenvectors) of a symmetric matrix: ascending values, vectors as columns."""
    check_square("eigh", A)
    found = lapack("eigh", _untracked("eigh", A), "eigh", UPLO=UPLO)
    return eigh_result(*map(wrap, found))


def svd(A: Tensor, full_matrices: bool = True) -> svd_result:
    """(U, S, Vh) with A = U·diag(S)·Vh and descending singular values S."""
    found = lapack("svd", _untracked("svd", A), "svd", full_matrices=full_matrices)
    return svd_result(*map(wrap, found))


def qr(A: Tensor, mode: str = "reduced") -> qr_result:
    """(Q, R) with A = Q·R: orthonormal columns, and an upper triangular matrix."""
    return qr_result(*map(wrap, lapack("qr", _untracked("qr", A), "qr", mode=mode)))


def pinv(A: Tensor) -> Tensor:
    """The pseudo-inverse: (…, m, n) → (…, n, m)."""
    return wrap(lapack("pinv", _untracked("pinv", A), "pinv"))


def lstsq(A: Tensor, B: Tensor) -> lstsq_result:
    """The X that minimises ‖A·X − B‖, as `.solution`: (m, n) and (m, k) → (n, k)."""
    b = _untracked("lstsq", B)
    x, residuals, rank, values = lapack("lstsq", _untracked("lstsq", A), "lstsq", b, rcond=None)
    return lstsq_result(wrap(x), wrap(residuals), wrap(as_array(rank)), wrap(values))


# fmt: off
__all__ = [
    "cholesky", "det", "eigh", "inv", "lstsq", "matrix_power", "norm", "pinv", "qr", "solve",
    "svd", "vector_norm",
]
# fmt: on
