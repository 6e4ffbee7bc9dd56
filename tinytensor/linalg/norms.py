"""Norms of vectors and of matrices, and condition numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_flags
from ..autograd.variable import unwrap, wrap
from ..backend import xp
from ..dtype import to_numpy_dtype
from ..errors import ShapeError
from ..ops.autocast import in_float32
from ..ops.dims import accepts_axis, distinct_dims, normalize_dims
from ..ops.masked import masked_fill
from ..ops.minmax import amax, amin
from ..ops.promote import cast, require_float
from ..ops.reduce import sum
from ..ops.shape import movedim
from ..ops.variance import norm as p_norm
from ..out import takes_out
from .checks import check_float, check_matrix, check_square
from .solve import inv_ex
from .svd import svdvals

if TYPE_CHECKING:
    from ..tensor import Tensor


def _converted(name: str, x: Any, dtype: Any) -> Any:
    """x in `dtype`, which must be a float dtype that loses no digits of x."""
    require_float(name, x)
    if dtype is None:
        return x
    wanted = to_numpy_dtype(dtype)
    if wanted.kind != "f":
        raise RuntimeError(f"{name}: got dtype {wanted}, expected a floating point dtype")
    if wanted.itemsize < unwrap(x).dtype.itemsize:
        raise RuntimeError(
            f"{name}: got dtype {wanted} for a tensor of {unwrap(x).dtype}, expected one that is "
            "not narrower"
        )
    return cast(x, wanted)


@takes_out("same dtype")
@accepts_axis
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: int | tuple | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The ord-norm (Σ |x|ᵖ)^(1/p) over `dim` (an int, a tuple, or all).

    ord: any number, inf (the largest |x|), -inf (the smallest), 0 (counts x ≠ 0). dtype: x is
    converted to it first.
    """
    check_flags("linalg.vector_norm", keepdim=keepdim)
    name = "linalg.vector_norm"
    array_of(name, x)
    if isinstance(ord, (bool, str)) or not isinstance(ord, (int, float)):
        raise TypeError(f"{name}: got ord = {ord!r}, expected a number")
    x = _converted(name, x, dtype)
    dims = normalize_dims(name, dim, x.ndim)
    if (ord < 0 or ord == math.inf) and not math.prod(x.shape[i] for i in dims):
        raise ShapeError(
            f"{name}: got a tensor of shape {tuple(x.shape)}, which has no elements for the norm "
            f"with ord = {ord} over dims {dims}, expected at least one"
        )
    return p_norm(x, ord, dims, keepdim)


@takes_out("same dtype")
@accepts_axis
def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: tuple = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """A norm of each matrix in the two dimensions `dim`.

    ord: "fro" √Σ x², "nuc" the sum of the singular values, 2 and -2 the largest and smallest of
    them, 1 and -1 the largest and smallest column sum of |x|, inf and -inf the same for rows.
    """
    check_flags("linalg.matrix_norm", keepdim=keepdim)
    name = "linalg.matrix_norm"
    check_matrix(name, A)
    A = _converted(name, A, dtype)
    pair = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if len(pair) != 2:
        raise RuntimeError(f"{name}: got dim = {dim!r}, expected two dimensions")
    rows, columns = distinct_dims(name, pair, A.ndim)
    if ord == "fro" and isinstance(ord, str):
        return p_norm(A, 2, (rows, columns), keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        check_float(name, A)
        values = svdvals(movedim(A, (rows, columns), (-2, -1)))
        y = sum(values, -1) if ord == "nuc" else _extreme(name, values, float(ord), -1)
        if not keepdim:
            return y.reshape(values.shape[:-1])
        return y.reshape([1 if i in (rows, columns) else n for i, n in enumerate(A.shape)])
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(
            f"{name}: got ord = {ord!r}, expected 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2"
        )
    added, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    y = _extreme(name, sum(abs(A), added, True), ord, kept)
    return y if keepdim else y.squeeze((rows, columns))


def _extreme(name: str, values: Any, ord: float, dim: int) -> Any:
    """The largest of `values` along dim, which is kept, for ord > 0; the smallest for ord < 0."""
    if values.shape[dim]:
        return (amax if ord > 0 else amin)(values, dim, True)
    if ord < 0:
        raise IndexError(f"{name}: got an empty matrix for ord = {ord}, expected an element")
    return sum(values, dim, True).detach()  # a constant, 0


@takes_out("same dtype")
@accepts_axis
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: int | tuple | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The norm of vectors (one dim) or of matrices (two); of all elements without ord and dim.

    See `vector_norm` and `matrix_norm` for ord, which is 2 or "fro" by default.
    """
    check_flags("linalg.norm", keepdim=keepdim)
    name = "linalg.norm"
    rank = array_of(name, A).ndim
    dims = None if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"{name}: got dim = {dim!r}, expected one or two dimensions with ord")
    if dims is None and rank not in (1, 2):
        raise RuntimeError(
            f"{name}: got a tensor of shape {tuple(A.shape)} with ord and without dim, expected "
            "one or two dimensions"
        )
    count = rank if dims is None else len(dims)
    if count == 2 or isinstance(ord, str):
        return matrix_norm(A, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)
    return vector_norm(A, ord, dims, keepdim, dtype=dtype)


@takes_out("cast")
@in_float32
def cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """The condition number ‖A‖ₚ·‖A⁻¹‖ₚ of each matrix: (…, n, n) → (…).

    p: None or 2 σ₁/σₙ, -2 its reciprocal, both also for (…, m, n); or any ord of `matrix_norm`.
    Infinite for a singular matrix.
    """
    name = "linalg.cond"
    check_matrix(name, A)
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        if 0 in A.shape:
            return wrap(xp(unwrap(A)).zeros(A.shape[:-2], unwrap(A).real.dtype))
        values = svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(
            f"{name}: got p = {p!r}, expected None, 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2"
        )
    check_square(name, A)
    if 0 in A.shape:
        return wrap(xp(unwrap(A)).zeros(A.shape[:-2], unwrap(A).real.dtype))
    inverse, info = inv_ex(A)
    y = matrix_norm(A, p) * matrix_norm(inverse, p)
    return masked_fill(y, info != 0, math.inf) if info.array.any() else y


__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]
