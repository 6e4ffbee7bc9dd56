"""Functions along a dimension of the elements that a mask keeps; the shape stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import ops
from ..dtype import DType
from .masking import dims_of, dtype_of, fill_masked, lowest
from .reductions import norm

if TYPE_CHECKING:
    from ..tensor import Tensor


def _dim(name: str, dim: Any, input: Any) -> int:
    return (*dims_of(name, dim, input.ndim), 0)[0]


def cumsum(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The sum up to each place of the elements that the mask keeps."""
    x = fill_masked("masked.cumsum", input, mask, 0)
    return ops.cumsum(x, _dim("masked.cumsum", dim, x), dtype=dtype_of(input, dtype))


def cumprod(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The product up to each place of the elements that the mask keeps."""
    x = fill_masked("masked.cumprod", input, mask, 1)
    return ops.cumprod(x, _dim("masked.cumprod", dim, x), dtype=dtype_of(input, dtype))


def softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """eˣ / Σ eˣ over the elements that the mask keeps; 0 elsewhere, NaN if it keeps nothing."""
    x = fill_masked("masked.softmax", input, mask, lowest("masked.softmax", input))
    return ops.softmax(x, _dim("masked.softmax", dim, x), dtype=dtype_of(input, dtype))


def log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """x − log Σ eˣ over the elements that the mask keeps; −∞ elsewhere."""
    x = fill_masked("masked.log_softmax", input, mask, lowest("masked.log_softmax", input))
    return ops.log_softmax(x, _dim("masked.log_softmax", dim, x), dtype=dtype_of(input, dtype))


def softmin(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax of −x over the elements that the mask keeps; 0 elsewhere."""
    x = fill_masked("masked.softmin", input, mask, lowest("masked.softmin", input, -1))
    return ops.softmax(-x, _dim("masked.softmin", dim, x), dtype=dtype_of(input, dtype))


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """x / max(‖x‖, eps), with the norm of the elements that the mask keeps; 0 elsewhere."""
    x = fill_masked("masked.normalize", input, mask, 0)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return x / ops.maximum(length, length.new_full((), eps))


__all__ = ["cumprod", "cumsum", "log_softmax", "normalize", "softmax", "softmin"]
