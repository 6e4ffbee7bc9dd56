"""Sine, cosine, tangent, their hyperbolic versions, and the inverses of all six, elementwise.

Each takes a tensor of any shape; integers and booleans become floats of the default dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..out import takes_out
from .power import sqrt
from .promote import as_float, not_zero, promote_float

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Circular
# ------------------------------------------------------------------------------------------


class Sin(Op):
    """y = sin x;  dx = g·cos x"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).sin(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * cos(x)


class Cos(Op):
    """y = cos x;  dx = −g·sin x"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).cos(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * -sin(x)


class Tan(Op):
    """y = tan x;  dx = g·(1 + y²)"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return xp(x).tan(x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g * (y * y + 1)


@takes_out("cast", elementwise=True)
def sin(input: Tensor) -> Tensor:
    """The sine of an angle in radians, elementwise."""
    return Sin.apply(as_float("sin", input))


@takes_out("cast", elementwise=True)
def cos(input: Tensor) -> Tensor:
    """The cosine of an angle in radians, elementwise."""
    return Cos.apply(as_float("cos", input))


@takes_out("cast", elementwise=True)
def tan(input: Tensor) -> Tensor:
    """The tangent of an angle in radians, elementwise."""
    return Tan.apply(as_float("tan", input))


# ------------------------------------------------------------------------------------------
# Inverse circular
# ------------------------------------------------------------------------------------------


class Asin(Op):
    """y = arcsin x;  dx = g/√(1 − x²)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).arcsin(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / sqrt(1 - x * x)


class Acos(Op):
    """y = arccos x;  dx = −g/√(1 − x²)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).arccos(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return -g / sqrt(1 - x * x)


class Atan(Op):
    """y = arctan x;  dx = g/(1 + x²)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).arctan(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / (x * x + 1)


class Atan2(Op):
    """y = the angle of the point (b, a), −π to π;  da = g·b/(a² + b²), db = −g·a/(a² + b²)

    At the origin, where the angle has no slope, both are 0, as in PyTorch.
    """

    saves = ("a", "b")

    def forward(self, a: Array, b: Array) -> Array:
        return xp(a).arctan2(a, b)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        scaled = g / not_zero(a * a + b * b)
        return scaled * b if self.needs(0) else None, -scaled * a if self.needs(1) else None


@takes_out("cast", elementwise=True)
def asin(input: Tensor) -> Tensor:
    """The angle, −π/2 to π/2, whose sine is input, elementwise; NaN outside of [−1, 1]."""
    return Asin.apply(as_float("asin", input))


@takes_out("cast", elementwise=True)
def acos(input: Tensor) -> Tensor:
    """The angle, 0 to π, whose cosine is input, elementwise; NaN outside of [−1, 1]."""
    return Acos.apply(as_float("acos", input))


@takes_out("cast", elementwise=True)
def atan(input: Tensor) -> Tensor:
    """The angle, −π/2 to π/2, whose tangent is input, elementwise."""
    return Atan.apply(as_float("atan", input))


@takes_out("cast", elementwise=True)
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (other, input), −π to π, elementwise: arctan(input/other) with the
    quadrant taken from the signs. The shapes are broadcast.
    """
    return Atan2.apply(*promote_float(input, other, "atan2"))


# ------------------------------------------------------------------------------------------
# Hyperbolic
# ------------------------------------------------------------------------------------------


class Sinh(Op):
    """y = sinh x;  dx = g·cosh x"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).sinh(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * cosh(x)


class Cosh(Op):
    """y = cosh x;  dx = g·sinh x"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).cosh(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * sinh(x)


class Tanh(Op):
    """y = tanh x;  dx = g·(1 − y²)"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return xp(x).tanh(x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        # Not g * (1 - y * y): an op with a Python number costs NumPy twice as much on small arrays.
        return g - g * (y * y)


@takes_out("cast", elementwise=True)
def sinh(input: Tensor) -> Tensor:
    """(exp x − exp −x)/2, elementwise."""
    return Sinh.apply(as_float("sinh", input))


@takes_out("cast", elementwise=True)
def cosh(input: Tensor) -> Tensor:
    """(exp x + exp −x)/2, elementwise."""
    return Cosh.apply(as_float("cosh", input))


@takes_out("cast", elementwise=True)
def tanh(input: Tensor) -> Tensor:
    """sinh x / cosh x, elementwise: from −1 to 1."""
    return Tanh.apply(as_float("tanh", input))


# ------------------------------------------------------------------------------------------
# Inverse hyperbolic
# ------------------------------------------------------------------------------------------


class Asinh(Op):
    """y = arsinh x;  dx = g/√(x² + 1)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).arcsinh(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / sqrt(x * x + 1)


class Acosh(Op):
    """y = arcosh x;  dx = g/√(x² − 1), for complex x g/(√(x − 1)·√(x + 1))"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).arccosh(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        if unwrap(x).dtype.kind == "c":  # √(x² − 1) has another sign for Re x < 0
            return g / (sqrt(x - 1) * sqrt(x + 1))
        return g / sqrt(x * x - 1)


class Atanh(Op):
    """y = artanh x;  dx = g/(1 − x²)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).arctanh(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g / (1 - x * x)


@takes_out("cast", elementwise=True)
def asinh(input: Tensor) -> Tensor:
    """The inverse of sinh, elementwise."""
    return Asinh.apply(as_float("asinh", input))


@takes_out("cast", elementwise=True)
def acosh(input: Tensor) -> Tensor:
    """The inverse of cosh, elementwise; NaN below 1."""
    return Acosh.apply(as_float("acosh", input))


@takes_out("cast", elementwise=True)
def atanh(input: Tensor) -> Tensor:
    """The inverse of tanh, elementwise; ±inf at ±1, NaN beyond."""
    return Atanh.apply(as_float("atanh", input))


# NumPy's names for the inverses, which PyTorch has too
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh",
]  # fmt: skip
