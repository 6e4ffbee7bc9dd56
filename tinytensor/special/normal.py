"""The normal distribution's functions, entropy, sinc and the zeta function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..backend import Array, xp
from ..ops.arithmetic import neg
from ..ops.clamp import where
from ..ops.erf import erfc_array, in_blocks
from ..ops.pointwise import exp, log, log1p
from ..ops.promote import apply_wide, not_zero, zeros_for
from ..out import takes_out
from .scipy_functions import evaluate, float_operands

if TYPE_CHECKING:
    from ..ops.promote import Operand
    from ..tensor import Tensor

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_PI = math.sqrt(2 * math.pi)


# ------------------------------------------------------------------------------------------
# The normal distribution
# ------------------------------------------------------------------------------------------


class Erfcx(Op):
    """y = exp(x²)·erfc x;  dx = g·(2·x·y − 2/√π)"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return evaluate("erfcx", "erfcx", x)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return g * (2 * x * y - 2 / math.sqrt(math.pi))


class Ndtr(Op):
    """y = ½·erfc(−x/√2);  dx = g·exp(−x²/2)/√(2π)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return in_blocks(lambda part: 0.5 * erfc_array(-ROOT_HALF * part), x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * (exp(x * x * -0.5) / ROOT_TWO_PI)


class Ndtri(Op):
    """y with ndtr y = x;  dx = g·√(2π)·exp(y²/2)"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return evaluate("ndtri", "ndtri", x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g * (exp(y * y * 0.5) * ROOT_TWO_PI)


class LogNdtr(Op):
    """y = log ndtr x;  dx = g·√(2/π)/erfcx(−x/√2)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return evaluate("log_ndtr", "log_ndtr", x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * (math.sqrt(2 / math.pi) / Erfcx.apply(x * -ROOT_HALF))


@takes_out("cast", elementwise=True)
def erfcx(input: Tensor) -> Tensor:
    """exp(input²)·erfc(input), elementwise, which does not underflow for large input."""
    return apply_wide("special.erfcx", Erfcx, input)


@takes_out("cast", elementwise=True)
def ndtr(input: Tensor) -> Tensor:
    """The cumulative distribution of the standard normal distribution, elementwise."""
    return apply_wide("special.ndtr", Ndtr, input)


@takes_out("cast", elementwise=True)
def ndtri(input: Tensor) -> Tensor:
    """The inverse of `ndtr`, elementwise: −∞ at 0, ∞ at 1, NaN outside."""
    return apply_wide("special.ndtri", Ndtri, input)


@takes_out("cast", elementwise=True)
def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of `ndtr`, elementwise, precise also where that is tiny."""
    return apply_wide("special.log_ndtr", LogNdtr, input)


# ------------------------------------------------------------------------------------------
# Entropy
# ------------------------------------------------------------------------------------------


class Entr(Op):
    """y = −x·log x, 0 at 0 and −∞ below;  dx = −g·(log x + 1)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        library = xp(x)
        y = -x * library.log(library.where(x > 0, x, 1))
        return library.where(x > 0, y, library.where(x < 0, -np.inf, y)).astype(x.dtype)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return where(x < 0, np.nan, g * -(log(x) + 1))


@takes_out("cast", elementwise=True)
def entr(input: Tensor) -> Tensor:
    """−input·log(input), elementwise: 0 at 0, −∞ below."""
    return apply_wide("special.entr", Entr, input)


class Xlog1py(Op):
    """y = a·log(1 + b), and 0 where a = 0;  da = g·log(1 + b), db = g·a/(1 + b)

    da is 0 where a = 0 and b ≤ −1.
    """

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        library = xp(a)
        return library.where((a == 0) & (b == b), 0, a * library.log1p(b)).astype(a.dtype)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        lost = (a == 0) & (b <= -1)
        da = g * where(lost, 0.0, log1p(where(lost, zeros_for(b), b)))
        return da, g * (a / (b + 1))


@takes_out("cast", elementwise=True)
def xlog1py(input: Operand, other: Operand) -> Tensor:
    """input·log1p(other), elementwise, and 0 where input is 0 and other is not NaN."""
    return Xlog1py.apply(*float_operands("xlog1py", input, other))


# ------------------------------------------------------------------------------------------
# sinc
# ------------------------------------------------------------------------------------------


class Sinc(Op):
    """y = sin(πx)/(πx), and 1 at 0;  dx = g·SincSlope(x)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        library = xp(x)
        z = library.where(x == 0, 1, x) * x.dtype.type(math.pi)
        return library.where(x == 0, 1, library.sin(z) / z).astype(x.dtype)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * SincSlope.apply(x)


class SincSlope(Op):
    """y = (cos πx − sin(πx)/(πx))/x, and 0 at 0;  dx = −g·(π²·sinc(x) + 2·y/x), −g·π²/3 at 0"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        library = xp(x)
        wide = x.astype(np.float64)
        z = wide * math.pi
        near = abs(z) < 0.2  # the difference below loses its digits there
        w = library.where(near, z * z, 0)
        series = -w / 3 * (1 - w / 10 * (1 - w / 28 * (1 - w / 54 * (1 - w / 88))))
        z = library.where(near, 1, z)
        whole = library.cos(z) - library.sin(z) / z
        return (library.where(near, series, whole) / library.where(x == 0, 1, wide)).astype(x.dtype)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        slope = Sinc.apply(x) * math.pi**2 + 2 * y / not_zero(x)
        return -(g * where(x == 0, math.pi**2 / 3, slope))


@takes_out("cast", elementwise=True)
def sinc(input: Tensor) -> Tensor:
    """sin(π·input)/(π·input), elementwise, and 1 at 0."""
    return apply_wide("sinc", Sinc, input)


# ------------------------------------------------------------------------------------------
# The zeta function
# ------------------------------------------------------------------------------------------


class Zeta(Op):
    """y = Σ (q + k)⁻ˣ over k = 0, 1, …;  dq = −g·x·zeta(x + 1, q), and no gradient for x"""

    saves = ("x", "q")

    def forward(self, x: Array, q: Array) -> Array:
        return evaluate("zeta", "zeta", x, q)

    def backward(self, g: Any) -> Any:
        x, q = self.saved
        if self.needs(0):
            raise NotImplementedError(
                "special.zeta: the derivative for input is not implemented, as in PyTorch"
            )
        return None, neg(g * x * Zeta.apply(x + 1, q))


@takes_out("cast", elementwise=True)
def zeta(input: Operand, other: Operand) -> Tensor:
    """Hurwitz's zeta function Σ (other + k)^(−input), k = 0, 1, …, elementwise.

    The gradient for other only.
    """
    return Zeta.apply(*float_operands("zeta", input, other, half=False))


__all__ = ["entr", "erfcx", "log_ndtr", "ndtr", "ndtri", "sinc", "xlog1py", "zeta"]
