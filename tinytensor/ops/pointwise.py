"""Exponentials and logarithms, elementwise, and the sigmoid and its inverse.

Each takes a tensor of any shape; integers and booleans become floats of the default dtype.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.op import Op
from ..backend import Array, xp
from ..out import takes_out
from .clamp import where
from .promote import (
    apply_wide,
    as_float,
    library_of,
    promote,
    promote_float,
    require_float,
    zeros_for,
)

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .promote import Operand

LN_2 = math.log(2)
LN_10 = math.log(10)


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


@takes_out("cast", elementwise=True)
def exp(input: Tensor) -> Tensor:
    """e to the power of input, elementwise."""
    return Exp.apply(as_float("exp", input))


@takes_out("cast", elementwise=True)
def exp2(input: Tensor) -> Tensor:
    """2 to the power of input, elementwise."""
    return Exp2.apply(as_float("exp2", input))


@takes_out("cast", elementwise=True)
def expm1(input: Tensor) -> Tensor:
    """exp(input) − 1, elementwise, precise for small input."""
    return Expm1.apply(as_float("expm1", input))


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


class Logaddexp(Op):
    """y = ln(eᵃ + eᵇ);  da = g·sigmoid(a − b), db = g·sigmoid(b − a)"""

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).logaddexp(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        return g * sigmoid(a - b), g * sigmoid(b - a)


class Xlogy(Op):
    """y = a·ln b, and 0 where a = 0;  da = g·ln b, and 0 where a = 0 and b ≤ 0, db = g·a/b"""

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        library = library_of(a, b)
        b = library.asarray(b, dtype=getattr(a, "dtype", None))  # either may be a number
        return library.where((a == 0) & (b == b), 0, a * library.log(b))  # b == b: not NaN

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        counts = where((a == 0) & (b <= 0), zeros_for(g), 1.0)
        return g * xlogy(counts, b), g * (a / b)


@takes_out("cast", elementwise=True)
def log(input: Tensor) -> Tensor:
    """The natural logarithm, elementwise: −inf at 0, NaN below."""
    return Log.apply(as_float("log", input))


@takes_out("cast", elementwise=True)
def log1p(input: Tensor) -> Tensor:
    """log(1 + input), elementwise, precise for small input."""
    return Log1p.apply(as_float("log1p", input))


@takes_out("cast", elementwise=True)
def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2, elementwise."""
    return Log2.apply(as_float("log2", input))


@takes_out("cast", elementwise=True)
def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10, elementwise."""
    return Log10.apply(as_float("log10", input))


@takes_out("cast", elementwise=True)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)), elementwise, without overflow."""
    a, b = promote(input, other, "logaddexp")
    require_float("logaddexp", a, NotImplementedError)
    return Logaddexp.apply(a, b)


@takes_out("cast", elementwise=True)
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log₂(2^input + 2^other), elementwise, without overflow."""
    a, b = promote(input, other, "logaddexp2")
    require_float("logaddexp2", a, NotImplementedError)
    ln2 = math.log(2)
    return Logaddexp.apply(a * ln2, b * ln2) / ln2


@takes_out("cast", elementwise=True)
def xlogy(input: Operand, other: Operand) -> Tensor:
    """input · log(other), elementwise, and 0 where input is 0, as the limit is."""
    return Xlogy.apply(*promote_float(input, other, "xlogy"))


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


@takes_out("cast", elementwise=True)
def sigmoid(input: Tensor) -> Tensor:
    """1/(1 + exp(−input)), elementwise: from 0 to 1."""
    return apply_wide("sigmoid", Sigmoid, input)


@takes_out("cast", elementwise=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """The inverse of the sigmoid, log(p/(1 − p)), elementwise.

    eps: clamp input to [eps, 1 − eps] first; None for no clamping.
    """
    return apply_wide("logit", Logit, input, None if eps is None else float(eps))


__all__ = [
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2",
    "logit", "sigmoid", "xlogy",
]  # fmt: skip
