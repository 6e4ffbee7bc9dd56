"""New sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..create import as_tensor, empty, tensor
from ..dtype import bfloat16, float16, float32, float64, int32, int64, uint8
from ..errors import ShapeError
from ..tensor import Tensor
from .coo import SparseCooTensor
from .csr import SparseCsrTensor


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseCooTensor:
    """values[k] at the position indices[:, k]; a position that repeats gets the sum.

    indices (d, nnz), values (nnz, …), size: by default just large enough. sparse_coo_tensor(size)
    has no elements. Gradients flow to `values`.
    """
    if values is None:  # sparse_coo_tensor(size)
        shape = tuple(size if indices is None else indices)
        options = {"dtype": dtype, "device": device}
        places = empty((len(shape), 0), dtype=int64, device=device)
        made = SparseCooTensor(places, empty((0,), **options), shape, True)
        return made.requires_grad_(requires_grad)
    values = _values("sparse_coo_tensor", values, dtype, device)
    places = _integers("sparse_coo_tensor", "indices", indices, values)
    if places.ndim != 2 or not values.ndim or places.shape[1] != values.shape[0]:
        raise RuntimeError(
            f"sparse_coo_tensor: got indices of shape {tuple(places.shape)} and values of shape "
            f"{tuple(values.shape)}, expected (d, nnz) and (nnz, …)"
        )
    count = places.shape[0]
    if size is None:
        if places.array.size and int(places.array.min()) < 0:
            raise RuntimeError("sparse_coo_tensor: got a negative index, expected 0 or more")
        limits = places.array.max(axis=1) + 1 if places.shape[1] else np.zeros(count, np.int64)
        size = (*(int(n) for n in limits), *values.shape[1:])
    size = tuple(int(n) for n in size)
    if len(size) != count + values.ndim - 1 or size[count:] != tuple(values.shape[1:]):
        raise ShapeError(
            f"sparse_coo_tensor: got size {size} for indices of shape {tuple(places.shape)} and "
            f"values of shape {tuple(values.shape)}"
        )
    for d in range(count):
        _check_range("sparse_coo_tensor", places.array[d], size[d], f"dimension {d}")
    made = SparseCooTensor(places, values, size, bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseCsrTensor:
    """A matrix by rows: those of row i are at crow_indices[i] … crow_indices[i + 1].

    crow_indices (M + 1,), col_indices (nnz,), values (nnz,). Gradients flow to `values`.
    """
    name = "sparse_csr_tensor"
    values = _values(name, values, dtype, device)
    crow = _integers(name, "crow_indices", crow_indices, values)
    col = _integers(name, "col_indices", col_indices, values)
    if crow.ndim != 1 or col.ndim != 1 or not crow.shape[0] or col.shape != values.shape:
        raise RuntimeError(
            f"{name}: got crow_indices, col_indices and values of shapes {tuple(crow.shape)}, "
            f"{tuple(col.shape)} and {tuple(values.shape)}, expected (M + 1,), (nnz,) and (nnz,)"
        )
    starts = crow.array
    ends = int(starts[0]), int(starts[-1])
    if ends != (0, col.shape[0]) or bool((starts[1:] < starts[:-1]).any()):
        raise RuntimeError(
            f"{name}: crow_indices must rise from 0 to {col.shape[0]}, the number of values"
        )
    if size is None:
        size = (crow.shape[0] - 1, int(col.array.max()) + 1 if col.shape[0] else 0)
    size = tuple(int(n) for n in size)
    if len(size) != 2 or size[0] != crow.shape[0] - 1:
        raise ShapeError(f"{name}: got size {size}, expected {crow.shape[0] - 1} rows and 2-D")
    _check_range(name, col.array, size[1], "the columns")
    made = SparseCsrTensor(crow, col, values, size)
    return made.requires_grad_() if requires_grad else made


def _values(name: str, values: Any, dtype: Any, device: Any) -> Tensor:
    if isinstance(values, Tensor):
        values = values if dtype is None else values.to(dtype)
        return values if device is None else values.to(device)
    return tensor(values, dtype=dtype, device=device)


def _integers(name: str, what: str, values: Any, like: Tensor) -> Tensor:
    found = as_tensor(values)
    if not found.numel():
        found = found.long()
    if found.array.dtype.kind not in "iu":
        raise TypeError(f"{name}: {what} is {found.dtype.name}, expected integers")
    return found.detach().long().to(like.device)


def _check_range(name: str, index: Any, size: int, what: str) -> None:
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        raise RuntimeError(
            f"{name}: got an index outside of 0 … {size - 1} for {what}, which has length {size}"
        )


def to_sparse(input: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> Any:
    """The elements of a dense tensor that are not 0, in COO layout.

    sparse_dim: only the first so many dimensions are sparse; the values have the others.
    layout: `sparse_coo`, or `sparse_csr`.
    """
    if getattr(layout, "name", "sparse_coo") == "sparse_csr":
        return to_sparse_csr(input)
    count = input.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= input.ndim:
        raise RuntimeError(f"to_sparse: got sparse_dim {count}, expected 0 … {input.ndim}")
    there = input.detach() != 0
    if count < input.ndim:
        there = there.flatten(count).any(-1)
    if not count:
        places = empty((0, int(bool(there))), dtype=int64, device=input.device)
        values = input.unsqueeze(0)[: places.shape[1]]
        return SparseCooTensor(places, values, input.shape, True)
    places = there.nonzero().t()
    # (sparse dims …, dense dims …) → (positions, dense dims …), of which the nonzero rows
    numbers = there.reshape((-1,)).nonzero().reshape((-1,))
    height = math.prod(input.shape[:count])
    values = input.reshape((height, *input.shape[count:]))[numbers]
    return SparseCooTensor(places, values, input.shape, True)


def to_sparse_csr(input: Tensor) -> SparseCsrTensor:
    """The elements of a dense matrix that are not 0, in CSR layout."""
    if input.ndim != 2:
        raise RuntimeError(f"to_sparse_csr: got shape {tuple(input.shape)}, expected a matrix")
    return to_sparse(input).to_sparse_csr()


def _typed(name: str, dtype: Any) -> Callable:
    """PyTorch's older constructors, such as sparse.FloatTensor(indices, values, size)."""

    def make(*args: Any) -> SparseCooTensor:
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            args = (None, None, args[0])
        elif args and all(isinstance(n, int) for n in args):
            args = (None, None, args)
        return sparse_coo_tensor(*args, dtype=dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"PyTorch's older form of sparse_coo_tensor(…, dtype={dtype.name})."
    return make


FloatTensor = _typed("FloatTensor", float32)
DoubleTensor = _typed("DoubleTensor", float64)
HalfTensor = _typed("HalfTensor", float16)
BFloat16Tensor = _typed("BFloat16Tensor", bfloat16)
LongTensor = _typed("LongTensor", int64)
IntTensor = _typed("IntTensor", int32)
ByteTensor = _typed("ByteTensor", uint8)

__all__ = [
    "BFloat16Tensor", "ByteTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "sparse_coo_tensor", "sparse_csr_tensor", "to_sparse", "to_sparse_csr",
]  # fmt: skip
