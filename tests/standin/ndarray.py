"""The stand-in's ndarray: a NumPy array inside, and outside only what cupy.ndarray has.

As cupy's: it never turns into a NumPy array by itself and takes none as an operand; what NumPy
gives as a scalar is a 0-d array; integer arrays as index wrap around instead of raising IndexError;
`flags` has no `writeable`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .names import NAMES, check_call

SCALARS = (bool, int, float, complex, np.generic)
NO_CONVERSION = (
    "Implicit conversion to a NumPy array is not allowed. "
    "Please use `.get()` to construct a NumPy array explicitly."
)


class Usage:
    """Bytes held by arrays that own their memory."""

    bytes = 0


class Flags:
    """cupy's flags know of layout and ownership only."""

    def __init__(self, array: ndarray):
        flags = array._array.flags
        self.c_contiguous: bool = flags.c_contiguous
        self.f_contiguous: bool = flags.f_contiguous
        self.owndata: bool = array._base is None

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        return self.f_contiguous or self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        return getattr(self, name.lower())


class Device:
    """The one device that there is."""

    def __init__(self, device: Any = None):
        self.id = 0 if device is None else int(getattr(device, "id", device))
        if self.id != 0:
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def use(self) -> None:
        pass

    def synchronize(self) -> None:
        pass

    @property
    def mem_info(self) -> tuple[int, int]:
        return 2**30 - Usage.bytes, 2**30


class Pointer:
    def __init__(self, array: np.ndarray):
        self.ptr = array.__array_interface__["data"][0]
        self.device = Device()


class ndarray:
    __slots__ = ("__weakref__", "_array", "_base")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    _array: np.ndarray
    _base: ndarray | None

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        memptr: Any = None,
        strides: Any = None,
        order: str = "C",
    ) -> Any:
        return wrap(np.empty(shape, dtype=dtype, order=order))  # type: ignore[call-overload]

    def __del__(self) -> None:
        if self._base is None:
            Usage.bytes -= self._array.nbytes

    # Attributes

    shape = property(lambda self: self._array.shape)
    strides = property(lambda self: self._array.strides)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)
    dtype = property(lambda self: self._array.dtype)
    itemsize = property(lambda self: self._array.itemsize)
    nbytes = property(lambda self: self._array.nbytes)
    base = property(lambda self: self._base)
    flags = property(Flags)
    device = property(lambda self: Device())
    data = property(lambda self: Pointer(self._array))
    T = property(lambda self: wrap(self._array.T, self))
    mT = property(lambda self: wrap(self._array.mT, self))

    @property
    def real(self) -> Any:
        return wrap(self._array.real, self) if self._array.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self._array.real = operand(value)

    @property
    def imag(self) -> Any:
        is_complex = self._array.dtype.kind == "c"
        return wrap(self._array.imag, self) if is_complex else wrap(np.zeros_like(self._array))

    @imag.setter
    def imag(self, value: Any) -> None:
        if self._array.dtype.kind != "c":
            raise TypeError("cupy.ndarray does not have imaginary part to set")
        self._array.imag = operand(value)

    # To the host, when asked for

    def get(
        self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True
    ) -> Any:
        host = np.array(self._array, order=order)  # type: ignore[call-overload]
        if out is None:
            return host
        out[...] = host
        return out

    def item(self) -> Any:
        return self._array.item()

    def tolist(self) -> Any:
        return self._array.tolist()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(NO_CONVERSION)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"numpy.{func.__name__}: {NO_CONVERSION}")

    def __bool__(self) -> bool:
        return bool(self._array)

    def __int__(self) -> int:
        return int(self._array)

    def __float__(self) -> float:
        return float(self._array)

    def __complex__(self) -> complex:
        return complex(self._array)

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return repr(self._array)

    def __str__(self) -> str:
        return str(self._array)

    def __format__(self, spec: str) -> str:
        return format(self._array, spec)

    def __copy__(self) -> ndarray:
        return wrap(self._array.copy())

    def __deepcopy__(self, memo: Any) -> ndarray:
        return wrap(self._array.copy())

    def __reduce__(self) -> tuple:
        return wrap, (self.get(),)

    # Indexing

    def __getitem__(self, index: Any) -> Any:
        entries, advanced = prepare_index(index, self.shape)
        if advanced:
            return wrap(np.array(self._array[entries]))
        if Ellipsis not in entries:
            entries += (Ellipsis,)  # keeps NumPy from making a scalar: cupy gives a 0-d view
        return wrap(self._array[entries], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        entries, advanced = prepare_index(index, self.shape)
        if isinstance(value, ndarray):
            value = value._array
        elif isinstance(value, np.ndarray) and value.ndim and not advanced:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        elif not isinstance(value, (*SCALARS, np.ndarray)) and not advanced:
            raise TypeError(f"Unsupported type {type(value)}")
        self._array[entries] = value

    # Methods that do not simply hand on to NumPy's

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = None,
        subok: Any = None,
        copy: bool = True,
    ) -> Any:
        cast = self._array.astype(dtype, order=order, casting=casting or "unsafe", copy=copy)  # type: ignore[call-overload]
        return self if cast is self._array else wrap(cast)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        return wrap(self._array.view() if dtype is None else self._array.view(dtype), self)

    def fill(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        self._array.fill(value._array if isinstance(value, ndarray) else value)

    def set(self, arr: Any, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        self._array[...] = arr

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> Any:
        chosen = indices._array if isinstance(indices, ndarray) else np.asarray(indices)
        return wrap(np.array(np.take(self._array, chosen, axis=axis, mode="wrap")))

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        if not isinstance(repeats, (int, list, tuple)):
            raise ValueError("`repeats` must be int or sequence")
        return wrap(self._array.repeat(repeats, axis))

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        check_kind(kind)
        self._array.sort(axis=axis)

    def argsort(self, axis: int = -1, kind: Any = None) -> Any:
        check_kind(kind)
        return wrap(self._array.argsort(axis=axis, kind="stable"))


def check_kind(kind: Any) -> None:
    if kind not in (None, "stable"):
        raise ValueError(f"kind can only be None or 'stable', got {kind!r}")


# ------------------------------------------------------------------------------------------
# In and out
# ------------------------------------------------------------------------------------------


def wrap(array: Any, *sources: ndarray) -> Any:
    """NumPy's result as the stand-in's: scalars become 0-d arrays, also inside tuples and lists.

    A result in the memory of one of `sources` is a view of it.
    """
    if isinstance(array, (tuple, list)):
        items = [wrap(item, *sources) for item in array]
        return type(array)(items) if type(array) in (tuple, list) else tuple(items)
    if not isinstance(array, (np.ndarray, *SCALARS)):
        return array
    made = object.__new__(ndarray)
    made._array = np.asarray(array)
    made._base = None
    for source in sources:
        if array is source._array:
            made._base = source  # not to be counted below
            return source
        if isinstance(array, np.ndarray) and np.may_share_memory(array, source._array):
            made._base = source if source._base is None else source._base
            with suppress(ValueError):  # cupy has no read-only arrays
                made._array.flags.writeable = True
    if made._base is None:
        Usage.bytes += made._array.nbytes
    return made


def operand(value: Any) -> Any:
    """What NumPy may compute with: the inside of an array, or a scalar."""
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, SCALARS):
        return value
    raise TypeError(f"Unsupported type {type(value)}")


def prepare_index(index: Any, shape: tuple) -> tuple[tuple, bool]:
    """An index for NumPy, and whether it holds arrays. Integer arrays wrap around."""
    entries = list(index) if isinstance(index, tuple) else [index]
    arrays: dict[int, np.ndarray] = {}
    for i, entry in enumerate(entries):
        if isinstance(entry, ndarray):
            arrays[i] = entry._array
        elif isinstance(entry, (list, tuple, np.ndarray, bool, np.bool_)):
            found = np.array([x._array if isinstance(x, ndarray) else x for x in entry]
                             if isinstance(entry, (list, tuple)) else entry)  # fmt: skip
            arrays[i] = found if found.size else found.astype(np.int32)
        elif not (
            entry is None or entry is Ellipsis or isinstance(entry, (slice, int, np.integer))
        ):
            raise IndexError(f"only integers, slices, None, ... and arrays are indices: {entry!r}")
    axis, used = 0, 0
    for i, entry in enumerate(entries):
        used += 0 if entry is None or entry is Ellipsis else _axes(arrays.get(i))
    for i, entry in enumerate(entries):
        if entry is Ellipsis:
            axis += len(shape) - used
        elif entry is not None:
            array = arrays.get(i)
            if array is not None and array.dtype.kind not in "iub":
                raise IndexError(
                    "arrays used as indices must be of integer or boolean type. "
                    f"(actual: {array.dtype.type})"
                )
            if array is not None and array.dtype.kind != "b" and axis < len(shape) and shape[axis]:
                array = array % shape[axis]
            if array is not None:
                entries[i] = array
            axis += _axes(array)
    return tuple(entries), bool(arrays)


def _axes(array: np.ndarray | None) -> int:
    """How many dimensions an index entry stands for."""
    return array.ndim if array is not None and array.dtype.kind == "b" else 1


# ------------------------------------------------------------------------------------------
# The other methods: NumPy's of the same name, with cupy's parameters
# ------------------------------------------------------------------------------------------


def _method(name: str, parameters: str) -> Callable:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        check_call(f"ndarray.{name}", parameters, args, kwargs)
        out = kwargs.pop("out", None)
        given = {k: _argument(v) for k, v in kwargs.items() if not (k == "dtype" and v is None)}
        result = getattr(self._array, name)(*map(_argument, args), **given)
        if out is None:
            return wrap(result, self)
        out._array[...] = result
        return out

    method.__name__ = name
    return method


def _argument(value: Any) -> Any:
    """An argument of a method or function; NumPy arrays are refused, also inside lists."""
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if type(value) in (list, tuple):
        return type(value)(_argument(v) for v in value)
    return value


def _add_methods() -> None:
    for name, parameters in NAMES["ndarray"].items():
        if parameters is not None and name not in vars(ndarray) and hasattr(np.ndarray, name):
            setattr(ndarray, name, _method(name, parameters))


_add_methods()
