"""torch.accelerator: the GPU, if CuPy finds one, under names that do not depend on its maker."""

from __future__ import annotations

from typing import Any

from .. import cuda
from ..devices import device


def is_available() -> bool:
    """Whether there is an accelerator: a GPU that CuPy finds."""
    return cuda.is_available()


def device_count() -> int:
    """The number of accelerators; 0 without one."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """device("cuda") if there is a GPU, else None."""
    return device("cuda") if cuda.is_available() else None


def current_device_index() -> int:
    """The index of the GPU that new arrays are put on."""
    _require("current_device_index")
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Put new arrays on this GPU from now on."""
    _require("set_device_index")
    cuda.set_device(device)


def synchronize(device: Any = None, /) -> None:
    """Wait until the GPU has finished all its work."""
    _require("synchronize")
    cuda.synchronize(device)


def empty_cache() -> None:
    """Return memory that CuPy holds but does not use to the driver; no effect without a GPU."""
    cuda.empty_cache()


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes in use by arrays on the GPU; 0 without one."""
    return cuda.memory_allocated(device_index)


def _require(name: str) -> None:
    if not cuda.is_available():
        raise RuntimeError(f"accelerator.{name}: there is no GPU; ask accelerator.is_available()")


__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "empty_cache",
    "is_available",
    "memory_allocated",
    "set_device_index",
    "synchronize",
]
