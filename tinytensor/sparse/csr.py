"""SparseCsrTensor: the rows of a matrix one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.variable import wrap
from ..backend import xp
from ..memory_format import sparse_csr
from ..tensor import Tensor
from .coo import SparseCooTensor
from .tensor import SparseTensor


class SparseCsrTensor(SparseTensor):
    """A matrix by rows; `tinytensor.sparse_csr_tensor` makes one.

    crow_indices (M + 1,): the elements of row i are those from crow_indices[i] on, up to, without,
    crow_indices[i + 1]. col_indices (nnz,): their columns. values (nnz,).
    """

    layout = sparse_csr
    is_sparse_csr = True

    def __init__(self, crow: Tensor, col: Tensor, values: Tensor, shape: tuple):
        super().__init__(values, shape)
        self._crow, self._col = crow, col

    def crow_indices(self) -> Tensor:
        """Where each row begins, (M + 1,)."""
        return self._crow

    def col_indices(self) -> Tensor:
        """The column of each element, (nnz,)."""
        return self._col

    def values(self) -> Tensor:
        """The elements, (nnz,)."""
        return self._data

    def sparse_dim(self) -> int:
        return 2

    def dense_dim(self) -> int:
        return 0

    def parts(self) -> dict[str, Tensor]:
        return {"crow_indices": self._crow, "col_indices": self._col, "values": self._data}

    def with_values(self, values: Tensor) -> SparseCsrTensor:
        crow, col = (self.positions_for(values, x) for x in (self._crow, self._col))
        return SparseCsrTensor(crow, col, values, self._size)

    def to_sparse(self, sparse_dim: int | None = None) -> SparseCooTensor:
        """In COO layout."""
        crow, col = self._crow.array, self._col.array
        library = xp(col)
        rows = library.repeat(library.arange(len(crow) - 1), library.diff(crow))
        positions = wrap(library.stack([rows, col]).astype(np.int64))
        return SparseCooTensor(positions, self._data, self._size, True)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self) -> SparseCsrTensor:
        return self

    def to_dense(self, dtype: Any = None) -> Tensor:
        return self.to_sparse().to_dense(dtype)

    def t(self) -> SparseCsrTensor:
        """The transpose, by its own rows; PyTorch returns it by columns."""
        return self.to_sparse().t().to_sparse_csr()

    T = property(t)

    def transpose(self, dim0: int, dim1: int) -> SparseCsrTensor:
        """Exchange the two dimensions."""
        return self.to_sparse().transpose(dim0, dim1).to_sparse_csr()

    def add(self, other: Any, *, alpha: float = 1) -> Any:
        """self + alpha·other, both sparse."""
        if not isinstance(other, SparseTensor):
            return self.to_sparse().add(other)  # refuses it
        return self.to_sparse().add(other.to_sparse(), alpha=alpha).to_sparse_csr()

    __add__ = add

    def __sub__(self, other: Any) -> Any:
        return self.add(other, alpha=-1)

    def __radd__(self, other: Any) -> Tensor:
        return self.to_sparse().__radd__(other)

    def elementwise_product(self, other: Any) -> SparseCsrTensor:
        other = other.to_sparse() if isinstance(other, SparseCsrTensor) else other
        return self.to_sparse().elementwise_product(other).to_sparse_csr()


def from_coo(tensor: SparseCooTensor) -> SparseCsrTensor:
    """A COO matrix in CSR layout."""
    if tensor.sparse_dim() != 2 or tensor.dense_dim():
        raise RuntimeError(
            f"to_sparse_csr: got a tensor of shape {tuple(tensor.shape)}, expected a matrix"
        )
    whole = tensor.coalesce()
    rows, columns = whole._indices().array
    library = xp(rows)
    counts = library.bincount(rows, minlength=tensor.shape[0])
    crow = library.concatenate([library.zeros(1, np.int64), counts.cumsum()])
    return SparseCsrTensor(wrap(crow), wrap(columns), whole._values(), tensor.shape)


SparseCooTensor.to_sparse_csr = from_coo

__all__ = ["SparseCsrTensor"]
