"""Reductions over the elements that a mask keeps.

dim is a dimension, several of them, or all by default. keepdim: the dimensions stay, with size 1.
dtype: that of the result. A row of which nothing is kept gives the reduction of no elements: a sum
of 0, a maximum of −∞, a mean of NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..autograd.arguments import require_tensor
from ..autograd.variable import unwrap
from ..create import ones_like
from ..dtype import DType, float32, int64
from ..linalg import vector_norm
from .masking import dims_of, dtype_of, fill_masked, lowest, mask_of

if TYPE_CHECKING:
    from ..tensor import Tensor


def _wide(input: Any, dtype: DType | None) -> DType:
    """The dtype of a sum or a product: small integers become int64."""
    return int64 if dtype is None and unwrap(input).dtype.kind in "biu" else dtype_of(input, dtype)


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Σ x over the elements that the mask keeps."""
    x = fill_masked("masked.sum", input, mask, 0)
    dims = dims_of("masked.sum", dim, x.ndim)
    return ops.sum(x, dims, bool(keepdim), dtype=_wide(input, dtype))


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Π x over the elements that the mask keeps."""
    x = fill_masked("masked.prod", input, mask, 1)
    y = x.to(dtype=_wide(input, dtype))
    for d in reversed(dims_of("masked.prod", dim, x.ndim)):
        y = ops.prod(y, d, bool(keepdim))
    return y


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The largest of the elements that the mask keeps."""
    x = fill_masked("masked.amax", input, mask, lowest("masked.amax", input))
    dims = dims_of("masked.amax", dim, x.ndim)
    return ops.amax(x, dims, bool(keepdim)).to(dtype=dtype_of(input, dtype))


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The smallest of the elements that the mask keeps."""
    x = fill_masked("masked.amin", input, mask, lowest("masked.amin", input, -1))
    dims = dims_of("masked.amin", dim, x.ndim)
    return ops.amin(x, dims, bool(keepdim)).to(dtype=dtype_of(input, dtype))


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The place of the largest element that the mask keeps, in the dtype of the input."""
    x = fill_masked("masked.argmax", input, mask, lowest("masked.argmax", input))
    return ops.argmax(x, dim, bool(keepdim)).to(dtype=dtype_of(input, dtype))


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The place of the smallest element that the mask keeps, in the dtype of the input."""
    x = fill_masked("masked.argmin", input, mask, lowest("masked.argmin", input, -1))
    return ops.argmin(x, dim, bool(keepdim)).to(dtype=dtype_of(input, dtype))


def _count(name: str, input: Any, dim: Any, keepdim: bool, mask: Any) -> Any:
    """How many elements the mask keeps, as int64."""
    kept = ones_like(input, dtype=int64) if mask is None else mask_of(name, input, mask)
    return ops.sum(kept, dims_of(name, dim, input.ndim), keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of the elements that the mask keeps; NaN if there are none."""
    require_tensor("masked.mean", input)
    wanted = dtype_of(input, dtype)
    if not (wanted.is_floating_point or wanted.is_complex):
        raise ValueError(
            f"masked.mean: got dtype {wanted}, expected floating point; pass dtype=float32"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=wanted, mask=mask)
    return total / _count("masked.mean", input, dim, bool(keepdim), mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The lower median of the elements that the mask keeps; NaN if there are none."""
    require_tensor("masked.median", input)
    is_float = unwrap(input).dtype.kind in "fV"
    x = fill_masked("masked.median", input if is_float else input.to(dtype=float32), mask, np.nan)
    (only,) = dims_of("masked.median", dim, x.ndim)[:1]
    y = ops.nanmedian(x, only, keepdim).values
    if is_float:
        return y
    if bool(ops.isnan(y).any()):
        raise ValueError(
            "masked.median: the mask keeps nothing of some rows, and there is no NaN in dtype "
            f"{dtype_of(input, None)}; convert with .float()"
        )
    return y.to(dtype=dtype_of(input, dtype))


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """log Σ eˣ over the elements that the mask keeps."""
    x = fill_masked("masked.logsumexp", input, mask, lowest("masked.logsumexp", input))
    dims = dims_of("masked.logsumexp", dim, x.ndim)
    return ops.logsumexp(x, dims, keepdim).to(dtype=dtype_of(input, dtype))


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """log(eˣ + eʸ), elementwise; what a mask leaves out counts as −∞."""
    name = "masked.logaddexp"
    x = fill_masked(name, input, input_mask, lowest(name, input))
    y = fill_masked(name, other, other_mask, lowest(name, other))
    return ops.logaddexp(x, y).to(dtype=dtype_of(input, dtype))


def norm(
    input: Tensor, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool | None = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """(Σ |x|ᵒʳᵈ)^(1/ord) over the elements that the mask keeps."""
    x = fill_masked("masked.norm", input, mask, np.inf if ord == -np.inf else 0)
    dims = dims_of("masked.norm", dim, x.ndim)
    power: Any = ord  # None, which PyTorch's signature has, is refused, as there
    return vector_norm(x, power, dims, bool(keepdim), dtype=dtype_of(input, dtype))


def _variance(
    name: str, input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: Any, dtype: Any,
    mask: Any,
) -> Any:  # fmt: skip
    require_tensor(name, input)
    if unbiased is not None and correction is not None:
        raise AssertionError(f"{name}: got unbiased and correction, expected one of them")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    wanted = dtype_of(input, dtype)
    if dtype is None and not (wanted.is_floating_point or wanted.is_complex):
        wanted = float32
    inside = wanted if wanted.is_floating_point or wanted.is_complex else float32
    count = _count(name, input, dim, True, mask)
    x = input - sum(input, dim, keepdim=True, dtype=wanted, mask=mask) / count
    total = sum(x * x.conj(), dim, keepdim=keepdim, dtype=inside, mask=mask)
    count = count.reshape(total.shape)
    if correction:
        real = inside.to_real() if inside.is_complex else inside
        count = ops.clamp_min(count.to(dtype=real) - float(correction), 0)
    return (total / count).to(dtype=wanted)


def var(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of the elements that the mask keeps; divided by their number − correction."""
    return _variance("masked.var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool | None = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of the elements that the mask keeps."""
    y = _variance("masked.std", input, dim, unbiased, correction, keepdim, dtype, mask)
    return ops.sqrt(y)


__all__ = [
    "amax", "amin", "argmax", "argmin", "logaddexp", "logsumexp", "mean", "median", "norm", "prod",
    "std", "sum", "var",
]  # fmt: skip
