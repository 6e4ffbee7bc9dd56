"""Identifies a compiled kernel by its code, its sources, package versions and the processor.

A kernel is identified by contents, never by the age or path of a file. Its code is read from
memory, with the values of its constants and all functions that are compiled into it. The contents
of the source files cover what cannot be reached from there.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba import types
from numba.core import config, sigutils

# Settings of Numba that change the machine code or the symbols that it calls.
_SETTINGS = (
    "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USING_SVML",
)  # fmt: skip
_KNOWN = ("numba", "numpy", "llvmlite")  # packages identified by their version
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype)


def digest(*texts: Any) -> bytes:
    """Return 32 bytes that identify these texts, in this order."""
    return hashlib.blake2b(repr(texts).encode(), digest_size=32).digest()


@functools.cache
def environment(codegen: Any) -> bytes:
    """Digest of versions, settings, and the processors that code is compiled for and runs on.

    The two differ with NUMBA_CPU_NAME=generic; tile sizes depend on the second.
    """
    packages = numba.__version__, llvmlite.__version__, np.__version__
    python = sys.implementation.name, sys.version, getattr(sys, "abiflags", "")
    host = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    settings = [getattr(config, name, None) for name in _SETTINGS]
    return digest(packages, python, host, codegen.magic_tuple(), settings)


def types_of(signature: Any) -> str:
    """Return the types that a kernel is compiled for, from any form in which Numba has them.

    With a result type, it is a function that kernels call.
    """
    return str(sigutils.normalize_signature(signature))


def sources(file: str) -> bytes:
    """Digest of the contents of a kernel's file, of all kernels and of their machinery."""
    return digest(_contents_of(Path(file)), _all_kernels())


@functools.cache
def _all_kernels() -> bytes:
    machinery = Path(__file__).parent
    files = [*machinery.parent.glob("*.py"), *machinery.glob("*.py")]
    return digest(*map(_contents_of, sorted(files)))


@functools.cache
def _contents_of(file: Path) -> bytes:
    return hashlib.blake2b(file.read_bytes(), digest_size=32).digest()


def code(kernel: Callable) -> bytes:
    """Digest of a kernel's bytecode and constants, and of all functions that it calls."""
    waiting, seen, texts = [kernel], {kernel}, []
    while waiting:
        text, called = _look_into(waiting.pop())
        texts.append(text)
        for function in called:
            if function not in seen:
                seen.add(function)
                waiting.append(function)
    return digest(*texts)


@functools.cache
def _look_into(function: Any) -> tuple[bytes, tuple]:
    """Return the digest of a function without its callees, and the callees."""
    called: list[Any] = []
    names: set[str] = set()
    texts: list[Any] = [function.__module__, function.__qualname__]
    for part in _nested(function.__code__):
        names.update(part.co_names)
        texts += [part.co_code, part.co_names, part.co_varnames, part.co_freevars]
        texts += [_describe(x, called) for x in part.co_consts if not isinstance(x, CodeType)]
    scope = function.__globals__
    texts += [(name, _describe(scope[name], called)) for name in sorted(names & scope.keys())]
    values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    texts += [_describe(value, called) for value in values]
    return digest(*texts), tuple(called)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _describe(value: Any, called: list) -> Any:
    """Describe a constant or a global, the same in each process; add functions to `called`."""
    if isinstance(value, ModuleType):
        return value.__name__
    function = getattr(value, "py_func", None) or getattr(value, "_defn", value)
    match function:  # a part or kernel, an intrinsic, or the value itself
        case FunctionType():
            if function.__module__.partition(".")[0] not in _KNOWN:
                called.append(function)
            return f"{function.__module__}.{function.__qualname__}"
        case tuple() | list():
            return [_describe(x, called) for x in value]
        case frozenset() | set():
            return sorted(str(_describe(x, called)) for x in value)
        case np.ndarray():
            return str(value.dtype), value.shape, value.tobytes()
        case types.ExternalFunction():
            return str(value.key)  # its name and argument types
        case types.Type():
            return str(value)
        case type():
            return f"{value.__module__}.{value.__qualname__}"
        case _ if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
    return f"a {type(value).__module__}.{type(value).__qualname__}"  # its repr may hold an address
