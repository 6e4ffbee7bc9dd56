"""Decides which version of an op runs: its own, which explains it, or a faster kernel."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ...backend import Array, libraries
from .hold_signals import free, hold
from .loading import hold_before_logging, loading

ndarray = np.ndarray
FLOAT32 = np.dtype(np.float32)
CHOICES = ("auto", "numba", "numpy")
ENOUGH = 8192  # elements from which a kernel usually pays
# Multiplications from which BLAS uses threads of its own, which compete with those of kernels
BLAS_THREADS = 2**18

OpClass = TypeVar("OpClass", bound=type)


class Choice:
    """The setting, for the whole process."""

    name = "auto"  # numba if it is installed
    on: bool | None = None  # True if kernels run; None until it is first needed
    smallest: int | None = None  # replaces the threshold of every op, in tests


choice = Choice()


def set_kernels(name: str) -> None:
    """Choose the version in which large ops run.

    "numpy": the ops' own. "numba": compiled kernels. "auto", the default: numba if it is installed.
    """
    if name not in CHOICES:
        raise ValueError(f"set_kernels: got {name!r}, expected one of {', '.join(CHOICES)}")
    if name == "numba" and not _installed():
        raise ImportError(
            "set_kernels: Numba, threadpoolctl and a NumPy with BLAS are needed for 'numba'; "
            "run `pip install numba threadpoolctl`"
        )
    choice.name, choice.on = name, None


def get_kernels() -> str:
    """Return the version that runs: "numba" or "numpy"."""
    return "numba" if kernels_on() else "numpy"


def kernels_on() -> bool:
    """True if kernels run."""
    if choice.on is None:
        choice.on = choice.name != "numpy" and _installed()
    return choice.on


def _installed() -> bool:
    packages = "numba", "threadpoolctl"
    if any(importlib.util.find_spec(name) is None for name in packages):
        return False
    return importlib.import_module("tinytensor.kernels.machinery.find_blas").find_blas() is not None


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
    """Run kernels from this number of elements on, for tests."""
    before = choice.smallest
    choice.smallest = smallest
    try:
        yield
    finally:
        choice.smallest = before


def worth_it(array: Any, threshold: int, work: int | None = None) -> bool:
    """True if a kernel pays for this array: float32, on a CPU, of at least `threshold` elements.

    work: a number to compare with the threshold instead of that of elements.
    """
    if type(array) is not ndarray:
        return False
    smallest = threshold if choice.smallest is None else choice.smallest
    size = array.size if work is None else work
    return size >= smallest and array.dtype is FLOAT32 and kernels_on()


def on_gpu(array: Any) -> bool:
    """True if kernels/gpu may have a kernel for this array; "numpy" turns these off too."""
    there = type(array) in libraries and type(array) is not ndarray
    return there and array.dtype.kind == "f" and array.itemsize >= 4 and choice.name != "numpy"


# ------------------------------------------------------------------------------------------
# Kernels of ops
# ------------------------------------------------------------------------------------------


def accelerated(
    module: str,
    threshold: int = ENOUGH,
    directions: Sequence[str] = ("forward", "backward"),
    product: Callable[..., int] | None = None,
) -> Callable[[OpClass], OpClass]:
    """Mark an op that has a faster version in `tinytensor/kernels/<module>.py`.

    threshold: the number of elements of the first argument, or of g, from which it pays. If forward
    ran as a kernel, so does backward. A kernel that does not support its arguments returns
    NotImplemented; then the op's own version runs.

    product: the number of multiplications, from the arguments of forward, for a matrix product.
    It decides about forward instead of the number of elements.
    """

    def mark(op: Any) -> Any:
        for direction in directions:
            own, name = op.__dict__.get(direction), f"{op.op_name}_{direction}"
            if own is not None and direction == "forward" and product is not None:
                setattr(op, direction, _routed(own, module, name, BLAS_THREADS, product))
            elif own is not None:
                setattr(op, direction, _routed(own, module, name, threshold))
        return op

    return mark


def _routed(
    own: Callable, module: str, name: str, threshold: int, product: Callable | None = None
) -> Callable:
    """Return a method that runs the kernel where it pays, and `own` elsewhere."""
    fast: Any = None  # loaded at the first use, as importing Numba takes a while

    def method(self: Any, x: Any, *args: Any) -> Any:
        nonlocal fast
        if self.in_kernel and type(x) is np.float32:
            x = np.asarray(x)  # NumPy turned a gradient into a scalar
        work = None if product is None else product(x, *args)
        if worth_it(x, 1 if self.in_kernel else threshold, work):
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


# ------------------------------------------------------------------------------------------
# Kernels outside of ops: Adam, gradient clipping, decoding
# ------------------------------------------------------------------------------------------


def fast_version(
    module: str, name: str, arrays: Sequence[Array], written: bool = True
) -> Callable | None:
    """Return the function `name` of `tinytensor/kernels/<module>.py`, or None if it would not pay.

    It pays if all arrays fit (see `fits_kernel`) and have, together, enough elements:

        kernel = fast_version("clip_grad", "total_norm", arrays)
        total = kernel(arrays) if kernel else …
    """
    smallest = ENOUGH if choice.smallest is None else choice.smallest
    if sum(x.size for x in arrays) < smallest or not kernels_on():
        return None
    return load(module, name) if fits_kernel(*arrays, written=written) else None


def fast_version_on_gpu(module: str, name: str, array: Array) -> Callable | None:
    """Return the function `name` of `tinytensor/kernels/gpu/<module>.py`; None for other arrays."""
    return load_for_gpu(module, name) if on_gpu(array) else None


def fits_kernel(*arrays: Any, written: bool = True) -> bool:
    """True if all are contiguous float32 NumPy arrays, and writable if a kernel writes to them."""
    return all(
        type(x) is ndarray
        and x.dtype is FLOAT32
        and x.flags.c_contiguous
        and (x.flags.writeable or not written)
        for x in arrays
    )


# ------------------------------------------------------------------------------------------
# Loading
# ------------------------------------------------------------------------------------------


@functools.cache
def load(module: str, name: str) -> Callable:
    """Return a function of a kernel's module that runs within the thread pool.

    The first call imports Numba.
    """
    hold_before_logging()
    hold()
    try:
        with loading:
            from .thread_pool import within_pool

            found = importlib.import_module(f"tinytensor.kernels.{module}")
            function = getattr(found, name, None)
    finally:
        free()
    return _not_there if function is None else within_pool(function)


@functools.cache
def load_for_gpu(module: str, name: str) -> Callable:
    """Return a function of a module of kernels/gpu."""
    if importlib.util.find_spec(f"tinytensor.kernels.gpu.{module}") is None:
        return _not_there
    return getattr(importlib.import_module(f"tinytensor.kernels.gpu.{module}"), name, _not_there)


def _not_there(*args: Any) -> Any:
    """Placeholder for a direction that has no kernel."""
    return NotImplemented
