"""Sums and softmax of sparse tensors: over the elements that are there."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from .. import ops
from ..autograd.variable import wrap
from ..backend import xp
from ..ops.dims import normalize_dim, normalize_dims
from ..tensor import Tensor
from .coo import SparseCooTensor, segment_sum
from .csr import SparseCsrTensor
from .tensor import SparseTensor


def _coo(name: str, input: Any) -> SparseCooTensor:
    if isinstance(input, SparseCsrTensor):
        return input.to_sparse()
    if not isinstance(input, SparseCooTensor):
        raise RuntimeError(f"{name}: got a {type(input).__name__}, expected a sparse tensor")
    return input


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over `dim` (an int, a tuple, or all); sparse, but dense if no sparse dim is left."""
    tensor = _coo("sum", input)
    values = tensor._values() if dtype is None else tensor._values().to(dtype)
    if dim is None:
        return values.sum()
    count = tensor.sparse_dim()
    dims = normalize_dims("sum", dim, tensor.dim())
    # A dense dim d of the tensor is dim d − count + 1 of the values (nnz, …).
    dense = [d - count + 1 for d in dims if d >= count]
    values = values.sum(tuple(dense)) if dense else values
    left = [d for d in range(count) if d not in dims]
    if not left:
        return values.sum(0)
    shape = tuple(n for d, n in enumerate(tensor.shape) if d not in dims)
    coalesced = tensor.is_coalesced() and len(left) == count
    result = SparseCooTensor(tensor._indices()[left], values, shape, coalesced)
    return result.coalesce()


def softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseCooTensor:
    """exp(x) / Σ exp(x) along `dim`, where only the stored elements count: the others are −∞."""
    return _over_segments("softmax", input, dim, dtype, log=False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseCooTensor:
    """x − log Σ exp(x) along `dim`, over the stored elements."""
    return _over_segments("log_softmax", input, dim, dtype, log=True)


def _over_segments(name: str, input: Any, dim: int, dtype: Any, log: builtins.bool) -> Any:
    tensor = _coo(name, input).coalesce()
    values = tensor._values() if dtype is None else tensor._values().to(dtype)
    if not values.is_floating_point():
        raise NotImplementedError(f"{name}: got {values.dtype.name}, expected floating point")
    dim = normalize_dim(name, dim, tensor.dim())
    count = tensor.sparse_dim()
    if dim >= count:
        function = ops.log_softmax if log else ops.softmax
        return tensor.with_values(function(values, dim - count + 1))
    # A segment has the elements whose positions differ in `dim` alone.
    others = [d for d in range(count) if d != dim]
    sizes = [tensor.shape[d] for d in others]
    library = xp(values.array)
    segment = library.zeros(tensor._nnz(), np.int64)
    for d, size in zip(others, sizes):
        segment = segment * size + tensor._indices().array[d]
    present, segment = library.unique(segment, return_inverse=True)
    segment = segment.reshape(-1)
    shifted = values - _largest(values, segment, len(present))[wrap(segment)]
    totals = segment_sum(shifted.exp(), segment, len(present))
    if log:
        return tensor.with_values(shifted - totals.log()[wrap(segment)])
    return tensor.with_values(shifted.exp() / totals[wrap(segment)])


def _largest(values: Tensor, segment: Any, count: int) -> Tensor:
    """The largest value of each segment, a constant; 0 if that is infinite."""
    array = values.array.astype(np.float64)
    library = xp(array)
    largest = library.full((count, *array.shape[1:]), -math.inf)
    library.maximum.at(largest, segment, array)
    largest[~library.isfinite(largest)] = 0
    return wrap(largest.astype(values.array.dtype))


SparseTensor.sum = sum  # type: ignore[attr-defined]

__all__ = ["log_softmax", "softmax", "sum"]
