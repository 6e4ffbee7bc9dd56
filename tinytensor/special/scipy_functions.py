"""Functions that SciPy computes. It is imported when one is first called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, xp
from ..ops.promote import apply_wide, promote_float


def scipy_function(name: str, function: str, array: Array) -> Callable:
    """scipy.special.function, or CuPy's, for an op called `name`."""
    library = xp(array).__name__
    home = "scipy.special" if library == "numpy" else f"{library}x.scipy.special"
    try:
        return getattr(importlib.import_module(home), function)
    except ImportError:
        raise ImportError(
            f"special.{name}: needs SciPy, which is not installed; pip install scipy"
        ) from None


def evaluate(name: str, function: str, *arrays: Array) -> Array:
    """scipy.special.function(arrays) in the arrays' dtype."""
    y = scipy_function(name, function, arrays[0])(*arrays)
    return y.astype(arrays[0].dtype) if y.dtype != arrays[0].dtype else y


class NoGradient(Op):
    """y = a function of SciPy, or a Python one; it has no gradient here, and none in PyTorch"""

    def forward(self, x: Array, name: str, function: Any, *more: Array) -> Array:
        self.function = name
        return function(x, *more) if callable(function) else evaluate(name, function, x, *more)

    def backward(self, g: Any) -> Any:
        raise NotImplementedError(
            f"special.{self.function}: the derivative is not implemented, as in PyTorch"
        )


def without_gradient(name: str, function: Any, input: Any) -> Any:
    """The public function `name` of one tensor: SciPy's `function`, or a Python one."""
    return apply_wide(f"special.{name}", NoGradient, input, name, function)


def float_operands(name: str, input: Any, other: Any, half: bool = True) -> tuple[Any, Any]:
    """Two tensors, or a tensor and a number, as tensors or arrays of one float dtype.

    half=False refuses float16 and bfloat16, which PyTorch does not compute either.
    """
    if not (isinstance(input, Variable) or isinstance(other, Variable)):
        kinds = f"{type(input).__name__} and {type(other).__name__}"
        raise TypeError(f"special.{name}: got {kinds}, expected at least one tensor")
    a, b = promote_float(input, other, f"special.{name}")
    dtype = getattr(unwrap(a), "dtype", None) or unwrap(b).dtype
    if dtype.itemsize == 2 and not half:
        raise NotImplementedError(
            f"special.{name}: not implemented for {dtype}, expected float32 or float64"
        )
    library = xp(unwrap(a) if hasattr(unwrap(a), "dtype") else unwrap(b))
    if not hasattr(unwrap(a), "dtype"):
        a = library.asarray(a, dtype)
    if not hasattr(unwrap(b), "dtype"):
        b = library.asarray(b, dtype)
    return a, b
