"""Inverses, determinants and solutions of A·X = B, for one matrix or a batch of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_flags
from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..ops.autocast import in_float32
from ..ops.clamp import where
from ..ops.pointwise import log
from ..ops.reduce import prod
from ..ops.return_types import linalg_inv_ex, linalg_slogdet, linalg_solve_ex
from ..out import takes_out
from .checks import (
    adjoint,
    broadcast_batch,
    check_matrix,
    check_same,
    check_square,
    largest_of,
    new_info,
    raise_for,
    transposed,
    with_info,
)
from .lu import factor, solve_factored
from .svd import svd

if TYPE_CHECKING:
    from ..tensor import Tensor

SINGULAR = "the input matrix is singular: the diagonal element {0} of U in A = P·L·U is zero"


# ------------------------------------------------------------------------------------------
# Inverses
# ------------------------------------------------------------------------------------------


class Inverse(Op):
    """y = x⁻¹;  dx = −yᵀ·g·yᵀ

    info: an int array that forward fills, 0 for each matrix that has an inverse.
    """

    saves = ("out",)

    def forward(self, x: Array, info: Array) -> Array:
        return with_info("inv", _invert_singular, info, x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        yT = transposed(y)
        return -(yT @ g @ yT)


def _invert_singular(a: Array) -> tuple[Array, int]:
    return _solve_singular(a, xp(a).eye(a.shape[-1], dtype=a.dtype))


def _solve_singular(a: Array, b: Array) -> tuple[Array, int]:
    """X from the factors of a singular matrix, with infinities, and the place of its zero."""
    packed, pivots, info = factor(a)
    with np.errstate(all="ignore"):
        return solve_factored(packed, pivots, b), int(info)


@takes_out("same dtype")
@in_float32
def inv_ex(A: Tensor, *, check_errors: bool = False) -> linalg_inv_ex:
    """(inverse, info): as `inv`, but info > 0 instead of an error where there is no inverse.

    info: int32, one for each matrix; the place of the zero on the diagonal of U in A = P·L·U.
    """
    check_flags("linalg.inv_ex", check_errors=check_errors)
    check_square("linalg.inv_ex", A)
    info = new_info(tuple(A.shape[:-2]), A)
    y = Inverse.apply(A, info)
    if check_errors:
        raise_for("linalg.inv_ex", info, SINGULAR)
    return linalg_inv_ex(y, wrap(info))


@takes_out("same dtype")
@in_float32
def inv(A: Tensor) -> Tensor:
    """The inverse of a square matrix, or of each in a batch: (…, n, n) → (…, n, n)."""
    return _inverse("linalg.inv", A)


@takes_out("same dtype")
def inverse(input: Tensor) -> Tensor:
    """The inverse of a square matrix, or of each in a batch: (…, n, n) → (…, n, n)."""
    return _inverse("inverse", input)


def _inverse(name: str, A: Any) -> Any:
    check_square(name, A)
    info = new_info(tuple(A.shape[:-2]), A)
    y = Inverse.apply(A, info)
    raise_for(name, info, SINGULAR)
    return y


# ------------------------------------------------------------------------------------------
# Solutions
# ------------------------------------------------------------------------------------------


class Solve(Op):
    """y = a⁻¹·b;  db = a⁻ᵀ·g, da = −db·yᵀ

    info: an int array that forward fills, 0 for each matrix that is not singular.
    """

    saves = ("a", "out")

    def forward(self, a: Array, b: Array, info: Array) -> Array:
        return with_info("solve", _solve_singular, info, a, b)

    def backward(self, g: Any) -> Any:
        a, y = self.saved
        db = Solve.apply(transposed(a), g, new_info(tuple(g.shape[:-2]), g))
        return -(db @ transposed(y)), db


def as_columns(name: str, A: Any, B: Any) -> tuple[Any, bool]:
    """B as matrices, and whether it holds vectors: one, or as many as there are matrices in A."""
    check_square(name, A)
    check_same(name, A, B)
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    return (B.reshape((*B.shape, 1)) if vectors else B), vectors  # (…, n) → (…, n, 1)


def _solve(name: str, A: Any, B: Any, left: bool) -> tuple[Any, Array]:
    columns, vectors = as_columns(name, A, B)
    check_matrix(name, columns, "B")
    if vectors and not left:
        raise ShapeError(
            f"{name}: left=False solves X·A = B for matrices, got vectors B of shape "
            f"{tuple(B.shape)}"
        )
    if columns.shape[-2 if left else -1] != A.shape[-1]:
        raise ShapeError(
            f"{name}: incompatible shapes of A and B, {tuple(A.shape)} and {tuple(B.shape)}, "
            f"expected (…, n, n) and {'(…, n, k) or (…, n)' if left else '(…, k, n)'}"
        )
    batch = broadcast_batch(name, A, columns)
    info = new_info(batch, A)
    if left:
        X = Solve.apply(A, columns, info)
    else:  # X·A = B  ⇔  Aᵀ·Xᵀ = Bᵀ
        X = transposed(Solve.apply(transposed(A), transposed(columns), info))
    return (X.reshape(X.shape[:-1]) if vectors else X), info


@takes_out("same dtype")
@in_float32
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A·X = B: (…, n, n) and (…, n, k) → (…, n, k), or (…, n) and (…, n) → (…, n).

    left=False: X with X·A = B, (…, n, n) and (…, k, n) → (…, k, n).
    """
    check_flags("linalg.solve", left=left)
    X, info = _solve("linalg.solve", A, B, left)
    raise_for("linalg.solve", info, SINGULAR)
    return X


@takes_out("same dtype")
@in_float32
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False
) -> linalg_solve_ex:
    """(result, info): as `solve`, but info > 0 instead of an error for a singular matrix."""
    check_flags("linalg.solve_ex", left=left, check_errors=check_errors)
    X, info = _solve("linalg.solve_ex", A, B, left)
    if check_errors:
        raise_for("linalg.solve_ex", info, SINGULAR)
    return linalg_solve_ex(X, wrap(info))


# ------------------------------------------------------------------------------------------
# Determinants
# ------------------------------------------------------------------------------------------


class Det(Op):
    """y = det x;  dx = g·C, with C the cofactors of x: y·x⁻ᵀ if x has an inverse"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return xp(x).linalg.det(x)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return g.reshape((*g.shape, 1, 1)) * _cofactors(x, y)


def _cofactors(x: Any, y: Any) -> Any:
    """y·x⁻ᵀ; for matrices that are singular or nearly so, from their singular values.

    x = U·diag(s)·Vh has the cofactors det U · det Vh · U·diag(Π_{j≠i} sⱼ)·Vh, with the conjugates
    of U and Vh as its two outer factors if they are complex.
    """
    array = unwrap(x)
    info = new_info(array.shape[:-2], array)
    inverses = Inverse.apply(array, info)
    size = largest_of(array, (-1, -2)) * largest_of(inverses, (-1, -2))
    if not info.any() and (size < 1e-3 / np.finfo(array.dtype).eps).all():
        return y.reshape((*y.shape, 1, 1)) * transposed(Inverse.apply(x, info))
    U, s, Vh = svd(x, full_matrices=False)
    library = xp(array)
    n = array.shape[-1]
    # (…, 1, n) and the identity: row i holds all s but sᵢ, with a 1 in its place
    others = where(library.eye(n, dtype=bool), 1.0, s.reshape((*s.shape[:-1], 1, n)))
    weights = prod(others, -1)
    if array.dtype.kind == "c":
        U, Vh = U.conj(), Vh.conj()
        sign = (Det.apply(U) * Det.apply(Vh)).conj()
    else:
        sign = library.linalg.det(unwrap(U)) * library.linalg.det(unwrap(Vh))  # ±1, a constant
        sign = library.round(sign)
    weights = weights * sign.reshape((*sign.shape, 1))
    return (U * weights.reshape((*weights.shape[:-1], 1, n))) @ Vh


class Slogdet(Op):
    """sign, y = the factors of det x = sign·e^y;  dx = (gy + i·Im(gsign·conj(sign)))·x⁻ᴴ

    The sign of a real determinant is ±1 and has no gradient.
    """

    saves = ("x",)
    complex_rule = True

    def forward(self, x: Array) -> tuple:
        return tuple(xp(x).linalg.slogdet(x))

    def backward(self, gsign: Any, gy: Any) -> Any:
        (x,) = self.saved
        inverses = Inverse.apply(x, new_info(tuple(x.shape[:-2]), x))
        if unwrap(x).dtype.kind == "c":
            determinant = Det.apply(x)
            gy = gy + 1j * (gsign * (determinant / abs(determinant)).conj()).imag
        return gy.reshape((*gy.shape, 1, 1)) * adjoint(inverses)


@takes_out("same dtype")
def det(A: Tensor) -> Tensor:
    """The determinant: (…, n, n) → (…)."""
    check_square("linalg.det", A)
    return Det.apply(A)


@takes_out("same dtype")
def slogdet(A: Tensor) -> linalg_slogdet:
    """(sign, logabsdet) with det A = sign·exp(logabsdet); (0, −∞) for a singular matrix.

    The sign of a complex determinant is a complex number of absolute value 1.
    """
    check_square("linalg.slogdet", A)
    return linalg_slogdet(*Slogdet.apply(A))


def logdet(input: Tensor) -> Tensor:
    """log det of each matrix: −∞ for a determinant of 0, NaN for a negative one."""
    check_square("logdet", input)
    sign, logarithm = slogdet(input)
    if sign.array.dtype.kind == "c":
        return logarithm + log(sign)
    return where(wrap(sign.array < 0), np.nan, logarithm)


__all__ = ["det", "inv", "inv_ex", "slogdet", "solve", "solve_ex"]
