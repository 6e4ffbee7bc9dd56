"""SparseCooTensor: a list of positions and the values there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..autograd.variable import wrap
from ..backend import xp
from ..create import zeros
from ..errors import ShapeError
from ..memory_format import sparse_coo
from ..ops.promote import cast, common_dtype
from ..tensor import Tensor
from .tensor import SparseTensor


class SparseCooTensor(SparseTensor):
    """Values at positions; `tinytensor.sparse_coo_tensor` makes one.

    indices (d, nnz), int64: one column for each position, in the first d dimensions.
    values (nnz, …): the element at each position, itself dense in the remaining dimensions.
    A position may occur several times; its values add up. `coalesce` adds them.
    """

    layout = sparse_coo
    is_sparse = True

    def __init__(self, indices: Tensor, values: Tensor, shape: tuple, coalesced: bool = False):
        super().__init__(values, shape)
        self._positions = indices
        self._coalesced = coalesced

    def sparse_dim(self) -> int:
        """The number of dimensions that positions are in."""
        return self._positions.shape[0]

    def dense_dim(self) -> int:
        """The number of dimensions of each value."""
        return self._data.ndim - 1

    def is_coalesced(self) -> bool:
        """Whether each position occurs once, and they are in order."""
        return self._coalesced

    def _indices(self) -> Tensor:
        return self._positions

    def _values(self) -> Tensor:
        return self._data

    def indices(self) -> Tensor:
        """The positions of a coalesced tensor, (d, nnz)."""
        self._require_coalesced("indices")
        return self._positions

    def values(self) -> Tensor:
        """The values of a coalesced tensor, (nnz, …)."""
        self._require_coalesced("values")
        return self._data

    def _require_coalesced(self, name: str) -> None:
        if not self._coalesced:
            raise RuntimeError(f"{name}: the tensor is not coalesced; call coalesce() first")

    def parts(self) -> dict[str, Tensor]:
        return {"indices": self._positions, "values": self._data}

    def with_values(self, values: Tensor) -> SparseCooTensor:
        indices = self.positions_for(values, self._positions)
        return SparseCooTensor(indices, values, self._size, self._coalesced)

    @property
    def grad(self) -> Any:
        """The gradient of a leaf, coalesced: repeated positions have the same gradient."""
        if self._data.grad is None:
            return None
        if self._coalesced:
            return self.with_values(self._data.grad)
        positions, first, _ = self._unique()
        return SparseCooTensor(positions, self._data.grad[wrap(first)], self._size, True)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._data.grad = None if value is None else value._data

    # --------------------------------------------------------------------------------------
    # Order
    # --------------------------------------------------------------------------------------

    def linear(self) -> Any:
        """The row-major number of each position, a raw array (nnz,)."""
        number: Any = 0
        for index, size in zip(self._positions.array, self._size):
            number = number * size + index
        return number if self.sparse_dim() else xp(self._data.array).zeros(self._nnz(), np.int64)

    def _unique(self) -> tuple[Tensor, Any, Any]:
        """The positions once and in order, the first place of each, and the number of each."""
        numbers, first, inverse = xp(self._data.array).unique(
            self.linear(), return_index=True, return_inverse=True
        )
        del numbers
        return wrap(self._positions.array[:, first]), first, inverse.reshape(-1)

    def coalesce(self) -> SparseCooTensor:
        """Each position once, in order, with the sum of its values."""
        if self._coalesced:
            return self
        positions, first, inverse = self._unique()
        if len(first) == self._nnz():
            order = wrap(inverse.argsort())
            return SparseCooTensor(positions, self._data[order], self._size, True)
        return SparseCooTensor(
            positions, segment_sum(self._data, inverse, len(first)), self._size, True
        )

    def transpose(self, dim0: int, dim1: int) -> SparseCooTensor:
        """Exchange two of the sparse dimensions."""
        order = list(range(self.sparse_dim()))
        try:
            a, b = order[dim0], order[dim1]
        except IndexError:
            raise IndexError(
                f"transpose: got dims {dim0} and {dim1}, expected two of the {len(order)} sparse "
                "dimensions"
            ) from None
        order[a], order[b] = order[b], order[a]
        shape = [self._size[d] for d in order] + list(self._size[len(order) :])
        coalesced = self._coalesced and a == b
        values = self._data.clone()  # no view, as in PyTorch
        return SparseCooTensor(self._positions[order], values, tuple(shape), coalesced)

    def t(self) -> SparseCooTensor:
        """The transpose of a matrix; 0-d and 1-d tensors stay as they are."""
        if self.ndim < 2:
            return self
        if self.sparse_dim() != 2 or self.dense_dim():
            raise RuntimeError(f"t: got a sparse tensor of shape {tuple(self._size)}, expected 2-D")
        return self.transpose(0, 1)

    T = property(t)

    def __getitem__(self, index: Any) -> Any:
        """One slice along the first dimension."""
        if not isinstance(index, (int, np.integer)):
            raise TypeError(
                f"getitem: a sparse tensor takes an integer index, got {type(index).__name__}; use "
                "to_dense()"
            )
        length = self._size[0]
        if not -length <= index < length:
            raise IndexError(f"getitem: index {index} is out of range for length {length}")
        here = wrap((self._positions.array[0] == index % length).nonzero()[0])
        rest = self._positions[1:][:, here]
        if self.sparse_dim() == 1:
            return self._data[here].sum(0)
        return SparseCooTensor(rest, self._data[here], self._size[1:], self._coalesced)

    # --------------------------------------------------------------------------------------
    # Arithmetic
    # --------------------------------------------------------------------------------------

    def add(self, other: Any, *, alpha: float = 1) -> Any:
        """self + alpha·other, both sparse."""
        if not isinstance(other, SparseCooTensor):
            raise RuntimeError(
                f"add: got a sparse tensor plus a {type(other).__name__}, expected a second sparse "
                "one; dense + sparse is possible, in this order"
            )
        self.check_shape("add", other)
        dtype = common_dtype("add", self._data, other._data)
        values = [cast(x, dtype) for x in (self._data, other._data)]
        values[1] = values[1] if alpha == 1 else values[1] * alpha
        joined = SparseCooTensor(
            ops.cat([self._positions, other._positions], 1), ops.cat(values), self._size
        )
        return joined.coalesce() if self._coalesced and other._coalesced else joined

    __add__ = add

    def __sub__(self, other: Any) -> Any:
        return self.add(other, alpha=-1)

    def __radd__(self, other: Any) -> Tensor:
        """dense + sparse is dense."""
        if not isinstance(other, Tensor):
            return NotImplemented
        self.check_shape("add", other)
        return other + self.to_dense()

    def elementwise_product(self, other: Any) -> SparseCooTensor:
        if isinstance(other, Tensor):
            self.check_shape("mul", other)
            whole = self.coalesce()
            return whole.with_values(whole._data * other[tuple(whole._positions)])
        if not isinstance(other, SparseCooTensor):
            return super().elementwise_product(other)
        self.check_shape("mul", other)
        a, b = self.coalesce(), other.coalesce()
        _, at_a, at_b = np.intersect1d(a.linear(), b.linear(), True, return_indices=True)
        values = a._data[wrap(at_a)] * b._data[wrap(at_b)]
        return SparseCooTensor(a._positions[:, wrap(at_a)], values, self._size, True)

    def check_shape(self, name: str, other: Any) -> None:
        if tuple(other.shape) != tuple(self._size):
            raise ShapeError(
                f"{name}: got shapes {tuple(self._size)} and {tuple(other.shape)}, expected equal "
                "ones; sparse tensors do not broadcast"
            )

    # --------------------------------------------------------------------------------------
    # Other layouts
    # --------------------------------------------------------------------------------------

    def to_dense(self, dtype: Any = None) -> Tensor:
        sizes = self._size[: self.sparse_dim()]
        flat = segment_sum(self._data, self.linear(), math.prod(sizes))
        dense = flat.reshape(tuple(self._size))
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, sparse_dim: int | None = None) -> SparseCooTensor:
        if sparse_dim is not None and sparse_dim != self.sparse_dim():
            raise RuntimeError(f"to_sparse: got sparse_dim {sparse_dim}, expected none")
        return self

    to_sparse_csr: Any  # set in csr.py, products in product.py: they need this class


def segment_sum(values: Tensor, segment: Any, count: int) -> Tensor:
    """yₛ = Σ values[i] over the i of segment s; values (n, …), y (count, …)."""
    start = zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    return start.index_add(0, wrap(segment), values)


__all__ = ["SparseCooTensor"]
