"""What the functions of masked share: the mask, and what stands for the elements left out."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..autograd.arguments import require_tensor
from ..autograd.variable import unwrap, wrap
from ..backend import xp
from ..dtype import DType, from_numpy_dtype
from ..ops.clamp import where


def mask_of(name: str, input: Any, mask: Any) -> Any:
    """The mask as a boolean tensor of the shape of input."""
    require_tensor(name, mask)
    array = unwrap(mask)
    if array.ndim > input.ndim:
        raise IndexError(
            f"{name}: got a mask of shape {tuple(array.shape)} for an input of shape "
            f"{tuple(input.shape)}, expected at most as many dimensions"
        )
    try:
        array = xp(array).broadcast_to(array, tuple(input.shape))
    except ValueError:
        raise RuntimeError(
            f"{name}: the mask has shape {tuple(array.shape)}, which does not broadcast to that "
            f"of the input, {tuple(input.shape)}"
        ) from None
    return wrap(array.astype(bool))


def fill_masked(name: str, input: Any, mask: Any, value: float) -> Any:
    """input, with `value` in place of the elements that the mask leaves out."""
    require_tensor(name, input)
    if mask is None:
        return input
    fill = np.asarray(value).astype(unwrap(input).dtype)
    return where(mask_of(name, input, mask), input, wrap(xp(unwrap(input)).asarray(fill)))


def lowest(name: str, input: Any, sign: int = 1) -> float:
    """The lowest number of input's dtype, −∞ for floats; sign=-1: the highest."""
    require_tensor(name, input)
    dtype = unwrap(input).dtype
    if dtype.kind in "fVc":
        return -sign * np.inf
    if dtype.kind == "b":
        raise NotImplementedError(f"{name}: got dtype bool, expected numbers")
    info = np.iinfo(dtype)
    return info.min if sign > 0 else info.max


def dims_of(name: str, dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions in ascending order; None and () stand for all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    least, found = max(ndim, 1), []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        d = operator.index(d)
        if not -least <= d < least:
            raise IndexError(f"{name}: got dim {d}, expected {-least} to {least - 1}")
        if d % least in found and not (ndim == 0 and name == "masked.prod"):  # as in PyTorch
            raise RuntimeError(f"{name}: dim {d} appears multiple times")
        found.append(d % least)
    return tuple(sorted(found))


def dtype_of(input: Any, dtype: DType | None) -> DType:
    """dtype, or that of the input if it is None."""
    return from_numpy_dtype(unwrap(input).dtype) if dtype is None else dtype
