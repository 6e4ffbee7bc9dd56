"""A strict stand-in for cupy, on a machine without a GPU: `devices.register(fake_cupy)`.

It has only names that the real cupy exports, its functions take only the arguments that the real
ones take, and its arrays refuse what cupy's refuse. It computes with NumPy. What is not modelled
raises an AttributeError that says so.
"""

from __future__ import annotations

from typing import Any as _Any

from . import functions as _functions
from .devices import cuda as cuda
from .devices import get_default_memory_pool as get_default_memory_pool
from .functions import ufunc as ufunc
from .generator import random as random
from .names import NAMES as _NAMES
from .ndarray import ndarray as ndarray
from .raw_kernels import ElementwiseKernel as ElementwiseKernel
from .raw_kernels import ReductionKernel as ReductionKernel


def __getattr__(name: str) -> _Any:
    if name not in _NAMES["module"]:
        raise AttributeError(f"module 'cupy' has no attribute {name!r}")
    value = _functions.make(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_NAMES["module"])


del annotations
