"""Products with a sparse matrix: sparse times dense, dense times sparse, sparse times sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import fast_version
from ..ops.accumulate import add_rows
from ..ops.linear import check_expands
from ..ops.parse_index import outside
from ..tensor import Tensor
from .coo import SparseCooTensor
from .tensor import SparseTensor

LONGEST = 64  # rows with more elements than this are summed another way


class SparseProduct(Op):
    """y = A·x, where A has values[k] at (rows[k], columns[k]);  dx = Aᵀ·g,
    dvaluesₖ = Σⱼ g[rowsₖ, j]·x[columnsₖ, j]
    """

    op_name = "mm"
    saves = {"values": "x", "x": "values"}

    def forward(self, values: Array, x: Array, rows: Array, columns: Array, count: int) -> Array:
        self.rows, self.columns, self.height = rows, columns, x.shape[0]
        return product_of(values, x, rows, columns, count)

    def backward(self, g: Any) -> Any:
        values, x = self.saved
        rows, columns = self.rows, self.columns
        dx = dvalues = None
        if self.needs(1):
            dx = SparseProduct.apply(values, g, columns, rows, self.height)
        if self.needs(0):
            dvalues = (g[rows] * x[columns]).sum(-1)
        return dvalues, dx


def product_of(values: Array, x: Array, rows: Array, columns: Array, count: int) -> Array:
    """A·x of raw arrays: x (N, F) gives (count, F)."""
    library = xp(x)
    y = library.zeros((count, x.shape[1]), dtype=x.dtype)
    if not rows.size:
        return y
    if library is not np:
        library.add.at(y, rows, values[:, None] * x[columns])
        return y
    kernel = fast_version("embedding", "add_products", (values, x, y), written=False)
    inside = outside(rows, 0, count) is None and outside(columns, 0, len(x)) is None
    if kernel is not None and inside and rows.dtype == columns.dtype == np.int64:
        kernel(values, x, rows, columns, y)
        return y
    if np.any(rows[1:] < rows[:-1]):
        order = rows.argsort(kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
    # The first element of every row, then the second, …: NumPy adds a whole set of rows at once.
    first = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    place = np.arange(rows.size) - np.repeat(first, np.diff(np.append(first, rows.size)))
    order = place.argsort(kind="stable")
    done = 0
    for length in np.bincount(place)[:LONGEST]:
        k = order[done : done + length]
        done += length
        y[rows[k]] += values[k, None] * x[columns[k]]
    rest = order[done:]  # of the few rows with more elements
    add_rows(y, rows[rest], values[rest, None] * x[columns[rest]])
    return y


def sparse_times_dense(name: str, a: SparseTensor, x: Tensor) -> Tensor:
    """A·x for a sparse matrix A (M, N) and x (N,) or (N, F)."""
    matrix = _matrix(name, a)
    if not isinstance(x, Tensor) or x.ndim not in (1, 2) or x.shape[0] != a.shape[1]:
        got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ShapeError(
            f"{name}: got a sparse matrix of shape {tuple(a.shape)} and {got}, expected a tensor "
            f"with {a.shape[1]} rows"
        )
    if x.dtype != a.dtype:
        raise RuntimeError(
            f"{name}: expected both to have the same dtype, got {a.dtype.name} and {x.dtype.name}; "
            "convert one of them with .to(dtype)"
        )
    rows, columns = matrix._indices().array
    column = x.reshape((-1, 1)) if x.ndim == 1 else x  # (N,) → (N, 1)
    y = SparseProduct.apply(matrix._values(), column, rows, columns, a.shape[0])
    return y.reshape((-1,)) if x.ndim == 1 else y


def sparse_times_sparse(name: str, a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """A·B of two sparse matrices, sparse: each pair a[i, k]·b[k, j] is added at (i, j)."""
    left, right = _matrix(name, a).coalesce(), _matrix(name, b).coalesce()
    if a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"{name}: shapes {tuple(a.shape)} and {tuple(b.shape)} cannot be multiplied"
        )
    (i, k), (row, j) = left._indices().array, right._indices().array
    library = xp(i)
    begin = library.searchsorted(row, k)  # the elements of b in row k are begin … begin + count
    count = library.searchsorted(row, k, side="right") - begin
    from_a = library.repeat(library.arange(len(k)), count)
    step = library.arange(len(from_a)) - library.repeat(count.cumsum() - count, count)
    from_b = library.repeat(begin, count) + step
    values = left._values()[wrap(from_a)] * right._values()[wrap(from_b)]
    positions = wrap(library.stack([i[from_a], j[from_b]]))
    result = SparseCooTensor(positions, values, (a.shape[0], b.shape[1])).coalesce()
    return result.to_sparse_csr() if a.is_sparse_csr and b.is_sparse_csr else result


def _matrix(name: str, a: SparseTensor) -> SparseCooTensor:
    coo: Any = a.to_sparse()
    if coo.sparse_dim() != 2 or coo.dense_dim():
        raise RuntimeError(
            f"{name}: got a sparse tensor of shape {tuple(a.shape)}, expected a matrix"
        )
    return coo


def matmul(input: Any, other: Any, name: str = "matmul") -> Any:
    """input·other, of which at least one is a sparse matrix."""
    if not isinstance(other, (Tensor, SparseTensor)):
        raise TypeError(f"{name}: got a {type(other).__name__}, expected a tensor")
    if not isinstance(input, SparseTensor):
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}: got a {type(input).__name__}, expected a tensor")
        if input.ndim not in (1, 2) or input.shape[-1] != other.shape[0]:
            raise ShapeError(
                f"{name}: shapes {tuple(input.shape)} and {tuple(other.shape)} cannot be multiplied"
            )
        turned: Any = other.t()
        if input.ndim == 1:
            return sparse_times_dense(name, turned, input)
        return sparse_times_dense(name, turned, input.t()).t()
    if isinstance(other, SparseTensor):
        return sparse_times_sparse(name, input, other)
    return sparse_times_dense(name, input, other)


def mm(mat1: Any, mat2: Any) -> Any:
    """The product of two matrices, of which one or both are sparse; dense if one of them is."""
    for matrix in (mat1, mat2):
        if not isinstance(matrix, (Tensor, SparseTensor)) or matrix.ndim != 2:
            got = getattr(matrix, "shape", type(matrix).__name__)
            raise RuntimeError(f"mm: got {got}, expected two matrices")
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return ops.mm(mat1, mat2)
    return matmul(mat1, mat2, "mm")


def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta·mat + alpha·(mat1·mat2), where mat1 is sparse."""
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    scaled = mat if beta == 1 else mat * beta
    check_expands("addmm", "mat", tuple(unwrap(mat).shape), tuple(product.shape))
    return scaled + product


def spmm(input: Any, mat2: Any) -> Any:
    """`mm` under the name that older programs use."""
    return mm(input, mat2)


def _times(self: Any, other: Any) -> Any:
    if isinstance(other, (Tensor, SparseTensor)):
        return matmul(self, other)
    return NotImplemented


def _reversed(self: Any, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, (Tensor, SparseTensor)) else NotImplemented


_methods = {
    "__matmul__": _times, "__rmatmul__": _reversed, "matmul": matmul, "mv": matmul, "mm": mm,
    "smm": mm, "spmm": mm,
}  # fmt: skip
for _name, _method in _methods.items():
    setattr(SparseTensor, _name, _method)

__all__ = ["addmm", "mm", "spmm"]
