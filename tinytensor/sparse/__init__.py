"""Sparse tensors, in PyTorch's COO and CSR layouts: enough for graph networks.

tensor.py    SparseTensor: what the two layouts share, and conversions; arithmetic on the values
coo.py       SparseCooTensor: indices (d, nnz) and values (nnz, …)
csr.py       SparseCsrTensor: where each row begins, the columns, and the values
create.py    sparse_coo_tensor, sparse_csr_tensor, to_sparse, FloatTensor …
product.py   mm, addmm, spmm: sparse times dense, and sparse times sparse
reduce.py    sum, softmax and log_softmax over the elements that are there

A sparse tensor is not a Tensor: it holds two or three of them. Its values may require grad, so
gradients flow to them and to the dense operand of a product. An op that has no sparse version
refuses a sparse tensor; convert it with `to_dense()`.
"""

from .coo import SparseCooTensor
from .create import (
    BFloat16Tensor,
    ByteTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    sparse_coo_tensor,
    sparse_csr_tensor,
    to_sparse,
    to_sparse_csr,
)
from .csr import SparseCsrTensor
from .product import addmm, mm, spmm
from .reduce import log_softmax, softmax, sum
from .tensor import SparseTensor

__all__ = [
    "BFloat16Tensor", "ByteTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "SparseCooTensor", "SparseCsrTensor", "SparseTensor", "addmm", "log_softmax",
    "mm", "softmax", "sparse_coo_tensor", "sparse_csr_tensor", "spmm", "sum", "to_sparse",
    "to_sparse_csr",
]  # fmt: skip
