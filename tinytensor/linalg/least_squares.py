"""Pseudo-inverses, least squares, ranks: what is decided by singular values near 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_flags, check_numbers
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..ops.autocast import in_float32
from ..ops.return_types import linalg_lstsq
from ..out import takes_out
from .checks import (
    adjoint,
    broadcast_batch,
    check_matrix,
    check_same,
    check_square,
    lapack,
    largest_of,
)

if TYPE_CHECKING:
    from ..tensor import Tensor


class Pinv(Op):
    """y = x⁺;  dx = −yᴴ·g·yᴴ + (1 − x·y)·gᴴ·y·yᴴ + yᴴ·y·gᴴ·(1 − y·x)

    Singular values up to max(atol, rtol·σ₁) count as 0; both limits have the shape (…, 1).
    """

    op_name = "linalg.pinv"
    saves = ("x", "out")
    complex_rule = True

    def forward(self, x: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
        if hermitian:
            values, V = lapack("linalg.pinv", "eigh", x)
            inverse = _inverted(values, atol, rtol)
            return (V * inverse[..., None, :]) @ adjoint(V)
        U, s, Vh = lapack("linalg.pinv", "svd", x, full_matrices=False)
        return adjoint(Vh) @ (_inverted(s, atol, rtol)[..., :, None] * adjoint(U))

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        yH, gH = adjoint(y), adjoint(g)
        a = gH @ y  # (…, m, m)
        b = y @ gH  # (…, n, n)
        dx = (a - x @ (y @ a)) @ yH - yH @ g @ yH
        return dx + yH @ (b - (b @ y) @ x)


def _counts(values: Array, atol: Any, rtol: Any) -> Array:
    """Which singular values do not count as 0."""
    size = abs(values)
    largest = largest_of(values, -1, keepdims=True)
    return size > xp(values).maximum(atol, rtol * largest)


def _inverted(values: Array, atol: Any, rtol: Any) -> Array:
    """1/values, and 0 for those that count as 0."""
    library, counts = xp(values), _counts(values, atol, rtol)
    return library.where(counts, 1 / library.where(counts, values, 1), 0).astype(values.dtype)


def _limits(name: str, array: Array, atol: Any, rtol: Any) -> tuple[Array, Array]:
    """(atol, rtol), each as (…, 1): by default 0, and eps·max(m, n), or 0 if atol > 0."""
    library = xp(array)
    absolute, relative = _limit(name, atol, "atol", array), _limit(name, rtol, "rtol", array)
    if relative is None:
        relative = library.asarray(np.finfo(array.dtype).eps * max(array.shape[-2:]))
        if absolute is not None:
            relative = library.where(absolute > 0, 0.0, relative)
    if absolute is None:
        absolute = library.asarray(0.0)
    return absolute[..., None], relative[..., None]


def _check_limits(name: str, *limits: Any) -> None:
    for limit in limits:
        if limit is not None and not isinstance(limit, Variable):
            check_numbers(name, limit=limit)


def _limit(name: str, value: Any, what: str, like: Array) -> Any:
    if value is None:
        return None
    array = unwrap(value) if isinstance(value, Variable) else xp(like).asarray(value, np.float64)
    if array.dtype.kind == "c":
        raise RuntimeError(f"{name}: {what} is complex, expected real numbers")
    return array


@takes_out("cast")
@in_float32
def pinv(
    A: Tensor,
    rtol: Any = None,
    *,
    atol: Any = None,
    hermitian: bool = False,
    rcond: Any = None,
) -> Tensor:
    """The pseudo-inverse A⁺: (…, m, n) → (…, n, m).

    Singular values up to max(atol, rtol·σ₁) count as 0; σ₁ is the largest. rtol is a number or a
    tensor, one for each matrix; its default is eps·max(m, n), or 0 if atol is given. With
    hermitian=True A is symmetric. rcond is an older name of rtol.
    """
    check_flags("linalg.pinv", hermitian=hermitian)
    return _pseudo_inverse("linalg.pinv", A, atol, rcond if rtol is None else rtol, hermitian)


def _pseudo_inverse(name: str, A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrix(name, A)
    _check_limits(name, atol, rtol)
    if not unwrap(A).size:  # no limits, and a symmetric matrix need not be square
        return adjoint(A).clone()
    if hermitian:
        check_square(name, A)
    return Pinv.apply(A, *_limits(name, unwrap(A), atol, rtol), bool(hermitian))


@in_float32
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse; `linalg.pinv` is its successor. rcond: the relative limit for zeros."""
    return _pseudo_inverse("pinverse", input, None, rcond, False)


@takes_out("cast")
@in_float32
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    hermitian: bool = False,
) -> Tensor:
    """How many singular values exceed max(atol, rtol·σ₁), as int64: (…, m, n) → (…).

    σ₁ is the largest one. rtol is eps·max(m, n) by default, or 0 if atol is given; tol is an older
    name of atol, with rtol = 0. hermitian=True: A is symmetric.
    """
    check_flags("linalg.matrix_rank", hermitian=hermitian)
    name = "linalg.matrix_rank"
    check_matrix(name, A)
    _check_limits(name, tol, atol, rtol)
    array = unwrap(A)
    if not array.size:
        return wrap(xp(array).zeros(array.shape[:-2], np.int64))
    if hermitian:
        check_square(name, A)
    if tol is not None:
        atol, rtol = tol, 0.0
    if hermitian:
        values = lapack(name, "eigvalsh", array)
    else:
        values = lapack(name, "svd", array, compute_uv=False)
    counts = _counts(values, *_limits(name, array, atol, rtol))
    return wrap(xp(array).asarray(counts.sum(-1)))


# ------------------------------------------------------------------------------------------
# Least squares
# ------------------------------------------------------------------------------------------


@takes_out("cast")
@in_float32
def lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> linalg_lstsq:
    """The X that minimises ‖A·X − B‖, the shortest one if there are several, as `.solution`.

    (…, m, n) and (…, m, k) → (…, n, k), or (…, m) → (…, n). driver: PyTorch's choice of a method,
    by default "gelsy"; here it decides only which results are returned, and the others are empty:
    residuals, ‖A·X − B‖² of each column, (…, k), if m > n and all ranks are n, but not with
    "gelsy"; rank, int64, but not with "gels"; singular_values with "gelsd" and "gelss".
    """
    name = "linalg.lstsq"
    check_matrix(name, A)
    check_same(name, A, B)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: got driver {driver!r}, expected 'gels', 'gelsy', 'gelsd' or 'gelss'"
        )
    vectors = B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1])
    columns = B.reshape((*B.shape, 1)) if vectors else B  # (…, m) → (…, m, 1)
    if columns.ndim != A.ndim or columns.shape[-2] != A.shape[-2]:
        raise ShapeError(
            f"{name}: got shapes {tuple(A.shape)} and {tuple(B.shape)}, expected (…, m, n) and "
            "(…, m, k) or (…, m)"
        )
    broadcast_batch(name, A, columns)
    array = unwrap(A)
    library, (m, n) = xp(array), array.shape[-2:]
    limits = _limits(name, array, None, rcond)
    values = lapack(name, "svd", array, compute_uv=False)
    nothing = wrap(library.empty(0, values.dtype))
    rank = library.asarray(_counts(values, *limits).sum(-1))
    X = Pinv.apply(A, *limits, False) @ columns
    residuals = A.reshape(-1)[:0] + columns.reshape(-1)[:0]  # none, but part of the graph
    if m > n and driver not in (None, "gelsy") and (rank == n).all():
        residuals = (abs(A @ X - columns) ** 2).sum(-2)
    return linalg_lstsq(
        X.reshape(X.shape[:-1]) if vectors else X,
        residuals,
        wrap(library.empty(0, np.int64)) if driver == "gels" else wrap(rank),
        wrap(values) if driver in ("gelsd", "gelss") else nothing,
    )


__all__ = ["lstsq", "matrix_rank", "pinv"]
