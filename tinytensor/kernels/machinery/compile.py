"""How kernels are compiled: on first use, once, and kept on disk."""

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

# Sums may be reordered, so that they vectorise, and a·b + c may be one instruction; but NaN and
# infinity stay what they are (so no "arcp", whose estimate of 1/√∞ is NaN).
# For one number of threads the result is the same, run to run.
_RULES = {"contract", "reassoc", "nsz"}
_IN_ORDER = _RULES - {"reassoc"}
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": _RULES,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # C does not call it
}
_INLINED = {"nopython": True, "forceinline": True, "no_cpython_wrapper": True}


_kernels: set[Callable] = set()  # what is called from Python, and so is kept on disk


def _compile(kernel: Callable) -> Any:
    _kernels.add(kernel)
    compiled = numba.njit(**_OPTIONS)(kernel)
    compiled._cache = KernelCache(kernel)
    return compiled


_CFunc: Any = CFunc  # whose inner names have no types


class _ForKernels(_CFunc):
    """A function that is compiled once, and that kernels call as they would one in C."""

    def _compile_uncached(self) -> Any:
        _say_compiling(self._pyfunc)
        return super()._compile_uncached()


_for_kernels: list[_ForKernels] = []  # as long as these are there, so is their code


def compile_for_kernels(function: Callable, name: str, *arguments: Any) -> Any:
    """Compile a function for these types of arguments; gives what kernels call it by.

    A part is compiled into each kernel that calls it; this is for what is too large for that, and
    as its code is there once, it cannot come out with another rounding. Arrays are addresses in it.
    """
    as_words = tuple(types.intp if kind == types.voidptr else kind for kind in arguments)
    options = {key: _OPTIONS[key] for key in ("fastmath", "error_model")}
    compiled = _ForKernels(function, (as_words, types.void), {}, options)
    compiled._cache = KernelCache(function)
    compiled.compile()
    _for_kernels.append(compiled)
    llvm.add_symbol(name, compiled.address)  # also kernels that are kept on disk find it by that
    return types.ExternalFunction(name, types.void(*arguments))


class _Part(CPUDispatcher):
    """A function for kernels alone: that which lets Python call it takes a sixth of compiling."""

    def __call__(self, *args: Any) -> Any:
        name = self.py_func.__name__
        raise TypeError(f"{name}: called from Python, expected a kernel; wrap it in one by @serial")


def part(function: Callable) -> Any:
    """Compile a function that kernels call, into each of them.

    It is always inlined: as a function of its own it may come out with another rounding, and which
    of the two a kernel calls would depend on whether it was loaded from disk.
    """
    return _Part(function, targetoptions={**_OPTIONS, **_INLINED})


def ordered_part(function: Callable) -> Any:
    """As `part`, for a function without sums over a loop: its steps stay in the order written.

    Elsewhere of x − top − log LLVM may make x − (top + log), in which a large top swallows the
    logarithm, and of x·scale·weight (x·weight)·scale, which may overflow on the way.
    """
    return _Part(function, targetoptions={**_OPTIONS, **_INLINED, "fastmath": _IN_ORDER})


def serial(function: Callable) -> Any:
    """Compile a kernel that runs in one thread."""
    return _compile(function)


def parallel(function: Callable) -> Any:
    """Compile a kernel whose work is shared out among the threads of the pool.

    It is written for a part of the work: `function(start, stop, …)` does the rows, or whatever they
    are, from start to stop. It is called for all of it: `kernel(count, …)` does those of 0 … count.
    It is compiled for the types and memory layouts that it is first called with.
    """
    return _run_by(functools.cache(lambda: _compile(_for_all_parts(function))), function)


def parallel_for(*types: Any) -> Callable:
    """As `parallel`, for these types of arguments, whatever the layout of the arrays at hand."""

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
    """What stands for `function`: runs the kernel, which is made when it is first asked for."""

    @functools.wraps(function)
    def run(count: int, *args: Any) -> None:
        kernel()(count, get_num_threads(), NumbaPool.address, *args)

    return run


def _for_all_parts(function: Callable) -> Callable:
    """(count, parts, pool, …) → `function`(start, stop, …) for each part.

    Its arguments are spelled out, as calls of a compiled function with `*args` take longer.
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
    """Says that a kernel is being compiled: it takes a second or two, once. Ctrl-C waits for it."""

    def on_start(self, event: Any) -> None:
        hold()
        kernel = event.data["dispatcher"].py_func
        if kernel in _kernels:
            _say_compiling(kernel)

    def on_end(self, event: Any) -> None:
        free()


event.register("numba:compile", _Notice())
