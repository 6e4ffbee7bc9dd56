"""How kernels are compiled: on first use, once, and kept on disk."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import event

# Sums may be reordered, so that they vectorise, and a·b + c may be one instruction; but NaN and
# infinity stay what they are (so no "arcp", whose estimate of 1/√∞ is NaN).
# For one number of threads the result is the same, run to run.
_RULES = {"contract", "reassoc", "nsz"}
_OPTIONS: dict[str, Any] = {
    "cache": True, "nogil": True, "fastmath": _RULES, "error_model": "numpy"
}  # fmt: skip


# Files whose functions are compiled into the kernels of others
_SHARED = ("blas.py", "compile.py", "small_product.py", "vector_math.py")


def _compile(function: Callable, **options: Any) -> Any:
    kernel = numba.njit(**_OPTIONS, **options)(function)
    kept = getattr(kernel._cache, "_cache_file", None)  # None where no folder can be written to
    if kept is not None:
        # Numba takes what is on disk for good as long as the kernel's own file is unchanged.
        shared = [Path(__file__).with_name(name) for name in _SHARED]
        states = [path.stat() for path in (Path(function.__code__.co_filename), *shared)]
        kept._source_stamp = tuple((state.st_mtime, state.st_size) for state in states)
    return kernel


_serial: set[Callable] = set()  # kernels that run in one thread


def part(function: Callable) -> Any:
    """Compile a function that kernels call."""
    return _compile(function)


def serial(function: Callable) -> Any:
    """Compile a kernel that runs in one thread."""
    _serial.add(function)
    return _compile(function)


def parallel(function: Callable) -> Any:
    """Compile a kernel whose `prange` loops are shared among the threads of the pool.

    It is compiled for the types and memory layouts that it is first called with.
    """
    return _compile(function, parallel=True)


def parallel_for(*types: Any) -> Callable:
    """As `parallel`, for these types of arguments, whatever the layout of the arrays at hand."""

    def compile(function: Callable) -> Any:
        kernel = parallel(function)

        @functools.wraps(function)
        def run(*args: Any) -> Any:
            if not kernel.signatures:
                kernel.compile(types)
                kernel.disable_compile()
            return kernel(*args)

        return run

    return compile


class _Notice(event.Listener):
    """Says that a kernel is being compiled: it takes a second or two, once."""

    def on_start(self, event: Any) -> None:
        kernel = event.data["dispatcher"]
        ours = kernel.py_func.__module__.startswith(__package__)
        whole = kernel.targetoptions.get("parallel") or kernel.py_func in _serial
        if ours and whole:
            name = kernel.py_func.__name__
            print(f"tinytensor: compiling the kernel {name}, once", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Notice())
