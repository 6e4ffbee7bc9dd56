"""Exponentials and logarithms, elementwise, and the sigmoid and its inverse.

Each takes a tensor of any shape; integers and booleans become floats of the default dtype.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from .clamp import where
from .promote import as_float, cast

if TYPE_CHECKING:
    from ..tensor import Tensor

LN_2 = math.log(2)
LN_10 = math.log(10)


def apply_wide(op: type[Op], input: Any, *args: Any) -> Any:
    """op.apply(input, *args); float16 is computed in float32 and rounded once, as in PyTorch.

    For ops of several steps. NumPy does the same in each single function.
    """
    x = as_float(input)
    dtype = getattr(unwrap(x), "dtype", None)
    if dtype is None:
        raise TypeError(f"{op.name_}: got a {type(input).__name__}, expected a tensor")
    if dtype.itemsize > 2:
        return op.apply(x, *args)
    return cast(op.apply(cast(x, np.dtype(np.float32)), *args), dtype)


# ------------------------------------------------------------------------------------------
# Exponentials
# ------------------------------------------------------------------------------------------


class Exp(Op):
    """y = eˣ;  dx = g·y"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return xp(x).exp(x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g * y


class Exp2(Op):
    """y = 2ˣ;  dx = g·y·ln 2"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return xp(x).exp2(x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g * y * LN_2


class Expm1(Op):
    """y = eˣ − 1;  dx = g·(y + 1)"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return xp(x).expm1(x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g * (y + 1)


def exp(input: Tensor) -> Tensor:
    """e to the power of input, elementwise."""
    return Exp.apply(as_float(input))


def exp2(input: Tensor) -> Tensor:
    """2 to the power of input, elementwise."""
    return Exp2.apply(as_float(input))


def expm1(input: Tensor) -> Tensor:
    """exp(input) − 1, elementwise, precise for small input."""
    return Expm1.apply(as_float(input))


# ------------------------------------------------------------------------------------------
# Logarithms
# ------------------------------------------------------------------------------------------


class Log(Op):
    """y = ln x;  dx = g/x"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).log(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / x


class Log1p(Op):
    """y = ln(1 + x);  dx = g/(1 + x)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).log1p(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / (x + 1)


class Log2(Op):
    """y = log₂ x;  dx = g/(x·ln 2)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).log2(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / (x * LN_2)


class Log10(Op):
    """y = log₁₀ x;  dx = g/(x·ln 10)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).log10(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / (x * LN_10)


def log(input: Tensor) -> Tensor:
    """The natural logarithm, elementwise: −inf at 0, NaN below."""
    return Log.apply(as_float(input))


def log1p(input: Tensor) -> Tensor:
    """log(1 + input), elementwise, precise for small input."""
    return Log1p.apply(as_float(input))


def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2, elementwise."""
    return Log2.apply(as_float(input))


def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10, elementwise."""
    return Log10.apply(as_float(input))


# ------------------------------------------------------------------------------------------
# The sigmoid and its inverse
# ------------------------------------------------------------------------------------------


class Sigmoid(Op):
    """y = 1/(1 + e⁻ˣ);  dx = g·y·(1 − y)

    Safe at both ends as it stands: e⁻ˣ overflows to inf for very negative x, and 1/inf is 0.
    """

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        library = xp(x)
        y = library.empty_like(x)  # every step is written into this one array
        library.negative(x, out=y)
        library.exp(y, out=y)
        y += 1
        return library.reciprocal(y, out=y)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g * ((1 - y) * y)


class Logit(Op):
    """y = ln(x/(1 − x)), with x first clamped to [eps, 1 − eps];  dx = g/(x·(1 − x))

    dx is 0 where x was clamped; without eps, it is NaN outside of [0, 1], as y is.
    """

    saves = ("x",)

    def forward(self, x: Array, eps: float | None) -> Array:
        self.eps = eps
        library = xp(x)
        z = x if eps is None else library.minimum(library.maximum(x, eps), 1 - eps)
        return library.log(z / (1 - z))

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        low, elsewhere = (0.0, math.nan) if self.eps is None else (self.eps, 0.0)
        outside = (x < low) | (x > 1 - low)
        return where(outside, elsewhere, g / (x * (1 - x)))


def sigmoid(input: Tensor) -> Tensor:
    """1/(1 + exp(−input)), elementwise: from 0 to 1."""
    return apply_wide(Sigmoid, input)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """The inverse of the sigmoid, log(p/(1 − p)), elementwise.

    eps: clamp input to [eps, 1 − eps] first; None for no clamping.
    """
    return apply_wide(Logit, input, None if eps is None else float(eps))


__all__ = ["exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logit", "sigmoid"]
