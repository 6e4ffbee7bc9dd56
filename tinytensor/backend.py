"""Choose the array library by the type of an array: NumPy on a CPU, CuPy on a GPU.

Every op calls `xp(array)`. devices.py adds CuPy when a GPU is first used.
"""

from __future__ import annotations

import contextvars
from types import ModuleType
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray or cupy.ndarray

libraries: dict[type, ModuleType] = {np.ndarray: np}  # {type of array: its library}


def xp(array: Array) -> Any:
    """The array library that `array` belongs to; NumPy for Python and NumPy scalars."""
    return libraries.get(type(array), np)


def is_array(value: object) -> bool:
    """Whether `value` is a raw array of a library in use."""
    return type(value) in libraries or isinstance(value, np.ndarray)


def is_writable(array: Array) -> bool:
    """Whether `array` is writable and not expanded (an expanded array repeats elements)."""
    layout = zip(array.strides, array.shape, strict=True)
    expanded = 0 in array.strides and array.size and any(n > 1 and not s for s, n in layout)
    return not expanded and getattr(array.flags, "writeable", True)  # CuPy has no such flag


def sum_over(x: Any, axes: tuple | None, keepdims: bool = False) -> Any:
    """Sum x, an array or tensor, over `axes`; None for all.

    NumPy sums pairwise only in its innermost loop. Outside it, it adds one number at a time, which
    loses precision in float32, so longer sums accumulate in float64; 16-bit ones always.
    """
    if type(x) is np.ndarray and x.dtype.char in "feE" and not _in_one_loop(x, axes):
        return x.sum(axis=axes, keepdims=keepdims, dtype=np.float64).astype(x.dtype)
    return x.sum(axis=axes, keepdims=keepdims)


def _in_one_loop(x: np.ndarray, axes: tuple | None) -> bool:
    """Whether NumPy sums over `axes` in its innermost loop: they have the smallest strides."""
    if axes is None or x.itemsize == 2:
        return x.flags.forc and x.itemsize > 2  # 16-bit numbers are never summed as they are
    n = len(axes)
    if n == 1 and x.shape[axes[0]] <= 32:  # pairwise sums, too, add so few one by one
        return True
    if x.flags.c_contiguous and axes in (tuple(range(x.ndim - n, x.ndim)), tuple(range(-n, 0))):
        return True
    if n != 1:
        return False
    stride = abs(x.strides[axes[0]])
    others = [abs(s) for i, s in enumerate(x.strides) if x.shape[i] > 1 and i != axes[0] % x.ndim]
    return 0 < stride <= min(others, default=stride)


# ------------------------------------------------------------------------------------------
# NumPy's floating point warnings
# ------------------------------------------------------------------------------------------


def _error_setting() -> tuple[contextvars.ContextVar, Any]:
    """NumPy's context variable for floating point errors, and its value for "ignore"."""
    before = dict(contextvars.copy_context())
    with np.errstate(all="ignore"):
        for variable, value in contextvars.copy_context().items():
            if before.get(variable) is not value:
                return variable, value
    raise RuntimeError("tinytensor: cannot find NumPy's error state; NumPy 2 is required")


# log(0) is -inf and 0/0 is NaN without a warning, as in PyTorch. `with np.errstate` costs 1.1 µs;
# setting the context variable that it changes (found above) costs 0.1 µs.
error_state, QUIET = _error_setting()
_usual = error_state.get()


def warn_again() -> None:
    """Restore the error state found at import, if the one before QUIET is unknown."""
    if error_state.get() is QUIET:
        error_state.set(_usual)
