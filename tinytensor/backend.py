"""Which array library runs: NumPy on a CPU, CuPy on a GPU, chosen by the type of the array at hand.

`xp(array)` is the one accessor that every op goes through. This is the only file that imports
cupy, and it does so only when a GPU is asked for.
"""

from __future__ import annotations

import contextvars
import importlib
import re
from types import ModuleType
from typing import Any

import numpy as np

from .errors import DeviceError

Array = Any  # numpy.ndarray or cupy.ndarray

_modules: dict[type, ModuleType] = {np.ndarray: np}
_gpu: ModuleType | None = None


def xp(array: Array) -> Any:
    """The array library that `array` belongs to; NumPy for Python and NumPy scalars."""
    return _modules.get(type(array), np)


def is_array(value: object) -> bool:
    """Whether `value` is a raw array of a library in use."""
    return type(value) in _modules or isinstance(value, np.ndarray)


def is_writable(array: Array) -> bool:
    """Whether it can be written to, and each element has memory of its own."""
    layout = zip(array.strides, array.shape, strict=True)
    if array.size and 0 in array.strides and any(s == 0 and n > 1 for s, n in layout):
        return False
    return getattr(array.flags, "writeable", True)  # CuPy has no such flag


# ------------------------------------------------------------------------------------------
# Devices
# ------------------------------------------------------------------------------------------


class device:
    """Where a tensor lives: `device("cpu")`, `device("cuda")`, `device("cuda", 1)`."""

    __slots__ = ("type", "index")

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None):
        if not isinstance(type, (str, int, device)):
            raise TypeError(f"device: got {type!r}, expected 'cpu', 'cuda' or 'cuda:N'")
        text = f"cuda:{type}" if isinstance(type, int) else str(type)
        match = re.fullmatch(r"(cpu|cuda)(?::(\d+))?", text)
        if match is None:
            raise DeviceError(f"device: got {type!r}, expected 'cpu', 'cuda' or 'cuda:N'")
        if match[2] and index is not None:
            raise DeviceError(f"device: got {type!r} and index={index}, expected one index")
        self.type = match[1]
        self.index = int(match[2]) if match[2] else index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            known = other == self.type or other.startswith(f"{self.type}:")
            other = device(other) if known else None
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and (self.index or 0) == (other.index or 0)

    def __hash__(self) -> int:
        return hash((self.type, self.index or 0))


CPU = device("cpu")


def device_of(array: Array) -> device:
    """The device an array lives on."""
    return CPU if xp(array) is np else device("cuda", array.device.id)


def module_for(where: device | str | int | None) -> Any:
    """The array library of a device: numpy, or cupy once it has been found to work."""
    if where is None or device(where).type == "cpu":
        return np
    return gpu()


def to_device(array: Array, where: device | str | int) -> Array:
    """Copy `array` to a device; the array itself when it is there already."""
    where = device(where)
    if where.type == "cpu":
        return array if isinstance(array, np.ndarray) else gpu().asnumpy(array)
    cp = gpu()
    with cp.cuda.Device(where.index or 0):
        return cp.asarray(array)


def gpu() -> Any:
    """The cupy module, or a DeviceError that says what to install."""
    global _gpu
    if _gpu is None:
        try:
            _gpu = importlib.import_module("cupy")
            count = _gpu.cuda.runtime.getDeviceCount()
        except ImportError:
            raise DeviceError(
                "cuda: CuPy is not installed; run `pip install tinytensor[gpu]` "
                "(cupy-cuda13x) or the cupy wheel that fits your CUDA version"
            ) from None
        except Exception as error:  # the driver's own error types differ between versions
            _gpu = None
            raise DeviceError(
                f"cuda: CuPy is installed but found no usable GPU ({error}); use device='cpu'"
            ) from None
        if count == 0:
            _gpu = None
            raise DeviceError("cuda: CuPy is installed but found no GPU; use device='cpu'")
        register(_gpu)
    return _gpu


def wait_for_gpu() -> None:
    """Wait until the GPU has finished its work; returns at once if CuPy is not in use."""
    if _gpu is not None:
        _gpu.cuda.Stream.null.synchronize()


def register(module: ModuleType) -> None:
    """Make `module` (cupy, or a stand-in for it in tests) the library of `device("cuda")`."""
    global _gpu
    _gpu = module
    _modules[module.ndarray] = module


def unregister(module: ModuleType) -> None:
    """Undo `register`."""
    global _gpu
    _gpu = None
    _modules.pop(module.ndarray, None)


# ------------------------------------------------------------------------------------------
# NumPy's floating point warnings
# ------------------------------------------------------------------------------------------


def sum_over(x: Any, axes: tuple | None, keepdims: bool = False) -> Any:
    """Σ x over some axes, None for all, of an array or tensor.

    NumPy adds up pairs, then pairs of these, in its innermost loop only; around it one number
    after the other, which in float32 costs digits. There it is to add up in float64.
    """
    if type(x) is np.ndarray and x.dtype == np.float32 and not _in_one_loop(x, axes):
        return x.sum(axis=axes, keepdims=keepdims, dtype=np.float64).astype(np.float32)
    return x.sum(axis=axes, keepdims=keepdims)


def _in_one_loop(x: np.ndarray, axes: tuple | None) -> bool:
    """Whether the axes are one line in memory, and the nearest to each other."""
    if axes is None:
        return x.flags.forc
    if x.flags.c_contiguous and axes == tuple(range(x.ndim - len(axes), x.ndim)):
        return True
    if len(axes) != 1:
        return False
    stride = abs(x.strides[axes[0]])
    others = [abs(s) for i, s in enumerate(x.strides) if x.shape[i] > 1 and i != axes[0] % x.ndim]
    return 0 < stride <= min(others, default=stride)


def _error_setting() -> tuple[contextvars.ContextVar, Any]:
    """NumPy's context variable for floating point errors, and its value for "ignore"."""
    before = dict(contextvars.copy_context())
    with np.errstate(all="ignore"):
        for variable, value in contextvars.copy_context().items():
            if before.get(variable) is not value:
                return variable, value
    raise RuntimeError("tinytensor: this NumPy keeps its error state elsewhere; NumPy 2 is needed")


# log(0) is -inf and 0/0 is NaN without a warning, as in PyTorch. `with np.errstate` costs 1.1 µs;
# setting its context variable (found above by what np.errstate changes) costs 0.1 µs.
error_state, QUIET = _error_setting()
_usual = error_state.get()


def warn_again() -> None:
    """NumPy's usual warnings, where it is not known which ones were on before QUIET."""
    if error_state.get() is QUIET:
        error_state.set(_usual)
