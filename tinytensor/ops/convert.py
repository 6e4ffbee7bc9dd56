"""Copies of a tensor, also in another dtype or on another device; new tensors like it.

Gradients flow back through each, in the dtype and to the device of the original.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import create
from ..autograd.arguments import array_of, require_tensor
from ..autograd.op import Op
from ..autograd.site import warn
from ..autograd.variable import Variable, unwrap
from ..backend import Array
from ..devices import device, device_of, to_device
from ..dtype import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    from_numpy_dtype,
    int8,
    int16,
    int32,
    int64,
    to_numpy_dtype,
    uint8,
)
from ..kernels.machinery.memory import copy
from ..kernels.machinery.route import ndarray
from ..memory_format import channels_last, channels_last_3d, contiguous_format
from .dims import Ints
from .promote import cast

if TYPE_CHECKING:
    from ..tensor import Tensor


def copy_of(x: Array, row_major: bool = False) -> Array:
    """A copy that keeps the order of dimensions in memory, unless elements share it (stride 0)."""
    if type(x) is ndarray and (row_major or x.flags.c_contiguous):
        return copy(x)
    return x.copy(order="C" if row_major or 0 in x.strides else "K")


class Clone(Op):
    """y = a copy of x, row-major in memory if asked for;  dx = g"""

    def forward(self, x: Array, row_major: bool) -> Array:
        return copy_of(x, row_major)

    def backward(self, g: Any) -> Any:
        return g


class ToDevice(Op):
    """y = a copy of x on another device;  dx = g, brought back"""

    def forward(self, x: Array, where: device) -> Array:
        self.source = device_of(x)
        return to_device(x, where)

    def backward(self, g: Any) -> Any:
        return ToDevice.apply(g, self.source)


def check_format(name: str, input: Any, memory_format: Any) -> None:
    """Refuse channels_last for a tensor that has no 4 dimensions, channels_last_3d without 5."""
    rank = 4 if memory_format is channels_last else 5
    if memory_format in (channels_last, channels_last_3d) and array_of(name, input).ndim != rank:
        raise RuntimeError(
            f"{name}: got {memory_format} for shape {tuple(input.shape)}, expected {rank} "
            "dimensions"
        )


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, through which gradients flow; row-major if memory_format is contiguous_format."""
    if memory_format is not None:
        check_format("clone", input, memory_format)
    return Clone.apply(input, memory_format is contiguous_format)


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """Row-major in memory: the tensor itself if it already is, otherwise a copy."""
    if memory_format is not None:
        check_format("contiguous", input, memory_format)
    return input if array_of("contiguous", input).flags.c_contiguous else Clone.apply(input, True)


# ------------------------------------------------------------------------------------------
# Another dtype, another device
# ------------------------------------------------------------------------------------------


def to(
    input: Tensor,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Convert to a dtype, a device, or both of another tensor.

        x.to(float64)    x.to("cuda")    x.to("cuda", float16)    x.to(other)

    The tensor itself when nothing changes, unless copy=True.
    """
    require_tensor("to", input)
    if memory_format is not None:
        check_format("to", input, memory_format)
    flags = []  # non_blocking and copy, given by position
    for arg in args:
        if isinstance(arg, Variable):
            dtype, device = arg.array.dtype, device_of(arg.array)
        elif isinstance(arg, bool):
            flags.append(arg)
        elif isinstance(arg, (DType, np.dtype, type)):
            dtype = arg
        elif arg is not None:
            device = arg
    copy = copy or any(flags[1:])
    return _convert(input, device, None if dtype is None else to_numpy_dtype(dtype), copy)


def converted(input: Any, dtype: np.dtype) -> Any:
    """As `cast`, with PyTorch's warning where complex numbers become real."""
    if dtype.kind not in "cb" and unwrap(input).dtype.kind == "c":
        warn("to: casting complex values to real discards the imaginary part; use .real or .abs()")
    return cast(input, dtype)


def _convert(input: Any, where: Any, dtype: np.dtype | None, copy: bool = False) -> Any:
    result = input
    if dtype is not None:
        result = converted(result, dtype)
    if where is not None:
        where = device(where)
        if device_of(unwrap(result)) != where:
            result = ToDevice.apply(result, where)
    return clone(result) if copy and result is input else result


def cpu(input: Tensor, memory_format: Any = None) -> Tensor:
    """On the CPU."""
    return _convert(input, "cpu", None)


def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """On a GPU: the first, unless `device` says otherwise."""
    return _convert(input, "cuda" if device is None else device, None)


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """In the dtype and on the device of `other`."""
    return to(input, other)


# PyTorch's names for "a tensor of this dtype".
_TYPE_NAMES = {
    bool_: "BoolTensor",
    uint8: "ByteTensor",
    int8: "CharTensor",
    int16: "ShortTensor",
    int32: "IntTensor",
    int64: "LongTensor",
    float16: "HalfTensor",
    bfloat16: "BFloat16Tensor",
    float32: "FloatTensor",
    float64: "DoubleTensor",
    complex64: "ComplexFloatTensor",
    complex128: "ComplexDoubleTensor",
}


def type_of(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """x.type(): the name of its type ("torch.FloatTensor"). x.type(dtype): x in that dtype."""
    if dtype is None:
        place = "" if device_of(unwrap(input)).type == "cpu" else "cuda."
        return f"torch.{place}{_TYPE_NAMES[from_numpy_dtype(unwrap(input).dtype)]}"
    if isinstance(dtype, str):
        for found, name in _TYPE_NAMES.items():
            if dtype in (f"torch.{name}", f"torch.cuda.{name}"):
                return to(input, "cuda" if "cuda" in dtype else "cpu", found)
        raise ValueError(f"type: got {dtype!r}, expected a dtype or a name as 'torch.FloatTensor'")
    of_class = getattr(dtype, "dtype", None)  # x.type(LongTensor)
    if isinstance(of_class, DType):
        return to(input, getattr(dtype, "place", None), of_class)
    return to(input, dtype=dtype)


def _conversion(dtype: DType) -> Callable:
    """Make the method that converts to `dtype`, such as x.double() or x.long()."""

    def method(input: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            check_format(dtype.name, input, memory_format)
        return converted(input, dtype.dtype)

    method.__doc__ = f"In dtype {dtype.name}; the tensor itself if it has it already."
    return method


to_cfloat = _conversion(complex64)
to_cdouble = _conversion(complex128)
to_half = _conversion(float16)
to_bfloat16 = _conversion(bfloat16)
to_float = _conversion(float32)
to_double = _conversion(float64)
to_bool = _conversion(bool_)
to_byte = _conversion(uint8)
to_char = _conversion(int8)
to_short = _conversion(int16)
to_int = _conversion(int32)
to_long = _conversion(int64)


# ------------------------------------------------------------------------------------------
# New tensors with the dtype and device of another
# ------------------------------------------------------------------------------------------


def _like(input: Any, options: dict) -> dict:
    """The options of a new tensor: dtype and device are those of `input` unless given."""
    dtype, device = options.pop("dtype", None), options.pop("device", None)
    options["dtype"] = input.array.dtype if dtype is None else dtype
    options["device"] = device_of(input.array) if device is None else device
    return options


# options: dtype, device, requires_grad


def new_full(input: Tensor, size: Ints, fill_value: Any, **options: Any) -> Tensor:
    """A tensor of shape `size` filled with `fill_value`, of the dtype and device of `input`."""
    return create.full(size, fill_value, **_like(input, options))


def new_zeros(input: Tensor, *size: Any, **options: Any) -> Tensor:
    """A tensor of shape `size` filled with 0."""
    return create.zeros(*size, **_like(input, options))


def new_ones(input: Tensor, *size: Any, **options: Any) -> Tensor:
    """A tensor of shape `size` filled with 1."""
    return create.ones(*size, **_like(input, options))


def new_empty(input: Tensor, *size: Any, **options: Any) -> Tensor:
    """A tensor of shape `size` with whatever values its memory holds."""
    return create.empty(*size, **_like(input, options))


def new_empty_strided(input: Tensor, size: Any, stride: Any, **options: Any) -> Tensor:
    """A tensor of shape `size` with these strides and whatever values its memory holds."""
    return create.empty_strided(size, stride, **_like(input, options))


def new_tensor(input: Tensor, data: Any, **options: Any) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists, an array or a tensor."""
    return create.tensor(data, **_like(input, options))


__all__ = ["clone", "contiguous", "to", "type_as"]
