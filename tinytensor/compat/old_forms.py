"""PyTorch's old constructors by dtype: LongTensor, FloatTensor …"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.variable import Variable, wrap
from ..create.from_data import tensor
from ..create.size_arguments import shape_of
from ..dtype import bool_, float16, float32, float64, int8, int16, int32, int64, uint8

if TYPE_CHECKING:
    from ..tensor import Tensor


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
        return isinstance(value, Variable) and value.array.dtype == cls.dtype.dtype


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
]
