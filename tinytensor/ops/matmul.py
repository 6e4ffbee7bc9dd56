"""Products of matrices and vectors: matmul, mm, bmm, dot, outer and others.

`einsum` and `tensordot` are in einsum.py; `linear`, `addmm` and its variants, which add a tensor to
a product, are in linear.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_given
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, is_array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from ..out import takes_out
from .arithmetic import mul
from .autocast_setting import mixes
from .dims import normalize_dim
from .promote import promote

if TYPE_CHECKING:
    from ..tensor import Tensor


def _multiplications(a: Array, b: Array) -> int:
    """The number of multiplications in a·b; 0 if a or b is a vector."""
    return a.size * b.shape[-1] if a.ndim > 1 < b.ndim else 0


@accelerated("matmul", product=_multiplications, directions=("forward",))
class Matmul(Op):
    """y = a·b;  da = g·bᵀ, db = aᵀ·g

    A vector on the left counts as one row, on the right as one column. Dimensions before the last
    two are a batch of matrices, and broadcast.
    """

    saves = {"a": "b", "b": "a"}

    def forward(self, a: Array, b: Array) -> Array:
        self.shapes = a.shape, b.shape
        return product(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        return product_gradients(g, a, b, *self.shapes)


class VectorProduct(Matmul):
    """y = a·b;  da = g·bᵀ, db = aᵀ·g, of dot, vdot and mv, which autocast leaves as they are"""

    op_name = "matmul"


def product(a: Array, b: Array) -> Array:
    """a·b for raw arrays; a batch times one matrix is computed as a single large product."""
    if a.ndim > 2 and b.ndim == 2 and a.shape[-1] == b.shape[0]:
        # (…, M, K) → (…·M, K), times (K, N), → (…, M, N)
        return (rows(a) @ b).reshape(a.shape[:-1] + b.shape[1:])
    return a.dot(b) if a.ndim == b.ndim == 2 else a @ b  # the same, but dot starts 0.5 µs sooner


def rows(x: Any) -> Any:
    """(…, M, N) → (…·M, N): the rows of a batch of matrices, one below the other."""
    return x if x.ndim == 2 else x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))


def product_gradients(g: Any, a: Any, b: Any, shape_a: tuple, shape_b: tuple) -> tuple[Any, Any]:
    """da = g·bᵀ and db = aᵀ·g for y = a·b; without b no da, without a no db.

    The engine sums over broadcast batch dimensions.
    """
    if len(shape_a) == 1 or len(shape_b) == 1:
        return _vector_gradients(g, a, b, shape_a, shape_b)
    da = db = None
    if b is not None:
        bT = b.swapaxes(-1, -2)
        if len(shape_a) == 2 < g.ndim:
            # One matrix for a whole batch: the sum over the batch is part of one large product.
            # (…, M, N) → (M, …·N) times (…, N, K) → (…·N, K)
            da = matmul(rows(g.swapaxes(-1, -2)).swapaxes(0, 1), rows(bT))
        else:
            da = matmul(g, bT)
    if a is not None:
        if len(shape_b) == 2 < g.ndim:
            # (…, M, K) → (K, …·M) times (…, M, N) → (…·M, N)
            db = matmul(rows(a).swapaxes(0, 1), rows(g))
        else:
            db = matmul(a.swapaxes(-1, -2), g)
    return da, db


def _vector_gradients(g: Any, a: Any, b: Any, shape_a: tuple, shape_b: tuple) -> tuple[Any, Any]:
    """As product_gradients, where a or b is a vector: a matrix of one row or of one column."""
    row = (1, *shape_a) if len(shape_a) == 1 else shape_a
    column = (*shape_b, 1) if len(shape_b) == 1 else shape_b
    shape = tuple(g.shape)
    if len(shape_b) == 1:
        shape = (*shape, 1)
    if len(shape_a) == 1:
        shape = (*shape[:-1], 1, shape[-1])
    a = None if a is None else a.reshape(row)
    b = None if b is None else b.reshape(column)
    da, db = product_gradients(g.reshape(shape), a, b, row, column)
    if da is not None and len(shape_a) == 1:
        da = da.reshape(shape_a)  # (1, K) → (K,)
    if db is not None and len(shape_b) == 1:
        db = db.reshape(shape_b)  # (K, 1) → (K,)
    return da, db


# ------------------------------------------------------------------------------------------
# Checks
# ------------------------------------------------------------------------------------------


UNMIXED = (
    "addmv",
    "dot",
    "inner",
    "mv",
    "tensordot",
    "vdot",
)  # autocast gives their tensors no common dtype


def are_floats(a: Any, b: Any) -> bool:
    """Whether `check_operands` takes a and b: the common case, in one cheap test."""
    return type(a) is np.ndarray is type(b) and a.dtype is b.dtype and a.dtype.kind == "f"


def check_operands(name: str, *arrays: Any) -> None:
    """Refuse what is not an array of numbers, and arrays of different dtypes."""
    dtype = None
    for array in arrays:
        if not is_array(array):
            raise TypeError(f"{name}: got {type(array).__name__}, expected a tensor")
        if dtype is None:
            dtype = array.dtype
        elif array.dtype != dtype and (not mixes(dtype, array.dtype) or name in UNMIXED):
            raise RuntimeError(
                f"{name}: expected m1 and m2 to have the same dtype, but got: {dtype} and "
                f"{array.dtype}; convert one of them with .to(dtype)"
            )
        if dtype.kind == "b":
            raise NotImplementedError(
                f"{name}: not implemented for bool, expected numbers; convert with .to(dtype)"
            )


def check_product(name: str, a: Array, b: Array) -> None:
    """Refuse a product whose inner dimensions differ."""
    inner = b.shape[-2 if b.ndim > 1 else 0]
    if a.shape[-1] != inner:
        side = "second to last" if b.ndim > 1 else "only"
        raise ShapeError(
            f"{name}: shapes {a.shape} and {b.shape} cannot be multiplied ({a.shape[-1]} and "
            f"{inner} differ); the last dimension of the first must equal the {side} one of the "
            "second"
        )


def check_ranks(name: str, input: Any, other: Any, ranks: tuple[int, int]) -> None:
    """Check two operands that must have exactly these numbers of dimensions."""
    a, b = unwrap(input), unwrap(other)
    check_operands(name, a, b)
    if (a.ndim, b.ndim) != ranks:
        raise ShapeError(
            f"{name}: got shapes {a.shape} and {b.shape}, expected {ranks[0]}-D and {ranks[1]}-D; "
            "matmul takes any ranks"
        )
    if ranks[0] == 3 and a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"{name}: shapes {a.shape} and {b.shape} have batches of {a.shape[0]} and "
            f"{b.shape[0]}, expected equal ones; matmul broadcasts a batch"
        )
    check_product(name, a, b)


# ------------------------------------------------------------------------------------------
# Products
# ------------------------------------------------------------------------------------------


@takes_out("same dtype")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product input·other.

    (…, M, K) times (…, K, N) gives (…, M, N); the leading dimensions broadcast. A 1-D input counts
    as a row, a 1-D other as a column, and that dimension is left out of the result.
    """
    a, b = unwrap(input), unwrap(other)
    if not are_floats(a, b):
        try:
            check_operands("matmul", a, b)
        except TypeError:
            return _sparse_product(input, other)
    if not a.ndim or not b.ndim:
        raise ShapeError(
            f"matmul: both arguments need at least 1 dimension, got {a.ndim} and {b.ndim}; "
            "use mul for a number"
        )
    check_product("matmul", a, b)
    return Matmul.apply(input, other)


def _sparse_product(input: Any, other: Any) -> Any:
    """The product, after a TypeError, if an operand is a sparse tensor; it knows how to multiply.

    Otherwise the error is raised again. So products of dense tensors do not pay for the question.
    """
    for tensor in (input, other):
        if hasattr(tensor, "to_dense") and not isinstance(tensor, Variable):
            return type(tensor).matmul(input, other)
    raise


@takes_out("same dtype")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: (M, K) times (K, N) gives (M, N)."""
    try:
        check_ranks("mm", input, mat2, (2, 2))
    except TypeError:
        return _sparse_product(input, mat2)
    return Matmul.apply(input, mat2)


@takes_out("same dtype")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """A batch of products: (B, M, K) times (B, K, N) gives (B, M, N)."""
    check_ranks("bmm", input, mat2, (3, 3))
    return Matmul.apply(input, mat2)


@takes_out("same dtype")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Matrix times vector: (M, K) times (K,) gives (M,)."""
    try:
        check_ranks("mv", input, vec, (2, 1))
    except TypeError:
        return _sparse_product(input, vec)
    return VectorProduct.apply(input, vec)


@takes_out("same dtype")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Σ input·tensor of two vectors of one length: a 0-d tensor."""
    check_ranks("dot", input, tensor, (1, 1))
    return VectorProduct.apply(input, tensor)


@takes_out("same dtype")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Σ conj(input)·other of two vectors; as `dot` for real numbers."""
    check_ranks("vdot", input, other, (1, 1))
    return VectorProduct.apply(input.conj(), other)


@takes_out("same dtype")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products over the last dimension of both: (…, K) and (…′, K) give (…, …′)."""
    check_given("inner", other=other)
    a, b = array_of("inner", input), unwrap(other)
    if not a.ndim or not b.ndim:
        return mul(input, other)
    check_operands("inner", a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"inner: the last dimension must match, got shapes {a.shape} and {b.shape} "
            f"({a.shape[-1]} and {b.shape[-1]} differ)"
        )
    if b.ndim == 1:
        return Matmul.apply(input, other)
    # (…′, K) → (K, N), for (…, N) → (…, …′)
    columns = rows(other).swapaxes(0, 1)
    return Matmul.apply(input, columns).reshape(a.shape[:-1] + b.shape[:-1])


@takes_out("cast")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors: (M,) and (N,) give (M, N)."""
    check_given("outer", vec2=vec2)
    a, b = array_of("outer", input), unwrap(vec2)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer: got shapes {a.shape} and {b.shape}, expected two 1-D tensors")
    return mul(input.reshape((a.size, 1)), vec2.reshape((1, b.size)))


@takes_out("cast")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: each element of input, times all of other, laid out as blocks."""
    a, b = array_of("kron", input).shape, tuple(other.shape)
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    # (A₁, 1, A₂, 1, …) times (1, B₁, 1, B₂, …) → (A₁·B₁, A₂·B₂, …)
    spread_a = input.reshape(tuple(n for size in a for n in (size, 1)))
    spread_b = other.reshape(tuple(n for size in b for n in (1, size)))
    return mul(spread_a, spread_b).reshape(tuple(n * m for n, m in zip(a, b, strict=True)))


# ------------------------------------------------------------------------------------------
# The vector product
# ------------------------------------------------------------------------------------------


class Cross(Op):
    """y = a × b;  da = b × g, db = g × a"""

    saves = {"a": "b", "b": "a"}

    def forward(self, a: Array, b: Array, dim: int) -> Array:
        self.dim = dim
        return xp(a).cross(a, b, axis=dim)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        da = None if b is None else Cross.apply(b, g, self.dim)
        db = None if a is None else Cross.apply(g, a, self.dim)
        return da, db


@takes_out("same dtype")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along `dim`, which has length 3; by default the first such dimension."""
    check_given("cross", other=other)
    a, b = array_of("cross", input), unwrap(other)
    if a.ndim != b.ndim:
        raise ShapeError(
            f"cross: got shapes {a.shape} and {b.shape}, expected as many dimensions in both"
        )
    if dim is None:
        if 3 not in a.shape:
            raise ShapeError(f"cross: got shape {a.shape}, expected a dimension of length 3")
        dim = a.shape.index(3)
    dim = normalize_dim("cross", dim, a.ndim)
    if a.shape[dim] != 3 or b.shape[dim] != 3:
        raise ShapeError(
            f"cross: dimension {dim} has lengths {a.shape[dim]} and {b.shape[dim]} in shapes "
            f"{a.shape} and {b.shape}, expected 3"
        )
    return Cross.apply(*promote(input, other), dim)


ger = outer

__all__ = ["bmm", "cross", "dot", "ger", "inner", "kron", "matmul", "mm", "mv", "outer", "vdot"]
