"""How kernels are compiled: on first use, once, and kept on disk."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

# Sums may be reordered, so that they vectorise, and a·b + c may be one instruction; but NaN and
# infinity stay what they are (so no "arcp", whose estimate of 1/√∞ is NaN).
# For one number of threads the result is the same, run to run.
_RULES = {"contract", "reassoc", "nsz"}
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": _RULES, "error_model": "numpy"}

# Only loops over `prange` are shared out: looking for others takes half of a compilation.
_OTHERS = "comprehension", "fusion", "inplace_binop", "numpy", "reduction", "setitem", "stencil"
_PARALLEL = {"prange": True, **dict.fromkeys(_OTHERS, False)}

# Files whose functions are compiled into the kernels of others
_SHARED = ("blas.py", "compile.py", "small_product.py", "vector_math.py")


class _KernelCache(FunctionCache):
    """Numba's cache on disk, made to load faster, and to look at more than the kernel's file."""

    def __init__(self, kernel: Callable) -> None:
        super().__init__(kernel)
        shared = [Path(__file__).with_name(name) for name in _SHARED]
        states = [path.stat() for path in (Path(kernel.__code__.co_filename), *shared)]
        self._cache_file._source_stamp = tuple((s.st_mtime, s.st_size) for s in states)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled kernel, or None.

        Numba would first import all that it may need to compile something, a third of a warm start.
        """
        rtsys.initialize(context)  # memory for arrays that a kernel makes
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, context)


def _compile(kernel: Callable, **options: Any) -> Any:
    compiled = numba.njit(**_OPTIONS, **options)(kernel)
    with suppress(RuntimeError):  # no folder can be written to: compiled anew in each process
        compiled._cache = _KernelCache(kernel)
    return compiled


_serial: set[Callable] = set()  # kernels that run in one thread


def part(function: Callable) -> Any:
    """Compile a function that kernels call, into each of them."""
    return numba.njit(**_OPTIONS)(function)


def serial(function: Callable) -> Any:
    """Compile a kernel that runs in one thread."""
    _serial.add(function)
    return _compile(function)


def parallel(function: Callable) -> Any:
    """Compile a kernel whose `prange` loops are shared among the threads of the pool.

    It is compiled for the types and memory layouts that it is first called with.
    """
    return _compile(function, parallel=_PARALLEL)


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
