"""Which version of an op runs: its own, which explains it, or the faster one of a kernel."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ..backend import libraries
from .hold_signals import free, hold
from .loading import hold_before_logging, loading

ndarray = np.ndarray
FLOAT32 = np.dtype(np.float32)
CHOICES = ("auto", "numba", "numpy")

OpClass = TypeVar("OpClass", bound=type)


class Choice:
    """The setting, for the whole process."""

    name = "auto"  # numba if it is installed
    on: bool | None = None  # whether kernels run; None: find out at the first chance
    smallest: int | None = None  # in place of every op's own threshold, in tests


choice = Choice()


def set_kernels(name: str) -> None:
    """Choose the versions that large ops run in.

    "numpy": the ops' own. "numba": compiled kernels. "auto", the default: numba if it is installed.
    """
    if name not in CHOICES:
        raise ValueError(f"set_kernels: got {name!r}, expected one of {', '.join(CHOICES)}")
    if name == "numba" and not _installed():
        raise ImportError(
            "set_kernels: Numba, threadpoolctl and a NumPy with BLAS are needed for 'numba'; "
            "run `pip install tinytensor[fast]`"
        )
    choice.name, choice.on = name, None


def get_kernels() -> str:
    """What runs: "numba" or "numpy"."""
    return "numba" if kernels_on() else "numpy"


def kernels_on() -> bool:
    """Whether kernels run."""
    if choice.on is None:
        choice.on = choice.name != "numpy" and _installed()
    return choice.on


def _installed() -> bool:
    packages = "numba", "threadpoolctl"
    if any(importlib.util.find_spec(name) is None for name in packages):
        return False
    return importlib.import_module("tinytensor.kernels.find_blas").find_blas() is not None


def _from_environment() -> None:
    name = os.environ.get("TINYTENSOR_KERNELS")
    if name in CHOICES:
        choice.name = name
    elif name:
        raise ValueError(
            f"TINYTENSOR_KERNELS is {name!r}, expected one of {', '.join(CHOICES)}; unset it for "
            "numba if that is installed"
        )


_from_environment()


@contextmanager
def kernels_for_all_sizes(smallest: int = 1) -> Iterator[None]:
    """Let kernels run from this number of elements on, however little they gain: for tests."""
    before = choice.smallest
    choice.smallest = smallest
    try:
        yield
    finally:
        choice.smallest = before


def worth_it(array: Any, threshold: int) -> bool:
    """Whether a kernel is there for this array: float32, on a CPU, and large enough to gain."""
    if type(array) is not ndarray:
        return False
    smallest = threshold if choice.smallest is None else choice.smallest
    return array.size >= smallest and array.dtype is FLOAT32 and kernels_on()


def on_gpu(array: Any) -> bool:
    """Whether kernels/gpu may have a kernel for this array; "numpy" turns these off too."""
    there = type(array) in libraries and type(array) is not ndarray
    return there and array.dtype.kind == "f" and array.itemsize >= 4 and choice.name != "numpy"


def accelerated(
    module: str, threshold: int = 8192, directions: Sequence[str] = ("forward", "backward")
) -> Callable[[OpClass], OpClass]:
    """Mark an op that has a faster version in `tinytensor/kernels/<module>.py`.

    threshold: how many elements the first argument, or g, must have for it to pay; backward runs as
    a kernel also if forward did. A kernel that cannot take the arguments at hand returns
    NotImplemented, and the op's own version runs.
    """

    def mark(op: Any) -> Any:
        for direction in directions:
            own = op.__dict__.get(direction)
            if own is not None:
                setattr(op, direction, _routed(own, module, f"{op.name_}_{direction}", threshold))
        return op

    return mark


def _routed(own: Callable, module: str, name: str, threshold: int) -> Callable:
    """The method that runs the kernel where it pays, and `own` elsewhere."""
    fast: Any = None  # found at the first use, as importing Numba takes a while

    def method(self: Any, x: Any, *args: Any) -> Any:
        nonlocal fast
        if self.in_kernel and type(x) is np.float32:
            x = np.asarray(x)  # NumPy made a scalar of a gradient
        if worth_it(x, 1 if self.in_kernel else threshold):
            if fast is None:
                fast = load(module, name)
            out = fast(self, x, *args)
            if out is not NotImplemented:
                self.in_kernel = True
                return out
        elif type(x) is not ndarray and on_gpu(x):
            out = load_for_gpu(module, name)(self, x, *args)
            if out is not NotImplemented:
                return out
        return own(self, x, *args)

    method.__wrapped__ = own  # type: ignore[attr-defined]
    method.__doc__ = own.__doc__
    method.__qualname__ = own.__qualname__
    return method


@functools.cache
def load(module: str, name: str) -> Callable:
    """A function of a kernel's module, run within the thread pool; imports Numba the first time."""
    hold_before_logging()
    hold()
    try:
        with loading:
            from .pool import within_pool

            found = importlib.import_module(f"tinytensor.kernels.{module}")
            function = getattr(found, name, None)
    finally:
        free()
    return _not_there if function is None else within_pool(function)


@functools.cache
def load_for_gpu(module: str, name: str) -> Callable:
    """As `load`, of kernels/gpu."""
    if importlib.util.find_spec(f"tinytensor.kernels.gpu.{module}") is None:
        return _not_there
    return getattr(importlib.import_module(f"tinytensor.kernels.gpu.{module}"), name, _not_there)


def _not_there(*args: Any) -> Any:
    """Stands for the direction that a kernel leaves to the op itself."""
    return NotImplemented
