"""Data types, under PyTorch's names, and its rules of promotion.

A `DType` is a thin, comparable wrapper around a NumPy dtype. Promotion: a tensor with dimensions
outranks a 0-d tensor, which outranks a Python number; a lower rank changes the result only if it is
of a higher category (bool < integer < float).
"""

from __future__ import annotations

from typing import Any

import numpy as np


class DType:
    """A data type: `tinytensor.float32` and its kin."""

    __slots__ = ("name", "dtype")

    def __init__(self, name: str):
        self.name = name
        self.dtype = np.dtype(name)  # np.dtype(tinytensor.float32) works through this attribute

    @property
    def is_floating_point(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def is_complex(self) -> bool:
        return False

    @property
    def is_signed(self) -> bool:
        return self.dtype.kind in "if"

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def __repr__(self) -> str:
        return f"tinytensor.{self.name}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.dtype == other.dtype
        if isinstance(other, (np.dtype, type)):
            try:
                return self.dtype == np.dtype(other)
            except TypeError:
                return False
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> tuple:
        return from_numpy_dtype, (self.dtype,)


bool_ = DType("bool")
uint8 = DType("uint8")
int8 = DType("int8")
int16 = DType("int16")
int32 = DType("int32")
int64 = DType("int64")
float16 = DType("float16")
float32 = DType("float32")
float64 = DType("float64")

ALL = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
_BY_NUMPY = {d.dtype: d for d in ALL}
_default = float32


def from_numpy_dtype(dtype: np.dtype) -> DType:
    """The DType of a NumPy dtype, or a TypeError that lists what there is."""
    try:
        return _BY_NUMPY[dtype]
    except KeyError:
        names = ", ".join(d.name for d in ALL)
        raise TypeError(f"dtype: got {dtype}, expected one of {names}") from None


def to_numpy_dtype(dtype: Any) -> np.dtype:
    """The NumPy dtype of a DType, a NumPy dtype or type, or Python's bool, int and float."""
    if isinstance(dtype, DType):
        return dtype.dtype
    try:
        return from_numpy_dtype(np.dtype(dtype)).dtype
    except TypeError:
        names = ", ".join(d.name for d in ALL)
        raise TypeError(f"dtype: got {dtype!r}, expected one of {names}") from None


def get_default_dtype() -> DType:
    """The dtype of tensors made from Python floats."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Change the dtype of tensors made from Python floats (float16, float32 or float64)."""
    global _default
    numpy_dtype = to_numpy_dtype(dtype)
    if numpy_dtype.kind != "f":
        raise TypeError(f"set_default_dtype: got {dtype}, expected a floating point dtype")
    _default = from_numpy_dtype(numpy_dtype)


def default_float() -> np.dtype:
    """The default dtype, as NumPy's."""
    return _default.dtype


# ------------------------------------------------------------------------------------------
# Promotion
# ------------------------------------------------------------------------------------------

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}
_SIZES = {d.dtype: d.dtype.itemsize for d in ALL}


def promote_pair(a: np.dtype, b: np.dtype) -> np.dtype:
    """The common dtype of two tensors of the same rank class.

    As NumPy's, but an integer never widens a float: int64 with float32 is float32.
    """
    if a == b:
        return a
    category_a, category_b = _CATEGORY[a.kind], _CATEGORY[b.kind]
    if category_a != category_b:
        return a if category_a > category_b else b
    return np.promote_types(a, b)


def _scalar_dtype(value: Any) -> np.dtype:
    if isinstance(value, (bool, np.bool_)):
        return bool_.dtype
    if isinstance(value, (int, np.integer)):
        return int64.dtype
    return _default.dtype


def result_dtype(*operands: Any) -> np.dtype:
    """The dtype of an elementwise op on tensors, arrays and Python numbers, as PyTorch has it."""
    # One dtype for each rank class: with dimensions, 0-d, Python number.
    ranked: list[np.dtype | None] = [None, None, None]
    for operand in operands:
        array = getattr(operand, "array", operand)
        if hasattr(array, "dtype") and not isinstance(array, np.generic):
            rank, dtype = (0 if array.ndim else 1), array.dtype
        else:
            rank, dtype = 2, _scalar_dtype(operand)
        known = ranked[rank]
        ranked[rank] = dtype if known is None else promote_pair(known, dtype)
    result = None
    for dtype in ranked:
        if dtype is None:
            continue
        if result is None or _CATEGORY[dtype.kind] > _CATEGORY[result.kind]:
            result = dtype
    assert result is not None
    return result


def can_cast(source: Any, target: Any) -> bool:
    """Whether values of dtype `source` may be written into `target`: never to a lower category."""
    a, b = to_numpy_dtype(source), to_numpy_dtype(target)
    return _CATEGORY[a.kind] <= _CATEGORY[b.kind]
