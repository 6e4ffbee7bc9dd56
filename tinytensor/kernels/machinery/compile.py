"""Compiles kernels: on first use, once, with a cache on disk."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import event
from numba.core.ccallback import CFunc
from numba.core.registry import CPUDispatcher

from .cache import KernelCache, say
from .hold_signals import free, hold
from .numba_pool import NumbaPool
from .share_out import share_out
from .threads import get_num_threads

# Sums may be reordered, so that they vectorise, and a·b + c may be one instruction. NaN and
# infinity are preserved (hence no "arcp", whose estimate of 1/√∞ is NaN).
# For a given number of threads, results are the same in every run.
_RULES = {"contract", "reassoc", "nsz"}
_IN_ORDER = _RULES - {"reassoc"}
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": _RULES,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # C code does not call it
}
_INLINED = {"nopython": True, "forceinline": True, "no_cpython_wrapper": True}


_kernels: set[Callable] = set()  # functions called from Python, which are cached on disk


def _compile(kernel: Callable) -> Any:
    _kernels.add(kernel)
    compiled = numba.njit(**_OPTIONS)(kernel)
    compiled._cache = KernelCache(kernel)
    return compiled


_CFunc: Any = CFunc  # its internals have no types


class _ForKernels(_CFunc):
    """A function that is compiled once and called by kernels like a C function."""

    def _compile_uncached(self) -> Any:
        _say_compiling(self._pyfunc)
        return super()._compile_uncached()


_for_kernels: list[_ForKernels] = []  # keeps their machine code alive


def compile_for_kernels(function: Callable, name: str, *arguments: Any) -> Any:
    """Compile a function for these argument types; returns the object by which kernels call it.

    A `part` is compiled into each kernel that calls it. This is for functions too large for that.
    The code exists once, so it rounds the same way everywhere. It takes arrays as addresses.
    """
    as_words = tuple(types.intp if kind == types.voidptr else kind for kind in arguments)
    options = {key: _OPTIONS[key] for key in ("fastmath", "error_model")}
    compiled = _ForKernels(function, (as_words, types.void), {}, options)
    compiled._cache = KernelCache(function)
    compiled.compile()
    _for_kernels.append(compiled)
    llvm.add_symbol(name, compiled.address)  # kernels loaded from disk find it by this name, too
    return types.ExternalFunction(name, types.void(*arguments))


class _Part(CPUDispatcher):
    """A function that only kernels call: a wrapper for Python would cost a sixth of compiling."""

    def __call__(self, *args: Any) -> Any:
        name = self.py_func.__name__
        raise TypeError(f"{name}: called from Python, expected a kernel; wrap it in one by @serial")


def part(function: Callable) -> Any:
    """Compile a function into each kernel that calls it.

    It is always inlined. A separate function could round differently, and whether a kernel inlines
    or calls it would depend on whether the kernel was loaded from disk.
    """
    return _Part(function, targetoptions={**_OPTIONS, **_INLINED})


def ordered_part(function: Callable) -> Any:
    """As `part`, but operations stay in the order written; for functions without sums over a loop.

    Elsewhere LLVM may turn x − top − log into x − (top + log), where a large top absorbs the
    logarithm, and x·scale·weight into (x·weight)·scale, which may overflow on the way.
    """
    return _Part(function, targetoptions={**_OPTIONS, **_INLINED, "fastmath": _IN_ORDER})


def serial(function: Callable) -> Any:
    """Compile a kernel that runs in one thread."""
    return _compile(function)


def parallel(function: Callable) -> Any:
    """Compile a kernel whose work is divided among the threads of the pool.

    The function is written for a part of the work: `function(start, stop, …)` handles the rows, or
    other items, from start to stop. It is called for all of it: `kernel(count, …)` handles items
    0 … count. It is compiled for the types and memory layouts of its first call.
    """
    return _run_by(functools.cache(lambda: _compile(_for_all_parts(function))), function)


def parallel_for(*types: Any) -> Callable:
    """As `parallel`, compiled for these argument types, whatever the layout of the arrays."""

    def compile(function: Callable) -> Any:
        @functools.cache
        def kernel() -> Any:
            compiled = _compile(_for_all_parts(function))
            compiled.compile((numba.intp, numba.intp, numba.intp, *types))
            compiled.disable_compile()
            return compiled

        return _run_by(kernel, function)

    return compile


def _run_by(kernel: Callable, function: Callable) -> Callable:
    """Return a function that runs the kernel, which is compiled at its first use."""

    @functools.wraps(function)
    def run(count: int, *args: Any) -> None:
        kernel()(count, get_num_threads(), NumbaPool.address, *args)

    return run


def _for_all_parts(function: Callable) -> Callable:
    """Return a function (count, parts, pool, …) that calls `function(start, stop, …)` per part.

    Its arguments are spelled out, as calling a compiled function with `*args` takes longer.
    """
    name, (_, _, *rest) = function.__name__, inspect.signature(function).parameters
    names = ", ".join(rest)
    start = f"def {name}(_count, _parts, _pool, {names}):"
    source = f"{start} share_out(body, _count, _parts, _pool, ({names},))"
    scope = {"__name__": function.__module__, "body": part(function), "share_out": share_out}
    exec(builtins.compile(source, function.__code__.co_filename, "exec"), scope)
    kernel = scope[name]
    kernel.__qualname__ = function.__qualname__
    return kernel


def _say_compiling(kernel: Callable) -> None:
    say(f"compiling the kernel {kernel.__name__}, once")


class _Notice(event.Listener):
    """Reports a compilation, which takes a second or two, once. Ctrl-C waits for its end."""

    def on_start(self, event: Any) -> None:
        hold()
        kernel = event.data["dispatcher"].py_func
        if kernel in _kernels:
            _say_compiling(kernel)

    def on_end(self, event: Any) -> None:
        free()


event.register("numba:compile", _Notice())
