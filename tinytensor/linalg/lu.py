"""LU factors with row exchanges, A = P·L·U, and solutions from them.

NumPy does not have them, so `factor` computes them a column at a time, for a whole batch at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..autograd.arguments import array_of, check_flags
from ..autograd.forward_ad import differentiated
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..ops.autocast import in_float32
from ..ops.gather import take_along_dim
from ..ops.join import cat
from ..ops.matrix import tril, triu
from ..ops.return_types import (
    linalg_lu,
    linalg_lu_factor,
    linalg_lu_factor_ex,
)
from ..ops.return_types import lu_unpack as lu_unpack_result
from ..out import takes_out
from .checks import (
    broadcast_batch,
    check_matrix,
    check_same,
    identity_like,
    raise_for,
    transposed,
)
from .triangular import SolveTriangular, solve_rows

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Raw arrays
# ------------------------------------------------------------------------------------------


def factor(x: Array) -> tuple[Array, Array, Array]:
    """(L below the diagonal and U above it, pivots, info) of raw matrices (…, m, n).

    pivots: row j was exchanged with row pivots[j], counted from 1; info: the first j, also counted
    from 1, whose U[j, j] is 0; or 0.
    """
    library = xp(x)
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    count, k = int(np.prod(batch)), min(m, n)
    a = library.array(x, order="C").reshape((count, m, n))
    pivots = library.zeros((count, k), np.int32)
    info = library.zeros(count, np.int32)
    each = library.arange(count)
    with np.errstate(all="ignore"):
        for j in range(k):
            p = j + _size(a[:, j:, j]).argmax(-1)
            pivots[:, j] = p + 1
            rows = a[each, p]
            a[each, p] = a[:, j]
            a[:, j] = rows
            pivot = rows[:, j]
            info = library.where((info == 0) & (pivot == 0), j + 1, info)
            below = a[:, j + 1 :, j]
            below /= library.where(pivot == 0, 1, pivot)[:, None]  # where it is 0, all below are
            a[:, j + 1 :, j + 1 :] -= below[:, :, None] * rows[:, None, j + 1 :]
    shape = (*batch, k)
    return a.reshape(x.shape), pivots.reshape(shape), info.astype(np.int32).reshape(batch)


def _size(x: Array) -> Array:
    """What LAPACK compares to choose a pivot: |x|, and |Re x| + |Im x| of complex numbers."""
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def permutation(pivots: Array, m: int) -> Array:
    """The order of rows, of length m, that the exchanges in `pivots` lead to."""
    library = xp(pivots)
    batch, k = pivots.shape[:-1], pivots.shape[-1]
    count = int(np.prod(batch))
    flat = pivots.reshape((count, k))
    order = library.tile(library.arange(m), (count, 1))
    each = library.arange(count)
    for j in range(k):
        p = flat[:, j] - 1
        there = order[each, p]
        order[each, p] = order[:, j]
        order[:, j] = there
    return order.reshape((*batch, m))


def _inverse_permutation(order: Array) -> Array:
    return xp(order).argsort(order, -1)


def solve_factored(packed: Any, pivots: Array, b: Any, transpose: bool = False) -> Any:
    """A⁻¹·b, or A⁻ᵀ·b if transpose, from the factors of square A; arrays or tensors."""
    order = permutation(unwrap(pivots), packed.shape[-2])
    if not transpose:
        y = SolveTriangular.apply(packed, _rows(b, order), False, True)
        return SolveTriangular.apply(packed, y, True, False)
    y = SolveTriangular.apply(transposed(packed), b, False, False)
    y = SolveTriangular.apply(transposed(packed), y, True, True)
    return _rows(y, _inverse_permutation(order))


def _rows(b: Any, order: Array) -> Any:
    """The rows of each matrix in the given order; batches broadcast."""
    rank = max(b.ndim, order.ndim + 1)
    b = b.reshape((1,) * (rank - b.ndim) + tuple(b.shape))
    order = order.reshape((1,) * (rank - order.ndim - 1) + order.shape + (1,))
    if isinstance(b, Variable):
        b, order = cast(Any, b), wrap(order)
        return take_along_dim(b, order, -2)
    return xp(b).take_along_axis(b, order, -2)


# ------------------------------------------------------------------------------------------
# The gradient
# ------------------------------------------------------------------------------------------


class LuSquare(Op):
    """y = (L − 1) + U with x = L·U;  dx = L⁻ᵀ·(tril(Lᵀ·g, −1) + triu(g·Uᵀ))·U⁻ᵀ

    x is square, and no rows are exchanged: both factors are in one matrix. Lᵀ meets the part of g
    below the diagonal, and Uᵀ the rest.
    """

    saves = ("out",)

    def forward(self, x: Array, packed: Array) -> Array:
        return packed.copy()

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        L = tril(y, -1) + identity_like(y, y.shape[-1])
        inner = tril(transposed(L) @ tril(g, -1), -1) + triu(triu(g) @ transposed(triu(y)))
        left = SolveTriangular.apply(transposed(L), inner, True, True)
        return transposed(SolveTriangular.apply(y, transposed(left), True, False))


def _factored(name: str, A: Any, pivot: bool) -> tuple[Any, Array, Array]:
    """(packed factors as a tensor, pivots, info), with a graph if A needs a gradient."""
    check_matrix(name, A)
    if not pivot:
        raise RuntimeError(
            f"{name}: LU without pivoting is not implemented on the CPU, expected pivot=True"
        )
    packed, pivots, info = factor(unwrap(A))
    if not differentiated(A):
        return wrap(packed), pivots, info
    (m, n), k = A.shape[-2:], pivots.shape[-1]
    B = _rows(A, permutation(pivots, m))  # B = L·U
    square = LuSquare.apply(B[..., :k, :k], packed[..., :k, :k])
    if m > k:  # B = (L₁; L₂)·U: the lower rows are L₂ = B₂·U⁻¹
        below = solve_rows(square, B[..., k:, :], upper=True)
        return cat([square, below], -2), pivots, info
    if n > k:  # B = L·(U₁, U₂): the columns to the right are U₂ = L⁻¹·B₂
        right = SolveTriangular.apply(square, B[..., k:], False, True)
        return cat([square, right], -1), pivots, info
    return square, pivots, info


# ------------------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------------------


@takes_out("same dtype")
@in_float32
def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> linalg_lu_factor_ex:
    """(LU, pivots, info): as `lu_factor`, but info > 0 instead of an error where U has a zero."""
    check_flags("linalg.lu_factor_ex", pivot=pivot, check_errors=check_errors)
    packed, pivots, info = _factored("linalg.lu_factor_ex", A, pivot)
    if check_errors:
        raise_for("linalg.lu_factor_ex", info, ZERO)
    return linalg_lu_factor_ex(packed, wrap(pivots), wrap(info))


@takes_out("same dtype")
@in_float32
def lu_factor(A: Tensor, *, pivot: bool = True) -> linalg_lu_factor:
    """(LU, pivots) of A = P·L·U: L below the diagonal of LU, U on and above it.

    Row j was exchanged with row pivots[j], counted from 1. (…, m, n) → (…, m, n), (…, min(m, n)).
    """
    check_flags("linalg.lu_factor", pivot=pivot)
    packed, pivots, info = _factored("linalg.lu_factor", A, pivot)
    raise_for("linalg.lu_factor", info, ZERO)
    return linalg_lu_factor(packed, wrap(pivots))


ZERO = (
    "U[{0},{0}] is zero, and lu_solve would divide by it; for the factors alone call lu or "
    "lu_factor_ex"
)


@takes_out("same dtype")
@in_float32
def lu(A: Tensor, *, pivot: bool = True) -> linalg_lu:
    """(P, L, U) with A = P·L·U: a permutation, unit lower triangular and upper triangular."""
    check_flags("linalg.lu", pivot=pivot)
    packed, pivots, _ = _factored("linalg.lu", A, pivot)
    return linalg_lu(*_unpacked(packed, pivots))


def _unpacked(packed: Any, pivots: Array) -> tuple[Any, Any, Any]:
    m, k = packed.shape[-2], min(packed.shape[-2:])
    library = xp(pivots)
    L = tril(packed[..., :k], -1) + wrap(library.eye(m, k, dtype=unwrap(packed).dtype))
    return wrap(_matrix(pivots, m, unwrap(packed).dtype)), L, triu(packed[..., :k, :])


def _matrix(pivots: Array, m: int, dtype: Any) -> Array:
    """P with P[order[i], i] = 1."""
    library = xp(pivots)
    order = permutation(pivots, m)
    return (library.arange(m)[:, None] == order[..., None, :]).astype(dtype)


@takes_out("same dtype")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> lu_unpack_result:
    """(P, L, U) from the result of `linalg.lu_factor`; empty tensors for parts not asked for."""
    check_matrix("lu_unpack", LU_data, "LU_data")
    _check_pivots("lu_unpack", LU_pivots)
    m, k = LU_data.shape[-2], min(LU_data.shape[-2:])
    pivots = LU_pivots.array[..., :k]  # as in PyTorch, more of them are ignored
    if pivots.shape[-1] < k or (pivots.size and not 1 <= pivots.min() <= pivots.max() <= m):
        raise RuntimeError(
            f"lu_unpack: got LU_pivots of shape {tuple(LU_pivots.shape)}, expected {k} numbers "
            f"from 1 to {m}, as lu_factor returns them"
        )
    P, L, U = _unpacked(LU_data, pivots)
    nothing = wrap(xp(LU_data.array).empty(0, LU_data.array.dtype))
    if not unpack_data:
        L = U = nothing
    return lu_unpack_result(P if unpack_pivots else nothing, L, U)


def _check_pivots(name: str, pivots: Any) -> None:
    if array_of(name, pivots).dtype != np.int32:
        raise RuntimeError(f"{name}: pivots has dtype {pivots.dtype}, expected int32")


@takes_out("same dtype")
@in_float32
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """X with A·X = B, from lu_factor(A): (…, n, n), (…, n) and (…, n, k) → (…, n, k).

    left=False: X·A = B. adjoint=True: Aᴴ in place of A.
    """
    check_flags("linalg.lu_solve", left=left, adjoint=adjoint)
    name = "linalg.lu_solve"
    check_matrix(name, LU, "LU")
    _check_pivots(name, pivots)
    check_matrix(name, B, "B")
    check_same(name, LU, B)
    n = LU.shape[-1]
    if LU.shape[-2] != n or B.shape[-2 if left else -1] != n:
        raise ShapeError(
            f"{name}: got LU of shape {tuple(LU.shape)} and B of shape {tuple(B.shape)}, expected "
            f"(…, n, n) and {'(…, n, k)' if left else '(…, k, n)'}"
        )
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise ShapeError(
            f"{name}: got pivots of shape {tuple(pivots.shape)}, expected {tuple(LU.shape[:-1])}"
        )
    broadcast_batch(name, LU, B)
    # X·A = B  ⇔  Aᵀ·Xᵀ = Bᵀ, and Aᴴ is the transpose of conj(A)
    factors = LU.conj() if adjoint and LU.is_complex() else LU
    if left:
        return solve_factored(factors, pivots.array, B, adjoint)
    return transposed(solve_factored(factors, pivots.array, transposed(B), not adjoint))


__all__ = ["lu", "lu_factor", "lu_factor_ex", "lu_solve"]
