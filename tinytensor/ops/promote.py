"""Operands made ready for an elementwise op: one dtype, as PyTorch promotes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import Op
from ..autograd.variable import Variable, registry
from ..backend import Array, is_array, xp
from ..dtype import default_float, result_dtype


class Cast(Op):
    """y = x in another dtype;  dx = g in the old one."""

    def forward(self, x: Array, dtype: np.dtype) -> Array:
        return x.astype(dtype)

    def backward(self, g: Any) -> Any:
        return g  # the engine brings each gradient to its input's dtype


def cast(x: Any, dtype: np.dtype) -> Any:
    """`x` (tensor or array) in a NumPy dtype; itself when it has it already."""
    array = x.array if isinstance(x, Variable) else x
    return x if array.dtype == dtype else Cast.apply(x, dtype)


def promote(a: Any, b: Any) -> tuple[Any, Any]:
    """Two operands in their common dtype; Python numbers stay, as NumPy too takes them as weak."""
    if isinstance(a, Variable):
        if isinstance(b, Variable):
            if a.array.dtype is b.array.dtype:
                return a, b
        elif type(b) is float or type(b) is int:
            kind = a.array.dtype.kind
            if kind == "f" or (type(b) is int and kind != "b"):
                return a, b
    return _promote_to(result_dtype(a, b), a, b)


def promote_float(a: Any, b: Any) -> tuple[Any, Any]:
    """As `promote`, but integers become floats: for division and its kin."""
    dtype = result_dtype(a, b)
    return _promote_to(dtype if dtype.kind == "f" else default_float(), a, b)


def _promote_to(dtype: np.dtype, *operands: Any) -> Any:
    return tuple(_as_operand(operand, dtype) for operand in operands)


def _as_operand(value: Any, dtype: np.dtype) -> Any:
    if isinstance(value, Variable) or (is_array(value) and value.ndim):
        return cast(value, dtype)
    if isinstance(value, (list, tuple, str)) or value is None:
        raise TypeError(f"got an operand of type {type(value).__name__}, expected a tensor or a number")
    # A Python number, a NumPy scalar or a 0-d array: a plain number is weak for NumPy and CuPy alike.
    if is_array(value):
        return cast(value, dtype)
    return dtype.type(value).item() if dtype.kind != "f" else float(value)


def as_float(x: Any) -> Any:
    """A tensor, array or number in floating point: integers in the default dtype."""
    if isinstance(x, Variable):
        return x if x.array.dtype.kind == "f" else cast(x, default_float())
    if is_array(x):
        return x if x.dtype.kind == "f" else x.astype(default_float())
    return x


def as_operand_like(value: Any, x: Any) -> Any:
    """A Python number as a 0-d tensor of x's library and dtype, for ops that need an array."""
    if isinstance(value, Variable) or is_array(value):
        return value
    array = xp(x.array if isinstance(x, Variable) else x).asarray(value, dtype=x.array.dtype)
    return _wrap_like(array, x)


def _wrap_like(array: Array, x: Any) -> Any:
    from ..autograd.variable import wrap

    return wrap(array) if isinstance(x, registry.tensor) else array
