"""Old forms of PyTorch: typed constructors such as LongTensor, and autograd.Variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import variable
from ..autograd.variable import wrap
from ..create.from_data import tensor
from ..create.size_arguments import shape_of
from ..dtype import bool_, float16, float32, float64, int8, int16, int32, int64, uint8

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# autograd.Variable
# ------------------------------------------------------------------------------------------


class _AnyTensor(type):
    def __call__(cls, data: Any, requires_grad: bool = False) -> Tensor:
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, variable.Variable)


class Variable(metaclass=_AnyTensor):
    """Variable(data, requires_grad): a leaf that shares memory with data.

    PyTorch before 0.4 needed it around each tensor. Every tensor is an instance of it.
    """


# ------------------------------------------------------------------------------------------
# LongTensor, FloatTensor …
# ------------------------------------------------------------------------------------------


class _TensorOf(type):
    """The metaclass of LongTensor, FloatTensor …: a call returns a Tensor of that dtype,
    isinstance(x, LongTensor) tests the dtype, and x.type(LongTensor) converts to it.
    """

    dtype: Any

    def __call__(cls, *data: Any) -> Tensor:
        if not data or all(isinstance(n, (int, np.integer)) for n in data):
            return wrap(np.zeros(shape_of(cls.__name__, data or (0,)), dtype=cls.dtype.dtype))
        return tensor(data[0], dtype=cls.dtype)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, variable.Variable) and value.array.dtype == cls.dtype.dtype


def _typed(name: str, dtype: Any) -> _TensorOf:
    doc = f"{name}(data), or {name}(*sizes): a tensor of {dtype.name}."
    return _TensorOf(name, (), {"dtype": dtype, "__doc__": doc})


FloatTensor = _typed("FloatTensor", float32)
DoubleTensor = _typed("DoubleTensor", float64)
HalfTensor = _typed("HalfTensor", float16)
LongTensor = _typed("LongTensor", int64)
IntTensor = _typed("IntTensor", int32)
ShortTensor = _typed("ShortTensor", int16)
CharTensor = _typed("CharTensor", int8)
ByteTensor = _typed("ByteTensor", uint8)
BoolTensor = _typed("BoolTensor", bool_)

__all__ = [
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "Variable",
]
