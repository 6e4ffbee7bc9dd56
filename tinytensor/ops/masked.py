"""Masks: reading, filling and writing where one is True, and finding where that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, check_given, require_tensor
from ..autograd.inplace import assign
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..dtype import fitting
from ..errors import ShapeError
from ..out import takes_out
from .broadcast import atleast_1d, broadcast_to, common_shape
from .index import Index, IndexPut
from .promote import require_same_dtype

if TYPE_CHECKING:
    from ..tensor import Tensor


class MaskedFill(Op):
    """y = value where mask is True, else x;  dx = g but 0 there, dvalue = Σ g there"""

    saves = ("mask",)

    def forward(self, x: Array, mask: Array, value: Any) -> Array:
        library = xp(x)
        return library.where(mask, library.asarray(value).astype(x.dtype), x)

    def backward(self, g: Any) -> Any:
        (mask,) = self.saved
        dx = MaskedFill.apply(g, mask, 0) if self.needs(0) else None
        dvalue = MaskedFill.apply(g, ~mask, 0) if self.needs(2) else None
        return dx, None, dvalue


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` (a number or a 0-d tensor) where mask is True, input elsewhere; broadcast."""
    broadcast_with_mask("masked_fill", input, mask)
    check_0d("masked_fill", value, unwrap(input).dtype)
    if isinstance(value, (int, float)):
        value = fitting("masked_fill", value, unwrap(input).dtype)
    return MaskedFill.apply(input, mask, value)


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """self ← value where mask, which broadcasts to self, is True."""
    return fill_where("masked_fill_", self, mask, value)


def fill_where(name: str, target: Any, mask: Any, value: Any) -> Any:
    """target ← value where mask is True, for the in-place op of that name."""
    _, array = broadcast_with_mask(name, target, mask)
    if array.shape != tuple(target.shape):
        raise ShapeError(
            f"{name}: the mask has shape {tuple(mask.shape)}, which does not broadcast to that of "
            f"the tensor, {tuple(target.shape)}"
        )
    check_0d(name, value, unwrap(target).dtype)
    if isinstance(value, (int, float)):
        value = fitting(name, value, unwrap(target).dtype)
    return assign(target, (array.copy(),), value, name)


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements of source, one after the other, where mask is True; input elsewhere."""
    check_given("masked_scatter", mask=mask, source=source)
    input, array = broadcast_with_mask("masked_scatter", input, mask)
    require_same_dtype("masked_scatter", "source", source, input)
    needed, found = int(array.sum()), unwrap(source).size
    if found < needed:
        raise ShapeError(
            f"masked_scatter: source has {found} elements, expected at least {needed}, the number "
            "of places where the mask is True"
        )
    return IndexPut.apply(input, source.reshape(-1)[:needed], (array,))


@takes_out("same dtype")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is True, in one dimension; mask and input are broadcast."""
    input, array = broadcast_with_mask("masked_select", input, mask)
    return Index.apply(atleast_1d(input), (atleast_1d(array),))


def broadcast_with_mask(name: str, input: Any, mask: Any) -> tuple[Any, Array]:
    """Input and mask in their common shape, the mask as a raw boolean array."""
    array = unwrap(mask)
    found = getattr(array, "dtype", type(mask).__name__)
    if found != np.dtype(bool):
        raise RuntimeError(f"{name}: got a mask of {found}, expected a boolean tensor")
    shape = array_of(name, input).shape
    if array.shape == shape:
        return input, array
    common = common_shape(name, (shape, array.shape))
    if common != shape:
        input = broadcast_to(input, common)
    return input, xp(array).broadcast_to(array, common)


def check_0d(name: str, value: Any, dtype: Any = None) -> None:
    """Refuse a value that is not a number, nor 0-d; and a complex one for another `dtype`."""
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"{name}: value has shape {tuple(value.shape)}, expected a number or a 0-d tensor"
        )
    if isinstance(value, (str, list, tuple)) or value is None:
        raise TypeError(f"{name}: got value of type {type(value).__name__}, expected a number")
    found = getattr(unwrap(value), "dtype", None)
    is_complex = isinstance(value, complex) if found is None else found.kind == "c"
    if dtype is not None and dtype.kind != "c" and is_complex:
        raise RuntimeError(f"{name}: got a complex value, expected a number that fits {dtype}")


class Nonzero(Op):
    """y = the positions where x ≠ 0, (N, x.ndim) or an array for each dimension;  no gradient"""

    differentiable = False

    def forward(self, x: Array, as_tuple: bool) -> Any:
        if as_tuple:
            return x.nonzero() if x.ndim else x.reshape(1).nonzero()
        return xp(x).argwhere(x)


@takes_out("same dtype")
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: (N, input.ndim) int64.

    as_tuple: a tuple with one vector for each dimension instead, which can be used as an index.
    """
    if type(as_tuple) is not bool:
        check_flags("nonzero", as_tuple=as_tuple)
    require_tensor("nonzero", input)
    return Nonzero.apply(input, as_tuple)


def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not zero: (N, input.ndim) int64."""
    require_tensor("argwhere", input)
    return Nonzero.apply(input, False)


__all__ = ["argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero"]
