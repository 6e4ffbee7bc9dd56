"""New tensors: from Python data, from NumPy, filled."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .autograd.strided import copy_in_order, memory_order
from .autograd.variable import Variable, unwrap, wrap
from .backend import Array, gpu, is_array, is_writable, module_for, to_device
from .dtype import default_float, fitting, from_numpy_dtype, promote_pair, to_numpy_dtype
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
    """As `as_tensor`; copy=True copies, copy=False refuses to."""
    result = tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
    if copy is False and (not hasattr(obj, "dtype") or result.dtype != obj.dtype):
        raise ValueError(
            f"asarray: a {type(obj).__name__} cannot become this tensor without a copy; "
            "leave copy=False out"
        )
    return result.requires_grad_(requires_grad) if requires_grad else result


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: got {type(ndarray).__name__}, expected a numpy.ndarray")
    from_numpy_dtype(ndarray.dtype)
    return wrap(ndarray.view())


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares memory with any object that speaks DLPack."""
    if not hasattr(ext_tensor, "__dlpack__"):
        kind = type(ext_tensor).__name__
        raise TypeError(f"from_dlpack: got {kind}, expected an object with __dlpack__")
    on_cpu = int(ext_tensor.__dlpack_device__()[0]) == 1  # kDLCPU
    array = (np if on_cpu else gpu()).from_dlpack(ext_tensor)
    from_numpy_dtype(array.dtype)
    return wrap(array)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None,
                  requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """A 0-d tensor, of the default dtype unless one is given."""
    dtype = default_float() if dtype is None else dtype
    return full((), s, dtype=dtype, device=device, requires_grad=requires_grad, **others)


@np.errstate(all="ignore")  # 1e39 is inf in float32 without a warning, as in PyTorch
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
        if isinstance(data, (str, bytes)):
            raise TypeError(f"tensor: got {type(data).__name__}, expected numbers or nested lists")
        if not hasattr(data, "__array__"):
            raise RuntimeError(f"tensor: could not infer dtype of {type(data).__name__}")
        return _from_data(np.asarray(data), dtype, copy)
    if numpy_dtype is None:
        numpy_dtype = _infer_dtype(data)
    numbers = _plain(data)
    try:
        return np.array(numbers, dtype=numpy_dtype)
    except OverflowError:
        return _wrapped(numbers, numpy_dtype)
    except (ValueError, TypeError) as error:
        if "float NaN" in str(error):
            raise RuntimeError(f"tensor: nan is out of range for {numpy_dtype}") from None
        raise ValueError(
            f"tensor: the nested lists are not a box of numbers ({str(error).splitlines()[0]}); "
            "every list at one depth needs the same length"
        ) from None


def _wrapped(data: Any, dtype: np.dtype) -> Array:
    """Integers of which some are out of range: as in PyTorch, negative ones wrap in uint8."""
    if dtype.kind == "u":
        numbers = np.array(data, dtype=np.float64)
        if bool((np.abs(numbers) <= np.iinfo(dtype).max).all()):
            return numbers.astype(np.int64).astype(dtype)
    error = ValueError if dtype == INT64 else RuntimeError
    raise error(f"tensor: a number is out of range for {dtype}; give a dtype that can hold it")


def _plain(data: Any) -> Any:
    """Nested lists with one-element tensors replaced by numbers."""
    if isinstance(data, (list, tuple)):
        if any(isinstance(item, (list, tuple, Variable)) for item in data):
            return [_plain(item) for item in data]
        return data
    if isinstance(data, Variable) and data.array.size != 1:
        raise ValueError(
            f"tensor: got a list with a tensor of shape {data._shape}; use stack() or cat()"
        )
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


_NO_EFFECT = {"layout", "memory_format", "pin_memory", "names", "out"}


def size_from(name: str, size: tuple, others: dict) -> tuple:
    """The sizes of f(2, 3) or f(size=(2, 3)); a TypeError for keywords that PyTorch has not.

    Layouts and pinned memory are accepted and change nothing here; out= must be None.
    """
    for key, value in others.items():
        if key not in _NO_EFFECT | {"size"} or (key == "out" and value is not None):
            raise TypeError(f"{name}: got an unexpected keyword argument {key!r}")
    if ("size" in others) == bool(size):
        raise TypeError(f"{name}: size is {'given twice' if size else 'missing'}")
    return size or (others["size"],)


def _make(name: str, size: tuple, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """zeros, ones or empty, by the name that NumPy has for it too."""
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    array = getattr(module_for(device), name)(shape_of(name, size), dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          **others: Any) -> Tensor:  # fmt: skip
    """Zeros of a shape: zeros(2, 3) or zeros((2, 3))."""
    return _make("zeros", size_from("zeros", size, others), dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
         **others: Any) -> Tensor:  # fmt: skip
    """Ones of a shape."""
    return _make("ones", size_from("ones", size, others), dtype, device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          **others: Any) -> Tensor:  # fmt: skip
    """A tensor of a shape with whatever was in memory."""
    return _make("empty", size_from("empty", size, others), dtype, device, requires_grad)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """A shape filled with one value; the dtype is the value's unless given."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full: got size {size}, expected a tuple")
    if isinstance(fill_value, (Variable, np.generic)):
        fill_value = fill_value.item()
    if not isinstance(fill_value, (bool, int, float)):
        raise TypeError(f"full: got a value of type {type(fill_value).__name__}, expected a number")
    shape = shape_of("full", size_from("full", (size,), others))
    numpy_dtype = _infer_dtype(fill_value) if dtype is None else to_numpy_dtype(dtype)
    value = fitting("full", fill_value, numpy_dtype)
    array = module_for(device).full(shape, value, dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def _options_like(input: Tensor, dtype: Any, device: Any) -> dict:
    if not isinstance(input, Variable):
        raise TypeError(f"zeros_like and its kin: got a {type(input).__name__}, expected a tensor")
    return {
        "dtype": input.dtype if dtype is None else dtype,
        "device": input.device if device is None else device,
    }


def _laid_out_as(input: Tensor, made: Tensor) -> Tensor:
    """A new tensor, whose dimensions lie in memory in the order of input's, if that has one."""
    if not input.array.flags.c_contiguous and is_writable(input.array):
        made.array = copy_in_order(made.array, memory_order(input.array))
    return made


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Zeros in the shape, dtype and device of input."""
    others.update(_options_like(input, dtype, device))
    return _laid_out_as(input, zeros(input.shape, requires_grad=requires_grad, **others))


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Ones in the shape, dtype and device of input."""
    others.update(_options_like(input, dtype, device))
    return _laid_out_as(input, ones(input.shape, requires_grad=requires_grad, **others))


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """An uninitialised tensor in the shape, dtype and device of input."""
    others.update(_options_like(input, dtype, device))
    return _laid_out_as(input, empty(input.shape, requires_grad=requires_grad, **others))


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """One value in the shape, dtype and device of input."""
    others.update(_options_like(input, dtype, device))
    return _laid_out_as(input, full(input.shape, fill_value, requires_grad=requires_grad, **others))


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
        requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Ones on the diagonal of an n × m matrix, zeros elsewhere."""
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    rows, columns = shape_of("eye", size_from("eye", (n, n if m is None else m), others))
    array = module_for(device).eye(rows, columns, dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


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


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex; there is none here."""
    return False


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero."""
    return bool(input)


__all__ = [
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "is_complex",
    "is_floating_point",
    "is_nonzero",
    "is_tensor",
    "numel",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]
