"""cupy's functions: NumPy's of the same name, with cupy's parameters and refusals."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .names import NAMES, check_call, signature
from .ndarray import _argument, check_kind, ndarray, operand, wrap
from .operators import add_at, call_ufunc, matmul

# Functions that make arrays out of anything, NumPy arrays included: conversion is asked for.
CONVERTERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
# Functions whose results are numbers, shapes and dtypes on the host, in cupy too.
HOST = ("may_share_memory", "shares_memory", "ndim", "size", "shape", "result_type", "can_cast",
        "min_scalar_type", "common_type", "isscalar", "iscomplexobj", "isrealobj")  # fmt: skip
# First parameters that must be an array of cupy's: lists, which NumPy takes, are refused.
ARRAY_PARAMETERS = ("a", "x", "m", "v", "arr", "ary", "array", "condition", "x1", "keys")
LISTS_TOO = ("broadcast_arrays", "array_split", "full_like", "bincount", *HOST)


class ufunc:
    """A universal function of cupy's; the real one supports `at`, `reduce` … for a few only."""

    SCATTER = ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")

    def __init__(self, name: str, nin: int, nout: int):
        self._name, self.nin, self.nout, self.nargs = name, nin, nout, nin + nout
        self._numpy = getattr(np, name)

    @property
    def name(self) -> str:
        return f"cupy_{self._name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        wrong = {k: v for k, v in kwargs.items() if k not in ("out", "dtype", "casting")}
        if wrong:
            raise TypeError(f"Wrong arguments {wrong}")
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(f"Wrong number of arguments for {self.name}: {len(args)}")
        if len(args) > self.nin:
            kwargs["out"] = args[self.nin]
        if kwargs.get("dtype", 0) is None:
            del kwargs["dtype"]
        return call_ufunc(self._numpy, *args[: self.nin], **kwargs)

    def at(self, a: ndarray, indices: Any, b: Any = None) -> None:
        if self._name not in self.SCATTER:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        add_at(a, indices, b, self._numpy)

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        return wrap(self._numpy.outer(operand(A), operand(B), **kwargs))

    def reduce(
        self,
        array: ndarray,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
    ) -> Any:
        self._only("reduce", "add", "multiply")
        return wrap(self._numpy.reduce(array._array, axis=axis, dtype=dtype, keepdims=keepdims))

    def accumulate(self, array: ndarray, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        self._only("accumulate", "add", "multiply")
        return wrap(self._numpy.accumulate(array._array, axis=axis, dtype=dtype))

    def reduceat(
        self, array: ndarray, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        self._only("reduceat", "add")
        return wrap(self._numpy.reduceat(array._array, operand(indices), axis=axis, dtype=dtype))

    def _only(self, method: str, *names: str) -> None:
        if self._name not in names:
            raise NotImplementedError(f"`{self.name}.{method}` is not supported yet")


def make(name: str) -> Any:
    """What stands under a name of the real module."""
    kind = NAMES["module"][name]
    if kind == "numpy":
        return getattr(np, name)
    if name in SPECIAL:
        return SPECIAL[name]
    if isinstance(kind, dict) and hasattr(np, name):
        if "ufunc" in kind and isinstance(getattr(np, name), np.ufunc):
            return ufunc(name, *kind["ufunc"])
        if kind.get("function") is not None:
            return _function(name, kind["function"], getattr(np, name))
    raise AttributeError(f"the stand-in does not model cupy.{name}")


def _function(name: str, parameters: str, twin: Callable) -> Callable:
    first = next(iter(signature(parameters).parameters), "")
    checked = first in ARRAY_PARAMETERS and name not in (*CONVERTERS, *LISTS_TOO)

    def function(*args: Any, **kwargs: Any) -> Any:
        check_call(f"cupy.{name}", parameters, args, kwargs)
        head = args[0] if args else kwargs.get(first)
        if checked and not isinstance(head, ndarray):
            raise TypeError(f"cupy.{name}: Unsupported type {type(head)} for {first}")
        sources = [x for x in (*args, *kwargs.values()) if isinstance(x, ndarray)]
        out = kwargs.pop("out", None)
        result = _call(twin, parameters, args, kwargs)
        if name in HOST:
            return result
        if out is None:
            return wrap(result, *sources)
        out._array[...] = result
        return out

    function.__name__ = name
    return function


def _call(twin: Callable, parameters: str, args: tuple, kwargs: dict) -> Any:
    """twin(…), NumPy's function, given arguments under cupy's names and in cupy's order."""
    ours = [p.name for p in signature(parameters).parameters.values() if p.kind in (0, 1)]
    try:
        theirs = list(inspect.signature(twin).parameters)
    except ValueError:  # written in C: the order is the same
        theirs = ours
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for i, value in enumerate(args):
        moved = i < len(ours) and ours[i] in theirs and theirs.index(ours[i]) != i
        if moved or named:
            named[ours[i]] = _argument(value)
        else:
            positional.append(_argument(value))
    for name, value in kwargs.items():
        if name in ours and name not in theirs:
            if value is None or name == "blocking":
                continue  # cupy's own, not used
            name = theirs[ours.index(name)]  # the same parameter under another name
        named[name] = _argument(value)
    return twin(*positional, **named)


# ------------------------------------------------------------------------------------------
# Functions that need more
# ------------------------------------------------------------------------------------------


def _host(value: Any) -> Any:
    """For what converts explicitly: arrays of either kind, also inside lists."""
    if isinstance(value, ndarray):
        return value._array
    return [_host(v) for v in value] if isinstance(value, (list, tuple)) else value


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False
) -> Any:
    if isinstance(a, ndarray) and not copy:
        return wrap(np.asarray(a._array, dtype=dtype, order=order), a)
    return wrap(np.array(_host(a), dtype=dtype, order=order or "K"))


def _array(
    obj: Any,
    dtype: Any = None,
    copy: bool = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> Any:
    if isinstance(obj, ndarray) and not copy:
        return wrap(np.asarray(obj._array, dtype=dtype, order=order), obj)
    return wrap(np.array(_host(obj), dtype=dtype, order=order, ndmin=ndmin))


def _ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    return _asarray(a, dtype, "C")


def _asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *,
             blocking: bool = True) -> Any:  # fmt: skip
    return a.get(order=order, out=out) if isinstance(a, ndarray) else np.asarray(a, order=order)  # type: ignore[call-overload]


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if not isinstance(condition, ndarray):
        raise TypeError(f"cupy.where: Unsupported type {type(condition)} for condition")
    if x is None and y is None:
        return wrap(np.nonzero(condition._array))
    return wrap(np.where(condition._array, operand(x), operand(y)))


def _matmul(a: Any, b: Any, *, out: Any = None, dtype: Any = None) -> Any:
    result = matmul(a, b)
    if out is None:
        return result
    out[...] = result
    return out


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> Any:
    return a.take(indices, axis)


def _take_along_axis(a: Any, indices: Any, axis: Any) -> Any:
    length = a.size if axis is None else a.shape[axis]
    wrapped = operand(indices) % length if length else operand(indices)
    return wrap(np.take_along_axis(operand(a), wrapped, axis))


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return a.repeat(repeats, axis)


def _sort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    check_kind(kind)
    return wrap(np.sort(operand(a), axis=axis))


def _argsort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    check_kind(kind)
    return wrap(np.argsort(operand(a), axis=axis, kind="stable"))


def _part(home: str, twin: Any) -> SimpleNamespace:
    known = [(n, p) for n, p in NAMES[home].items() if hasattr(twin, n)]
    return SimpleNamespace(**{n: _function(n, p, getattr(twin, n)) for n, p in known})


SPECIAL: dict[str, Any] = {
    "array": _array,
    "asarray": _asarray,
    "asanyarray": _asarray,
    "ascontiguousarray": _ascontiguousarray,
    "asnumpy": _asnumpy,
    "where": _where,
    "matmul": _matmul,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "repeat": _repeat,
    "sort": _sort,
    "argsort": _argsort,
    "is_available": lambda: True,
    "lib": SimpleNamespace(stride_tricks=_part("lib.stride_tricks", np.lib.stride_tricks)),
    "fft": _part("fft", np.fft),
    "linalg": _part("linalg", np.linalg),
}
