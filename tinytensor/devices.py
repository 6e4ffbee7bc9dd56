"""Devices: where a tensor lives, and copying arrays between devices.

This is the only file that imports cupy, and it does so only when a GPU is first used.
"""

from __future__ import annotations

import importlib
import re
import threading
from types import ModuleType
from typing import Any

import numpy as np

from . import backend
from .backend import Array, libraries, xp
from .errors import DeviceError

_gpu: ModuleType | None = None


class _Default(threading.local):
    """The device of new tensors in this thread, and those outside the `with` blocks it is in."""

    where: Any = None  # None: the CPU

    def __init__(self) -> None:
        self.outside: list = []


_default = _Default()


class device:
    """Where a tensor lives: `device("cpu")`, `device("cuda")`, `device("cuda", 1)`.

    `with device("cuda"):` makes it the default of new tensors in the block.
    """

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

    def __enter__(self) -> device:
        _default.outside.append(_default.where)
        _default.where = self
        return self

    def __exit__(self, *exc_info: object) -> None:
        _default.where = _default.outside.pop()


CPU = device("cpu")


def set_default_device(device: Any) -> None:
    """Put new tensors on this device, where none is given; None is the CPU. Per thread."""
    _default.where = None if device is None else _device(device)


def get_default_device() -> device:
    """The device of new tensors where none is given."""
    return CPU if _default.where is None else _default.where


_device = device  # the class, inside functions with an argument of that name


def device_of(array: Array) -> device:
    """The device an array lives on."""
    return CPU if xp(array) is np else device("cuda", array.device.id)


def module_for(where: device | str | int | None) -> Any:
    """The array library of a device: numpy or cupy; raises DeviceError if cupy does not work.

    None is the default device.
    """
    where = _default.where if where is None else where
    if where is None or device(where).type == "cpu":
        return np
    return gpu()


def to_device(array: Array, where: device | str | int) -> Array:
    """Copy `array` to a device; returns the array itself if it is already there."""
    if where is CPU and type(array) is np.ndarray:
        return array
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
        except ImportError as error:
            if error.name != "cupy":
                raise  # CuPy is there, and says itself what it lacks
            raise DeviceError(
                "cuda: CuPy is not installed; run `pip install cupy-cuda13x`, or install the cupy "
                "wheel for your CUDA version"
            ) from None
        except Exception as error:  # the driver's error types differ between versions
            _gpu = None
            raise DeviceError(
                f"cuda: CuPy is installed but found no usable GPU ({error}); use device='cpu'"
            ) from None
        if count == 0:
            _gpu = None
            raise DeviceError("cuda: CuPy is installed but found no GPU; use device='cpu'")
        register(_gpu)
    return _gpu


def gpu_count() -> int:
    """The number of GPUs; 0 without CuPy."""
    try:
        return int(gpu().cuda.runtime.getDeviceCount())
    except (DeviceError, ImportError):
        return 0


def wait_for_gpu() -> None:
    """Wait until the GPU has finished its work; returns at once if CuPy is not in use."""
    if _gpu is not None:
        _gpu.cuda.Stream.null.synchronize()


def register(module: ModuleType) -> None:
    """Make `module` (cupy, or a stand-in for it in tests) the library of `device("cuda")`."""
    global _gpu
    _gpu = module
    libraries[module.ndarray] = module


def unregister(module: ModuleType) -> None:
    """Undo `register`."""
    global _gpu
    _gpu = None
    libraries.pop(module.ndarray, None)


setattr(backend, "device", device)  # noqa: B010 - older pickles look for it there
