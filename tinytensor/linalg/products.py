"""Powers and products of matrices, and tensors seen as matrices."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, require_tensor
from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..ops.autocast import in_float32, lower
from ..ops.autocast_setting import setting
from ..ops.broadcast import atleast_1d, broadcast_tensors, common_shape
from ..ops.convert import clone
from ..ops.dims import as_ints, normalize_dim
from ..ops.join import cat
from ..ops.masked import masked_fill
from ..ops.matmul import Cross, matmul
from ..ops.partial_views import diagonal as diagonal_of
from ..ops.promote import cast, promote
from ..ops.scan import cumprod
from ..ops.shape import movedim
from ..out import takes_out
from .checks import (
    adjoint,
    check_float,
    check_matrix,
    check_same,
    check_square,
    identity_like,
    transposed,
)
from .solve import inv, solve

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Powers
# ------------------------------------------------------------------------------------------


def _power_out(args: tuple, kwargs: dict, result: Any) -> str:
    n = kwargs["n"] if "n" in kwargs else args[-1]
    return "cast" if n in (0, 1) else "same dtype"


@takes_out(_power_out)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """A·A·…·A, n times; for a negative n, a power of the inverse."""
    check_square("linalg.matrix_power", A)
    n = operator.index(n)
    if n == 0:
        return nothing_of(A) + identity_like(A, A.shape[-1])
    factor = inv(A) if n < 0 else A
    if n == 1:
        return clone(A)
    result = factor
    for bit in bin(abs(n))[3:]:  # the bits after the first: square, and multiply where it is 1
        result = matmul(result, result)
        if bit == "1":
            result = matmul(result, factor)
    return result


def nothing_of(A: Any) -> Any:
    """Zeros like A, with a gradient of zeros, even where A is infinite."""
    return masked_fill(A, wrap(xp(unwrap(A)).ones((), bool)), 0)


class MatrixExp(Op):
    """y = eˣ = Σ xᵏ/k!;  dx = the upper right block of exp((xᵀ, g; 0, xᵀ))"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        return _exponential(x.astype(wide)).astype(x.dtype)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        xT, n = transposed(x), x.shape[-1]
        upper = cat([xT, g], -1)
        lower = cat([g * 0, xT], -1)
        return MatrixExp.apply(cat([upper, lower], -2))[..., :n, n:]


# The coefficients of Padé's approximation eˣ ≈ p(x)/p(−x) of degree 13
PADE = [math.factorial(26 - k) * math.comb(13, k) / math.factorial(26) for k in range(14)]
RADIUS = 5.371920351148152  # the norm of x up to which it is exact in float64 (Higham, 2005)


def _exponential(x: Array) -> Array:
    """eˣ for raw matrices: x is halved until it is small, and the result squared as often."""
    library = xp(x)
    if not x.size:
        return x.copy()
    size = abs(x).sum(-2).max(-1)
    with np.errstate(all="ignore"):
        halvings = library.ceil(library.log2(size / RADIUS))
    halvings = library.where(library.isfinite(halvings), library.maximum(halvings, 0), 0)
    x = x / (2.0**halvings)[..., None, None]
    one = library.eye(x.shape[-1])
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    c = PADE
    odd = x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2)
    odd = x @ (odd + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one)
    even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2)
    even = even + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    y = library.linalg.solve(even - odd, even + odd)
    for i in range(int(halvings.max())):
        y = library.where((halvings > i)[..., None, None], y @ y, y)
    return y


@in_float32
def matrix_exp(A: Tensor) -> Tensor:
    """e to the power of each matrix: (…, n, n) → (…, n, n)."""
    check_square("linalg.matrix_exp", A)
    return MatrixExp.apply(A)


# ------------------------------------------------------------------------------------------
# Products
# ------------------------------------------------------------------------------------------


@takes_out("same dtype")
def multi_dot(tensors: Any) -> Tensor:
    """The product of two or more matrices, in the order that takes the fewest multiplications.

    The first may be a vector, which counts as a row, and the last one, which counts as a column.
    """
    name = "linalg.multi_dot"
    matrices = list(tensors)
    if len(matrices) < 2:
        raise RuntimeError(f"{name}: got {len(matrices)} tensors, expected at least 2")
    for i, matrix in enumerate(matrices):
        require_tensor(name, matrix)
        ends = i in (0, len(matrices) - 1)
        if matrix.ndim != 2 and not (ends and matrix.ndim == 1):
            raise ShapeError(
                f"{name}: tensor {i} has shape {tuple(matrix.shape)}, expected 2 dimensions"
                + (" or 1" if ends else "")
            )
        check_same(name, matrices[0], matrix)
    row, column = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if row:
        matrices[0] = matrices[0].reshape((1, -1))
    if column:
        matrices[-1] = matrices[-1].reshape((-1, 1))
    for left, right in zip(matrices, matrices[1:]):
        if left.shape[1] != right.shape[0]:
            raise ShapeError(
                f"{name}: tensors of shapes {tuple(left.shape)} and {tuple(right.shape)} cannot be "
                f"multiplied ({left.shape[1]} and {right.shape[0]} differ)"
            )
    sizes = [matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices)]
    y = _product(matrices, _best_splits(sizes), 0, len(matrices) - 1)
    return y.reshape(y.shape[int(row) : 1 if column else 2])


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """{(i, j): k}: the product of matrices i … j is best that of i … k and k + 1 … j."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    best: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [
                cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            ]
            cost[i, j] = min(costs)
            best[i, j] = i + costs.index(cost[i, j])
    return best


def _product(matrices: list, best: dict, i: int, j: int) -> Any:
    if i == j:
        return matrices[i]
    k = best[i, j]
    return matmul(_product(matrices, best, i, k), _product(matrices, best, k + 1, j))


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices; `linalg.multi_dot` is its successor."""
    return clone(matrices[0]) if len(matrices) == 1 else multi_dot(matrices)


@takes_out("same dtype")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Σ conj(x)·y along `dim`; the other dimensions broadcast."""
    require_tensor("linalg.vecdot", x)
    require_tensor("linalg.vecdot", y)
    check_float("linalg.vecdot", x)
    if setting.active is not None:
        x, y = lower((x, y))
    check_same("linalg.vecdot", x, y)
    return ((x.conj() if x.is_complex() else x) * y).sum(dim)


@takes_out("same dtype")
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along `dim`, which has length 3; the other dimensions broadcast."""
    name = "linalg.cross"
    a, b = array_of(name, input), array_of(name, other)
    if a.ndim != b.ndim:
        raise ShapeError(
            f"{name}: got shapes {a.shape} and {b.shape}, expected as many dimensions in both"
        )
    dim = normalize_dim(name, dim, a.ndim)
    if not a.ndim or a.shape[dim] != 3 or b.shape[dim] != 3:
        raise ShapeError(
            f"{name}: got shapes {a.shape} and {b.shape}, expected length 3 in dimension {dim}"
        )
    common_shape(name, (a.shape, b.shape))
    first, second = broadcast_tensors(*promote(input, other))
    return Cross.apply(first, second, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of each matrix, a view: (…, m, n) → (…, min(m, n))."""
    return diagonal_of(A, offset, dim1, dim2)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers 1, x, x², …, xᴺ⁻¹ of each element, as a new last dimension; N is n by default."""
    name = "linalg.vander"
    array = array_of(name, x)
    if array.dtype.kind == "b":
        x = cast(x, np.dtype(np.int64))
    x = atleast_1d(x)
    count = x.shape[-1] if N is None else operator.index(N)
    if count <= 1:
        raise RuntimeError(f"{name}: got N = {count}, expected a number greater than 1")
    ones = x.new_ones((*x.shape, 1))
    column = x.reshape((*x.shape, 1))
    powers = cumprod(column.expand((*x.shape, count - 1)), -1)
    return cat([ones, powers], -1)


@takes_out("cast")
@in_float32
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of H₁·H₂⋯H_k, with Hᵢ = 1 − τᵢ·vᵢ·vᵢᴴ, as `geqrf` returns v and τ.

    vᵢ is the part of A's column i below the diagonal, with 1 on it and 0 above.
    (…, m, n) and (…, k) → (…, m, n), for m ≥ n ≥ k.
    """
    name = "linalg.householder_product"
    check_matrix(name, A)
    check_same(name, A, tau)
    (m, n), k = A.shape[-2:], tau.shape[-1] if tau.ndim else 0
    if m < n or n < k:
        raise ShapeError(
            f"{name}: got shapes {tuple(A.shape)} and {tuple(tau.shape)}, expected (…, m, n) and "
            "(…, k) with m ≥ n ≥ k"
        )
    if tuple(tau.shape[:-1]) != tuple(A.shape[:-2]) or tau.ndim != A.ndim - 1:
        raise ShapeError(
            f"{name}: got tau of shape {tuple(tau.shape)} for A of shape {tuple(A.shape)}, "
            "expected the same batch dimensions"
        )
    library, dtype = xp(unwrap(A)), unwrap(A).dtype
    Q = nothing_of(A) + wrap(library.eye(m, n, dtype=dtype))
    places = library.arange(m)[:, None]
    for i in reversed(range(k)):
        below = wrap((places > i).astype(dtype))
        v = A[..., i : i + 1] * below + wrap((places == i).astype(dtype))  # (…, m, 1)
        factor = tau[..., i].reshape((*tau.shape[:-1], 1, 1))
        Q = Q - (v * factor) @ (adjoint(v) @ Q)
    return Q


# ------------------------------------------------------------------------------------------
# Tensors as matrices
# ------------------------------------------------------------------------------------------


@takes_out("cast")
@in_float32
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its last dimensions to its first `ind` ones.

    tensordot(tensorinv(A, ind), A, ind) is the identity. (a…, b…) → (b…, a…), Π a = Π b.
    """
    name = "linalg.tensorinv"
    check_float(name, A)
    if ind <= 0:
        raise RuntimeError(f"{name}: got ind = {ind}, expected a positive number")
    if ind > A.ndim:
        raise RuntimeError(f"{name}: got ind = {ind}, expected at most {A.ndim}, as A has dims")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(first) != math.prod(last):
        raise ShapeError(
            f"{name}: got shape {tuple(A.shape)} and ind = {ind}, expected as many elements in "
            f"{last} as in {first}"
        )
    return inv(A.reshape((math.prod(first), math.prod(last)))).reshape(last + first)


@takes_out("cast")
@in_float32
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B. `dims` of A are moved to its end first."""
    name = "linalg.tensorsolve"
    check_float(name, A)
    check_same(name, A, B)
    if dims is not None:
        moved = as_ints(name, dims)
        A = movedim(A, moved, tuple(range(A.ndim - len(moved), A.ndim)))
    shape = tuple(A.shape[B.ndim :])
    size = math.prod(shape)
    if size != math.prod(B.shape) or size * size != math.prod(A.shape):
        raise ShapeError(
            f"{name}: got shapes {tuple(A.shape)} and {tuple(B.shape)}, expected B to have the "
            "first dimensions of A, and as many elements as the rest of them"
        )
    return solve(A.reshape((size, size)), B.reshape(-1)).reshape(shape)


__all__ = [
    "cross", "diagonal", "householder_product", "matrix_exp", "matrix_power", "multi_dot",
    "tensorinv", "tensorsolve", "vander", "vecdot",
]  # fmt: skip
