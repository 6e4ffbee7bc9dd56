"""What is computed with: the operators of the stand-in's arrays, and what its ufuncs run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ndarray import NO_CONVERSION, SCALARS, ndarray, operand, prepare_index, wrap


def call_ufunc(function: Any, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    """function(*inputs) with operands checked; `out` is one of the stand-in's arrays."""
    raw = [operand(x) for x in inputs]
    if out is None:
        return wrap(function(*raw, **kwargs))
    if not isinstance(out, ndarray):
        raise TypeError(f"output arguments must be arrays, got {type(out)}")
    function(*raw, out=out._array, **kwargs)
    return out


ATOMIC = (np.int32, np.uint32, np.uint64, np.float16, np.float32, np.float64)


def add_at(target: ndarray, index: Any, value: Any, function: Any = np.add) -> None:
    """cupy adds atomically, which CUDA does for these dtypes only."""
    if target.dtype.type not in ATOMIC:
        raise TypeError(
            "scatter_add only supports int32, float16, float32, float64, uint32, uint64, as data "
            f"type, got {target.dtype}"
        )
    entries, _ = prepare_index(index, target.shape)
    function.at(target._array, entries, np.asarray(operand(value), dtype=target.dtype))


def _defers(x: Any, y: Any) -> bool:
    """Whether y's reflected operator goes first, by cupy's rule."""
    if isinstance(y, (ndarray, *SCALARS, np.ndarray)):
        return False
    if hasattr(y, "__array_ufunc__"):
        return y.__array_ufunc__ is None
    return getattr(y, "__array_priority__", 0) > ndarray.__array_priority__


def _binary(function: Any) -> tuple[Callable, Callable, Callable]:
    def forward(self: Any, other: Any) -> Any:
        return NotImplemented if _defers(self, other) else call_ufunc(function, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return NotImplemented if _defers(self, other) else call_ufunc(function, other, self)

    def inplace(self: Any, other: Any) -> Any:
        return call_ufunc(function, self, other, out=self)

    return forward, reflected, inplace


def matmul(a: Any, b: Any) -> Any:
    for x in (a, b):
        if not isinstance(x, ndarray):
            raise TypeError(f"Argument has incorrect type (expected cupy.ndarray, got {type(x)})")
    return wrap(np.matmul(a._array, b._array))


def array_ufunc(self: ndarray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """np.float32(2) * array is a scalar operand, as in cupy; other ufuncs of NumPy are refused,
    where cupy would quietly run its own."""
    scalars = [x for x in inputs if isinstance(x, np.generic)]
    if method == "__call__" and scalars and ufunc.nin == 2 and not kwargs:
        return call_ufunc(ufunc, *inputs)
    for x in inputs:
        operand(x)
    raise TypeError(f"numpy.{ufunc.__name__}: {NO_CONVERSION}")


def _add_operators() -> None:
    names = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
        "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
        "rshift": np.right_shift, "divmod": np.divmod,
    }  # fmt: skip
    for name, function in names.items():
        forward, reflected, inplace = _binary(function)
        setattr(ndarray, f"__{name}__", forward)
        setattr(ndarray, f"__r{name}__", reflected)
        if name != "divmod":
            setattr(ndarray, f"__i{name}__", inplace)
    comparisons = {
        "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
        "eq": np.equal, "ne": np.not_equal,
    }  # fmt: skip
    for name, function in comparisons.items():
        setattr(ndarray, f"__{name}__", _binary(function)[0])
    unary = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
    for name, function in unary.items():
        setattr(ndarray, f"__{name}__", lambda self, f=function: call_ufunc(f, self))
    ndarray.__matmul__ = (  # type: ignore[attr-defined]
        lambda self, other: NotImplemented if _defers(self, other) else matmul(self, other)
    )
    ndarray.__rmatmul__ = (  # type: ignore[attr-defined]
        lambda self, other: NotImplemented if _defers(self, other) else matmul(other, self)
    )
    ndarray.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    ndarray.scatter_add = add_at  # type: ignore[attr-defined]


_add_operators()
