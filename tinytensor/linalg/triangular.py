"""Solutions with triangular matrices, and Cholesky factors A = L·Lᴴ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_flags
from ..autograd.op import Op
from ..autograd.variable import wrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..ops.autocast import in_float32
from ..ops.matrix import tril, triu
from ..ops.return_types import linalg_cholesky_ex
from ..ops.return_types import triangular_solve as triangular_solve_result
from ..out import takes_out
from .checks import (
    adjoint,
    broadcast_batch,
    check_matrix,
    check_same,
    check_square,
    identity_like,
    new_info,
    raise_for,
    transposed,
    with_info,
)

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Triangular matrices
# ------------------------------------------------------------------------------------------


class SolveTriangular(Op):
    """y = a⁻¹·b with a triangle of a;  db = a⁻ᵀ·g, da = that triangle of −db·yᵀ

    unit: the diagonal counts as ones.
    """

    saves = ("a", "out")

    def forward(self, a: Array, b: Array, upper: bool, unit: bool) -> Array:
        self.upper, self.unit = upper, unit
        a = triangle_of(a, upper, unit)
        if unit:
            a = a + xp(a).eye(a.shape[-1], dtype=a.dtype)
        if upper:
            return _back_substitute(a, b)
        # Lower triangular, both axes reversed, is upper triangular; LAPACK then exchanges no rows.
        return _back_substitute(a[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :].copy()

    def backward(self, g: Any) -> Any:
        a, y = self.saved
        db = SolveTriangular.apply(transposed(a), g, not self.upper, self.unit)
        return triangle_of(-(db @ transposed(y)), self.upper, self.unit), db


def triangle_of(x: Any, upper: bool, unit: bool) -> Any:
    """One triangle of x, without the diagonal if that counts as ones."""
    return triu(x, int(unit)) if upper else tril(x, -int(unit))


def _back_substitute(a: Array, b: Array) -> Array:
    """a⁻¹·b for upper triangular a; infinities where the diagonal has a zero."""
    library = xp(a)
    try:
        return library.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        pass
    n = a.shape[-1]
    y = library.empty(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], b.dtype)
    for i in reversed(range(n)):
        known = (a[..., i : i + 1, i + 1 :] @ y[..., i + 1 :, :])[..., 0, :]
        y[..., i, :] = (b[..., i, :] - known) / a[..., i, i, None]
    return y


def solve_rows(a: Any, b: Any, upper: bool, unit: bool = False) -> Any:
    """b·a⁻¹ for triangular a: X·a = b  ⇔  aᵀ·Xᵀ = bᵀ."""
    return transposed(SolveTriangular.apply(transposed(a), transposed(b), not upper, unit))


@takes_out("same dtype")
@in_float32
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A·X = B for triangular A: (…, n, n) and (…, n, k) → (…, n, k).

    Only the triangle named by `upper` is read; with unitriangular=True not its diagonal, which then
    counts as ones. left=False: X·A = B, with B of shape (…, k, n). A zero on the diagonal is no
    error; it gives infinities.
    """
    check_flags("linalg.solve_triangular", upper=upper, left=left, unitriangular=unitriangular)
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_same(name, A, B)
    check_matrix(name, B, "B")
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise ShapeError(
            f"{name}: incompatible shapes of A and B, {tuple(A.shape)} and {tuple(B.shape)}, "
            f"expected (…, n, n) and {'(…, n, k)' if left else '(…, k, n)'}"
        )
    broadcast_batch(name, A, B)
    if left:
        return SolveTriangular.apply(A, B, bool(upper), bool(unitriangular))
    return solve_rows(A, B, bool(upper), bool(unitriangular))


@takes_out("same dtype")
@in_float32
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> triangular_solve_result:
    """(solution, cloned_coefficient) of A·X = input; `linalg.solve_triangular` is its successor.

    transpose=True: Aᵀ·X = input. cloned_coefficient is a copy of A.
    """
    name, b = "triangular_solve", input
    check_matrix(name, b, "b")
    check_square(name, A)
    check_same(name, b, A)
    if b.shape[-2] != A.shape[-1]:
        raise ShapeError(
            f"{name}: incompatible shapes of b and A, {tuple(b.shape)} and {tuple(A.shape)}, "
            "expected (…, n, k) and (…, n, n)"
        )
    batch = broadcast_batch(name, A, b)
    coefficients = transposed(A) if transpose else A
    upwards = bool(upper) != bool(transpose)
    solution = SolveTriangular.apply(coefficients, b, upwards, bool(unitriangular))
    copied = A.expand((*batch, *A.shape[-2:])).clone()
    return triangular_solve_result(solution, copied)


# ------------------------------------------------------------------------------------------
# Cholesky factors
# ------------------------------------------------------------------------------------------

NOT_POSITIVE = (
    "the input is not positive-definite: its leading minor of order {0} is not positive-definite"
)


class Cholesky(Op):
    """y = L, lower triangular, with L·Lᴴ = x;  dx = L⁻ᴴ·Φ·L⁻¹/2

    Φ is symmetric or Hermitian, with the lower triangle of Lᴴ·g, but its diagonal is as in PyTorch:
    its imaginary part, which no Hermitian change of x meets, stays; conjugated if x is the adjoint
    of the caller's matrix (upper). info: an int array that forward fills, 0 for each matrix that is
    positive definite.
    """

    saves = ("out",)
    complex_rule = True

    def forward(self, x: Array, info: Array, upper: bool) -> Array:
        self.upper = upper
        return with_info("cholesky", _unfinished, info, x)

    def backward(self, g: Any) -> Any:
        (L,) = self.saved
        product = adjoint(L) @ g
        a, b = (-1, 0) if self.upper else (0, -1)
        half = (tril(product, a) + adjoint(tril(product, b))) * 0.5
        return SolveTriangular.apply(adjoint(L), solve_rows(L, half, upper=False), True, False)


def _unfinished(a: Array) -> tuple[Array, int]:
    """The factor of a matrix up to the first pivot that is not positive, and its place from 1."""
    y = xp(a).tril(a)
    for j in range(len(a)):
        row = y[j, :j].conj()
        pivot = (y[j, j] - y[j, :j] @ row).real
        if not pivot > 0:
            y[j, j] = pivot
            return y, j + 1
        y[j, j] = pivot**0.5
        y[j + 1 :, j] = (y[j + 1 :, j] - y[j + 1 :, :j] @ row) / y[j, j]
    return y, len(a)  # LAPACK refused what rounds to a positive pivot here


def _cholesky(name: str, A: Any, upper: bool) -> tuple[Any, Array]:
    check_square(name, A)
    info = new_info(tuple(A.shape[:-2]), A)
    if upper:
        return adjoint(Cholesky.apply(adjoint(A), info, True)), info
    return Cholesky.apply(A, info, False), info


@takes_out("same dtype")
@in_float32
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """L, lower triangular, with L·Lᴴ = A, for a symmetric or Hermitian positive definite A.

    upper=True: its adjoint U, with Uᴴ·U = A. Only one triangle of A is read.
    """
    check_flags("linalg.cholesky", upper=upper)
    L, info = _cholesky("linalg.cholesky", A, upper)
    raise_for("linalg.cholesky", info, NOT_POSITIVE)
    return L


@takes_out("same dtype")
@in_float32
def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False
) -> linalg_cholesky_ex:
    """(L, info): as `cholesky`, but info > 0 instead of an error where there is no factor.

    info: int32, one for each matrix; the order of the first minor that is not positive definite.
    """
    check_flags("linalg.cholesky_ex", upper=upper, check_errors=check_errors)
    L, info = _cholesky("linalg.cholesky_ex", A, upper)
    if check_errors:
        raise_for("linalg.cholesky_ex", info, NOT_POSITIVE)
    return linalg_cholesky_ex(L, wrap(info))


class CholeskySolve(Op):
    """y = (L·Lᴴ)⁻¹·b for lower triangular L;  db = (L·Lᴴ)⁻¹·g, dL = −(db·yᴴ + y·dbᴴ)·L

    dL has both triangles, as in PyTorch.
    """

    saves = ("L", "out")
    complex_rule = True

    def forward(self, b: Array, L: Array) -> Array:
        y = SolveTriangular.apply(L, b, False, False)
        return SolveTriangular.apply(adjoint(L), y, True, False)

    def backward(self, g: Any) -> Any:
        L, y = self.saved
        db = CholeskySolve.apply(g, L)
        product = db @ adjoint(y)
        return db, -((product + adjoint(product)) @ L)


@takes_out("cast")
@in_float32
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A·X = input, from input2, the Cholesky factor of A.

    (…, n, k) and (…, n, n) → (…, n, k)
    """
    check_flags("cholesky_solve", upper=upper)
    name, B, L = "cholesky_solve", input, input2
    check_matrix(name, B, "B")
    check_square(name, L, "L")
    check_same(name, B, L)
    if B.shape[-2] != L.shape[-1]:
        raise ShapeError(
            f"{name}: incompatible shapes of B and L, {tuple(B.shape)} and {tuple(L.shape)}, "
            "expected (…, n, k) and (…, n, n)"
        )
    broadcast_batch(name, L, B)
    return CholeskySolve.apply(B, adjoint(L) if upper else L)


@takes_out("cast")
@in_float32
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """A⁻¹ from the Cholesky factor of A: (…, n, n) → (…, n, n)."""
    check_flags("cholesky_inverse", upper=upper)
    check_square("cholesky_inverse", input, "input")
    return cholesky_solve(identity_like(input, input.shape[-1]), input, upper)


__all__ = ["cholesky", "cholesky_ex", "solve_triangular"]
