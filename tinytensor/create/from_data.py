"""New tensors from data: Python numbers and lists, NumPy arrays, DLPack."""

from __future__ import annotations

import array as arrays
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.site import warn
from ..autograd.variable import Variable, unwrap, wrap
from ..backend import Array, is_array
from ..devices import get_default_device, gpu, to_device
from ..dtype import complex_dtype, default_float, from_numpy_dtype, promote_pair, to_numpy_dtype

if TYPE_CHECKING:
    from ..tensor import Tensor

INT64 = np.dtype(np.int64)


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of `data`: numbers, nested lists or other sequences, arrays, tensors.

    Python floats become the default dtype (float32), ints int64, bools bool.
    """
    array = _from_data(data, dtype, copy=True)
    if device is None:
        device = data.device if isinstance(data, Variable) else get_default_device()
    made = wrap(to_device(array, device))
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Like `tensor`, but a tensor or an array of the right dtype and device is not copied."""
    if isinstance(data, Variable):
        result: Any = data
        if dtype is not None:
            result = result.to(dtype)
        return result if device is None else result.to(device)
    array = _from_data(data, dtype, copy=False)
    return wrap(to_device(array, get_default_device() if device is None else device))


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Like `as_tensor`, also of a DLPack capsule or a buffer, which is read as `dtype`.

    copy=True always copies, copy=False raises if a copy is needed.
    """
    if type(obj).__name__ == "PyCapsule":
        obj = from_dlpack(obj)
    elif isinstance(obj, (bytes, bytearray, memoryview, arrays.array)):
        obj = frombuffer(obj, dtype=from_numpy_dtype(default_float()) if dtype is None else dtype)
    elif copy is False and isinstance(obj, np.generic):
        raise RuntimeError(
            f"asarray: a NumPy scalar, {type(obj).__name__}, cannot be shared; leave copy=False out"
        )
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


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-D tensor that shares the memory of a buffer, such as a bytearray.

    count: how many elements, -1 for all of them; offset: how many bytes to skip. A tensor of a
    read-only buffer, such as bytes, cannot be written to.
    """
    numpy_dtype = to_numpy_dtype(dtype)
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError(
            f"frombuffer: got {type(buffer).__name__}, expected an object with Python's buffer "
            "protocol"
        ) from None
    size = numpy_dtype.itemsize
    if not length or not count:
        raise ValueError(f"frombuffer: got {length} bytes and count {count}, expected neither 0")
    if not 0 <= offset < length:
        raise ValueError(f"frombuffer: got offset {offset}, expected 0 to {length - 1}")
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"frombuffer: got {length - offset} bytes after the offset, expected a multiple of "
            f"{size}, the size of {dtype}"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"frombuffer: got {length} bytes, expected at least {offset + count * size} for "
            f"{count} elements after offset {offset}"
        )
    array = np.frombuffer(buffer, numpy_dtype, max(count, -1), offset)
    if not array.flags.writeable:
        warn("frombuffer: the given buffer is not writable, and neither is the tensor; copy it")
    tensor = wrap(array)
    return tensor.requires_grad_() if requires_grad else tensor


class _Capsule:
    """A DLPack capsule of CPU memory, in the shape that NumPy accepts."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares memory with any object that supports DLPack, or with a capsule of it."""
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        kind = type(ext_tensor).__name__
        raise TypeError(f"from_dlpack: got {kind}, expected an object with __dlpack__")
    on_cpu = int(ext_tensor.__dlpack_device__()[0]) == 1  # kDLCPU
    array = (np if on_cpu else gpu()).from_dlpack(ext_tensor)
    from_numpy_dtype(array.dtype)
    return wrap(array)


@np.errstate(all="ignore")  # 1e39 is inf in float32 without a warning, as in PyTorch
def _from_data(data: Any, dtype: Any, copy: bool) -> Array:
    """`data` as an array of a supported dtype."""
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
    if not isinstance(data, (bool, int, float, complex)) and not is_sequence(type(data)):
        if isinstance(data, (str, bytes)):
            raise TypeError(f"tensor: got {type(data).__name__}, expected numbers or nested lists")
        if not hasattr(data, "__array__"):
            raise RuntimeError(f"tensor: could not infer dtype of {type(data).__name__}")
        return _from_data(np.asarray(data), dtype, copy)
    if numpy_dtype is None:
        numpy_dtype = infer_dtype(data)
    numbers = _plain(data)
    try:
        return np.array(numbers, dtype=numpy_dtype)
    except OverflowError:
        return _wrapped(numbers, numpy_dtype)
    except (ValueError, TypeError) as error:
        if "float NaN" in str(error):
            raise RuntimeError(f"tensor: nan is out of range for {numpy_dtype}") from None
        raise ValueError(
            f"tensor: the nested lists are not rectangular ({str(error).splitlines()[0]}); "
            "all lists at the same depth need the same length"
        ) from None


def _wrapped(data: Any, dtype: np.dtype) -> Array:
    """Integers, some out of range, as an array: negative ones wrap in uint8, as in PyTorch."""
    if dtype.kind == "u":
        numbers = np.array(data, dtype=np.float64)
        if bool((np.abs(numbers) <= np.iinfo(dtype).max).all()):
            return numbers.astype(np.int64).astype(dtype)
    error = ValueError if dtype == INT64 else RuntimeError
    raise error(f"tensor: a number is out of range for {dtype}; pass a dtype that can hold it")


def _is_sequence(kind: type) -> bool:
    """Whether objects of this class are sequences of numbers or of sequences: lists, deques, …"""
    if issubclass(kind, (list, tuple, range)):
        return True
    if issubclass(kind, (str, bytes, Mapping, np.generic)) or hasattr(kind, "__array__"):
        return False
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__")


# Remembered for each class: `tensor` asks often, and Mapping, an abstract class, costs 1 µs.
is_sequence: Callable[[type], bool] = functools.lru_cache(maxsize=256)(_is_sequence)


def _plain(data: Any) -> Any:
    """Sequences as nested lists, with each one-element tensor replaced by its number."""
    if is_sequence(type(data)):
        if any(is_sequence(kind) or issubclass(kind, Variable) for kind in set(map(type, data))):
            return [_plain(item) for item in data]
        return data if isinstance(data, (list, tuple)) else list(data)
    if isinstance(data, Variable) and data.array.size != 1:
        raise ValueError(
            f"tensor: got a list with a tensor of shape {data._shape}; use stack() or cat()"
        )
    return data.item() if isinstance(data, Variable) else data


def infer_dtype(data: Any) -> np.dtype:
    """The dtype of nested lists: the one that all their numbers promote to."""
    if is_sequence(type(data)):
        kinds = {type(item): item for item in data}  # one example of each type is enough,
        if any(is_sequence(kind) or issubclass(kind, (Variable, np.ndarray)) for kind in kinds):
            kinds = dict(enumerate(data))  # type: ignore[arg-type]  # unless they differ inside
        dtypes = [infer_dtype(item) for item in kinds.values()]
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
    if isinstance(data, complex):
        return complex_dtype(default_float())
    raise RuntimeError(f"tensor: could not infer dtype of {type(data).__name__}")


__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "tensor"]
