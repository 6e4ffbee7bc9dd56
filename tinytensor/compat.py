"""Names that code written for PyTorch mentions and that have nothing to do here.

There is one way to run an op, in the dtype of its tensors, so compilation, mixed precision and
hardware flags are accepted and change nothing. More of the kind: amp.py, backends/, distributed.py,
jit.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .amp import GradScaler, autocast
from .autograd import variable
from .autograd.variable import wrap
from .create.from_data import tensor
from .create.size_arguments import shape_of
from .dtype import bool_, float16, float32, float64, int8, int16, int32, int64, uint8

if TYPE_CHECKING:
    from .tensor import Tensor


def compile(model: Any = None, **options: Any) -> Any:
    """Returns its argument, also as a decorator `@compile(…)`."""
    return (lambda function: function) if model is None else model


_matmul_precision = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """Remembered and not used: products are always made in full precision."""
    global _matmul_precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"set_float32_matmul_precision: got {precision!r}, "
            "expected 'highest', 'high' or 'medium'"
        )
    _matmul_precision = precision


def get_float32_matmul_precision() -> str:
    return _matmul_precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Every op is deterministic on a CPU already."""


def are_deterministic_algorithms_enabled() -> bool:
    return True


# ------------------------------------------------------------------------------------------
# autograd.Variable, of old programs
# ------------------------------------------------------------------------------------------


class _AnyTensor(type):
    def __call__(cls, data: Any, requires_grad: bool = False) -> Tensor:  # type: ignore[override]
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, variable.Variable)


class Variable(metaclass=_AnyTensor):
    """Variable(data, requires_grad): a tensor that shares memory with data, made a leaf.

    Tensors had to be wrapped in it once; now every tensor is one.
    """


# ------------------------------------------------------------------------------------------
# LongTensor and its kin
# ------------------------------------------------------------------------------------------


class _TensorOf(type):
    """The class of LongTensor and its kin: a call makes a Tensor of that dtype, and
    isinstance(x, LongTensor) asks for the dtype. x.type(LongTensor) converts to it.
    """

    dtype: Any

    def __call__(cls, *data: Any) -> Tensor:  # type: ignore[override]
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
    "GradScaler",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "are_deterministic_algorithms_enabled",
    "autocast",
    "compile",
    "get_float32_matmul_precision",
    "set_float32_matmul_precision",
    "use_deterministic_algorithms",
]
