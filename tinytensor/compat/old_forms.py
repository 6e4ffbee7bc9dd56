"""PyTorch's old constructors by dtype (LongTensor, FloatTensor …) and set_default_tensor_type.

`tinytensor.cuda.FloatTensor` and its like are in `ON_GPU`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import devices
from ..autograd.variable import Variable
from ..create.filled import zeros
from ..create.from_data import is_sequence, tensor
from ..dtype import (
    FLOATS,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from ..size import Size

if TYPE_CHECKING:
    from ..tensor import Tensor


class _TensorOf(type):
    """The metaclass of LongTensor, FloatTensor …: a call returns a Tensor of that dtype,
    isinstance(x, LongTensor) tests the dtype and device, and x.type(LongTensor) converts to them.

    FloatTensor(2, 3), FloatTensor(x.shape) and FloatTensor(size=(2, 3)) have that shape;
    FloatTensor([2, 3]) and FloatTensor((2, 3)) have these values.
    """

    dtype: DType
    place: str  # "cpu" or "cuda"

    def __call__(cls, *data: Any, size: Any = None, device: Any = None) -> Tensor:
        if device is not None and devices.device(device).type != cls.place:
            raise TypeError(f"{cls.label}: got device {device}, expected {cls.place!r}")
        place = device or cls.place
        source: Any = data[0] if len(data) == 1 else None
        if isinstance(source, Variable):
            if source.array.dtype != cls.dtype.dtype:
                raise TypeError(
                    f"{cls.label}: got a tensor of {source.dtype}, expected {cls.dtype}; "
                    f"x.to({cls.dtype}) converts"
                )
            return source.detach()
        is_data = isinstance(source, np.ndarray) or is_sequence(type(source))
        if is_data and not isinstance(source, Size):
            return tensor(source, dtype=cls.dtype, device=place)
        sizes = data if size is None else (size,)
        if len(data) > 1:  # FloatTensor(2, n): n may be a 0-d tensor
            sizes = tuple(n.item() if isinstance(n, Variable) else n for n in data)
        if isinstance(source, bool) or not all(
            isinstance(n, (int, np.integer, tuple, list)) for n in sizes
        ):
            kinds = ", ".join(type(value).__name__ for value in data)
            raise TypeError(
                f"{cls.label}: got ({kinds}), expected sizes, a sequence, an array or a tensor"
            )
        return zeros(*(sizes or (0,)), dtype=cls.dtype, device=place)

    def __instancecheck__(cls, value: Any) -> bool:
        if not isinstance(value, Variable) or value.array.dtype != cls.dtype.dtype:
            return False
        return devices.device_of(value.array).type == cls.place

    @property
    def label(cls) -> str:
        return cls.__name__ if cls.place == "cpu" else f"cuda.{cls.__name__}"


def _typed(name: str, dtype: DType, place: str = "cpu") -> _TensorOf:
    doc = f"{name}(data), or {name}(*sizes): a tensor of {dtype.name}."
    return _TensorOf(name, (), {"dtype": dtype, "place": place, "__doc__": doc})


FloatTensor = _typed("FloatTensor", float32)
DoubleTensor = _typed("DoubleTensor", float64)
HalfTensor = _typed("HalfTensor", float16)
BFloat16Tensor = _typed("BFloat16Tensor", bfloat16)
LongTensor = _typed("LongTensor", int64)
IntTensor = _typed("IntTensor", int32)
ShortTensor = _typed("ShortTensor", int16)
CharTensor = _typed("CharTensor", int8)
ByteTensor = _typed("ByteTensor", uint8)
BoolTensor = _typed("BoolTensor", bool_)

ON_CPU = {name: value for name, value in globals().items() if isinstance(value, _TensorOf)}
ON_GPU = {name: _typed(name, each.dtype, "cuda") for name, each in ON_CPU.items()}


def typename(obj: Any, /) -> str:
    """The type of a tensor as x.type() names it; of other objects the class with its module."""
    if isinstance(obj, Variable):
        return obj.type()
    if isinstance(obj, _TensorOf):
        return f"torch.{obj.label}"  # as x.type() names it
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return module + kind.__qualname__


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype, and the default device, by a class or its name.

    t: FloatTensor, cuda.FloatTensor …, or "torch.FloatTensor", "torch.cuda.FloatTensor" …
    """
    found = t
    if isinstance(t, str):
        path = t.split(".")
        names = {"torch.cuda": ON_GPU, "torch": ON_CPU}.get(".".join(path[:-1]), {})
        found = names.get(path[-1])
    if not isinstance(found, _TensorOf) or found.dtype.dtype.kind not in FLOATS:
        raise TypeError(
            f"set_default_tensor_type: got {t!r}, expected a floating point type such as "
            "DoubleTensor or 'torch.DoubleTensor'"
        )
    if found.place == "cuda" and not devices.gpu_count():
        raise TypeError(f"set_default_tensor_type: got {found.label}, but there is no GPU")
    set_default_dtype(found.dtype)
    devices.set_default_device("cuda" if found.place == "cuda" else None)


__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "set_default_tensor_type",
    "typename",
]
