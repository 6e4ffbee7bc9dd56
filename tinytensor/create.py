"""New tensors: from Python data, from NumPy, filled, counted."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .autograd.variable import Variable, unwrap, wrap
from .backend import Array, is_array, module_for, to_device
from .dtype import (
    DType,
    default_float,
    from_numpy_dtype,
    promote_pair,
    result_dtype,
    to_numpy_dtype,
)
from .errors import ShapeError

if TYPE_CHECKING:
    from .tensor import Tensor

INT64 = np.dtype(np.int64)


# ------------------------------------------------------------------------------------------
# From data
# ------------------------------------------------------------------------------------------


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists, arrays, tensors.

    Python floats become the default dtype (float32), ints int64, bools bool.
    """
    array = _from_data(data, dtype, copy=True)
    if device is not None or isinstance(data, Variable):
        array = to_device(array, device if device is not None else data.device)
    return wrap(array).requires_grad_(requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """As `tensor`, but a tensor or array of the right kind is used as it is, not copied."""
    if isinstance(data, Variable):
        result: Any = data
        if dtype is not None:
            result = result.to(dtype)
        return result if device is None else result.to(device)
    array = _from_data(data, dtype, copy=False)
    return wrap(array if device is None else to_device(array, device))


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """As `as_tensor`; copy=True copies."""
    result = tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
    return result.requires_grad_(requires_grad) if requires_grad else result


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: got {type(ndarray).__name__}, expected a numpy.ndarray")
    from_numpy_dtype(ndarray.dtype)
    return wrap(ndarray.view())


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares memory with any object that speaks DLPack."""
    return wrap(np.from_dlpack(ext_tensor))


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A 0-d tensor, of the default dtype unless one is given."""
    return full((), s, dtype=default_float() if dtype is None else dtype, device=device)


def _from_data(data: Any, dtype: Any, copy: bool) -> Array:
    """`data` as an array of one of our dtypes."""
    numpy_dtype = None if dtype is None else to_numpy_dtype(dtype)
    source = unwrap(data)
    if is_array(source) or isinstance(source, np.generic):
        from_numpy_dtype(source.dtype)
        if isinstance(source, np.generic):
            return np.array(source, dtype=numpy_dtype)
        changed = numpy_dtype is not None and source.dtype != numpy_dtype
        if changed:
            return source.astype(numpy_dtype)
        return source.copy(order="C") if copy else source.view()
    if isinstance(data, str) or not isinstance(data, (bool, int, float, list, tuple, range)):
        if not hasattr(data, "__array__") and not hasattr(data, "__len__"):
            raise RuntimeError(f"tensor: could not infer dtype of {type(data).__name__}")
        if isinstance(data, (str, bytes, dict, set)):
            raise TypeError(f"tensor: got {type(data).__name__}, expected numbers or nested lists")
        return _from_data(np.asarray(data), dtype, copy)
    if numpy_dtype is None:
        numpy_dtype = _infer_dtype(data)
    try:
        return np.array(_plain(data), dtype=numpy_dtype)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"tensor: the nested lists are not a box of numbers ({str(error).splitlines()[0]}); "
            "every list at one depth needs the same length"
        ) from None


def _plain(data: Any) -> Any:
    """Nested lists with one-element tensors replaced by numbers."""
    if isinstance(data, (list, tuple)):
        if any(isinstance(item, (list, tuple, Variable)) for item in data):
            return [_plain(item) for item in data]
        return data
    return data.item() if isinstance(data, Variable) else data


def _infer_dtype(data: Any) -> np.dtype:
    """The dtype of nested lists: that of all their numbers together."""
    if isinstance(data, (list, tuple, range)):
        kinds = {type(item): item for item in data}  # one example of each type is enough …
        if any(issubclass(kind, (list, tuple, Variable, np.ndarray)) for kind in kinds):
            kinds = dict(enumerate(data))  # type: ignore[arg-type]  # … unless they differ inside
        dtypes = [_infer_dtype(item) for item in kinds.values()]
        if not dtypes:
            return default_float()
        result = dtypes[0]
        for dtype in dtypes[1:]:
            result = promote_pair(result, dtype)
        return result
    if isinstance(data, (Variable, np.generic, np.ndarray)):
        return np.dtype(unwrap(data).dtype)
    if isinstance(data, bool):
        return np.dtype(bool)
    if isinstance(data, int):
        return INT64
    if isinstance(data, float):
        return default_float()
    raise RuntimeError(f"tensor: could not infer dtype of {type(data).__name__}")


# ------------------------------------------------------------------------------------------
# Filled
# ------------------------------------------------------------------------------------------


def shape_of(name: str, size: tuple) -> tuple[int, ...]:
    """The shape from f(2, 3) or f((2, 3)), checked."""
    if len(size) == 1 and isinstance(size[0], (tuple, list, np.ndarray)):
        size = tuple(size[0])
    try:
        shape = tuple(operator.index(n) for n in size)
    except TypeError:
        raise TypeError(f"{name}: got size {size}, expected integers") from None
    if any(n < 0 for n in shape):
        raise ShapeError(f"{name}: got size {shape}, expected no negative dimension")
    return shape


def _make(name: str, size: tuple, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """zeros, ones or empty, by the name that NumPy has for it too."""
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    array = getattr(module_for(device), name)(shape_of(name, size), dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          **ignored: Any) -> Tensor:  # fmt: skip
    """Zeros of a shape: zeros(2, 3) or zeros((2, 3))."""
    return _make("zeros", _size(size, ignored), dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
         **ignored: Any) -> Tensor:  # fmt: skip
    """Ones of a shape."""
    return _make("ones", _size(size, ignored), dtype, device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          **ignored: Any) -> Tensor:  # fmt: skip
    """A tensor of a shape with whatever was in memory."""
    return _make("empty", _size(size, ignored), dtype, device, requires_grad)


def _size(size: tuple, options: dict) -> tuple:
    return (options["size"],) if not size and "size" in options else size


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """A shape filled with one value; the dtype is the value's unless given."""
    value = fill_value.item() if isinstance(fill_value, Variable) else fill_value
    numpy_dtype = _infer_dtype(fill_value) if dtype is None else to_numpy_dtype(dtype)
    array = module_for(device).full(shape_of("full", (size,)), value, dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def _options_like(input: Tensor, dtype: Any, device: Any) -> dict:
    return {
        "dtype": input.dtype if dtype is None else dtype,
        "device": input.device if device is None else device,
    }


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """Zeros in the shape, dtype and device of input."""
    return zeros(input.shape, requires_grad=requires_grad, **_options_like(input, dtype, device))


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """Ones in the shape, dtype and device of input."""
    return ones(input.shape, requires_grad=requires_grad, **_options_like(input, dtype, device))


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """An uninitialised tensor in the shape, dtype and device of input."""
    return empty(input.shape, requires_grad=requires_grad, **_options_like(input, dtype, device))


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """One value in the shape, dtype and device of input."""
    options = _options_like(input, dtype, device)
    return full(input.shape, fill_value, requires_grad=requires_grad, **options)


# ------------------------------------------------------------------------------------------
# Counted
# ------------------------------------------------------------------------------------------


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
        requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """Ones on the diagonal of an n × m matrix, zeros elsewhere."""
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    rows, columns = shape_of("eye", (n, n if m is None else m))
    array = module_for(device).eye(rows, columns, dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
           requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """start, start + step, … below end; arange(end) starts at 0. int64 if all three are ints."""
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, (Variable, np.generic)) else v
                        for v in (start, end, step))  # fmt: skip
    if step == 0:
        raise RuntimeError("arange: step is 0, expected another number")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"arange: from {start} to {end} by step {step} goes the wrong way; change step's sign"
        )
    integers = all(isinstance(v, int) for v in (start, end, step))
    natural = INT64 if integers else default_float()
    numpy_dtype = natural if dtype is None else to_numpy_dtype(dtype)
    library = module_for(device)
    if integers:
        array = library.arange(start, end, step, dtype=INT64)
    else:
        count = max(0, math.ceil((end - start) / step))
        array = start + step * library.arange(count, dtype=np.float64)
    return wrap(array.astype(numpy_dtype)).requires_grad_(requires_grad)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """`steps` numbers from start to end, both included, evenly apart."""
    start, end = float(start), float(end)
    if steps < 0:
        raise RuntimeError(f"linspace: steps={steps}, expected a non-negative number")
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    array = module_for(device).linspace(start, end, steps)
    return wrap(array.astype(numpy_dtype)).requires_grad_(requires_grad)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None,
             device: Any = None, requires_grad: bool = False,
             **ignored: Any) -> Tensor:  # fmt: skip
    """base to the power of each number of linspace(start, end, steps)."""
    exponents = linspace(start, end, steps, dtype=np.float64, device=device).array
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    return wrap((float(base) ** exponents).astype(numpy_dtype)).requires_grad_(requires_grad)


# ------------------------------------------------------------------------------------------
# About tensors
# ------------------------------------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Variable)


def is_floating_point(input: Tensor) -> bool:
    """Whether the tensor's dtype is a floating point one."""
    return input.array.dtype.kind == "f"


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.array.size


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of an elementwise op on the two."""
    return from_numpy_dtype(result_dtype(tensor1, tensor2))


def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest dtype that both are promoted to."""
    return from_numpy_dtype(promote_pair(to_numpy_dtype(type1), to_numpy_dtype(type2)))


class finfo:
    """The limits of a floating point dtype: eps, max, min, tiny, smallest_normal, bits."""

    def __init__(self, type: Any = None):
        numpy_dtype = default_float() if type is None else to_numpy_dtype(type)
        if numpy_dtype.kind != "f":
            raise TypeError(f"finfo: got {numpy_dtype}, expected a floating point dtype; see iinfo")
        limits = np.finfo(numpy_dtype)
        self.bits, self.dtype = limits.bits, numpy_dtype.name
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.tiny)
        self.resolution = float(limits.resolution)


class iinfo:
    """The limits of an integer dtype: max, min, bits."""

    def __init__(self, type: Any):
        numpy_dtype = to_numpy_dtype(type)
        if numpy_dtype.kind not in "iu":
            raise TypeError(f"iinfo: got {numpy_dtype}, expected an integer dtype; see finfo")
        limits = np.iinfo(numpy_dtype)
        self.bits, self.max, self.min = limits.bits, int(limits.max), int(limits.min)
        self.dtype = numpy_dtype.name


__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "finfo",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "iinfo",
    "is_floating_point",
    "is_tensor",
    "linspace",
    "logspace",
    "numel",
    "ones",
    "ones_like",
    "promote_types",
    "result_type",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]
