"""Powers and roots, elementwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..out import takes_out
from .clamp import where
from .pointwise import log
from .promote import (
    array_of,
    as_float,
    check_number_fits,
    common_dtype,
    promote,
    promote_to,
    require_float,
    require_numbers,
    zeros_for,
)

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .promote import Operand


class PowScalar(Op):
    """y = xᵖ for a number p;  dx = g·p·xᵖ⁻¹, and 0 for p = 0 even at x = 0"""

    saves = ("x",)
    op_name = "pow"

    def forward(self, x: Array, p: float) -> Array:
        self.p = p
        # NumPy has short cuts for p = 2, 1, 0.5 and -1; its general power is slow.
        if p == 3:
            return x * x * x
        if p == -0.5:
            return 1 / xp(x).sqrt(x)
        y = x**p
        return y if y.dtype == x.dtype else y.astype(x.dtype)  # NumPy gives int8 for bools

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        p = self.p
        if p == 0:
            return zeros_for(g)
        slope = x if p == 2 else pow(x, p - 1)
        return g * (p * slope)


class Pow(Op):
    """y = aᵇ;  da = g·b·aᵇ⁻¹, db = g·y·log a

    Where b = 0, da = 0; where a = 0 and b ≥ 0, db = 0.
    """

    saves = {"a": ("a", "b"), "b": ("a", "b"), "out": "b"}

    def forward(self, a: Array, b: Array) -> Array:
        if b.dtype.kind in "fc":
            return a**b
        require_numbers("pow", b, NotImplementedError)
        # 1/aⁿ as an integer: ±1 for a = ±1, else 0. NumPy refuses it.
        library = xp(b)
        power = a ** library.where(b < 0, 0, b)
        reciprocal = library.where(a == 1, 1, library.where(a == -1, 1 - 2 * (b % 2), 0))
        return library.where(b < 0, reciprocal, power).astype(b.dtype)

    def backward(self, g: Any) -> Any:
        a, b, y = self.saved
        da = db = None
        if self.needs(0):
            da = where(b == 0, 0.0, g * (b * a ** (b - 1)))
        if self.needs(1):
            if unwrap(a).dtype.kind != "c":
                flat = (a == 0) & (b >= 0)
            else:
                flat = (a == 0) & (b.imag == 0) & (b.real >= 0)
            db = g * where(flat, 0.0, y * log(a))
        return da, db


@takes_out("cast", elementwise=True)
def pow(input: Operand, exponent: Operand) -> Tensor:
    """input to the power of exponent; either may be a number."""
    base, power = promote(input, exponent, "pow")
    if not hasattr(unwrap(power), "dtype"):
        dtype = array_of("pow", base).dtype
        check_number_fits("pow", dtype, exponent)
        if dtype.kind not in "fVc" and exponent < 0:  # type: ignore[operator]
            raise RuntimeError(
                f"pow: got integers to the negative power {exponent}, expected a power ≥ 0; "
                "convert the tensor to floating point first"
            )
        return PowScalar.apply(base, power)
    if not hasattr(unwrap(base), "dtype"):
        array = unwrap(power)
        base = xp(array).asarray(base, dtype=array.dtype)
    return Pow.apply(base, power)


@takes_out("cast", elementwise=True)
def float_power(input: Operand, exponent: Operand) -> Tensor:
    """input to the power of exponent, computed in float64 (complex128 for complex numbers)."""
    is_complex = common_dtype("float_power", input, exponent).kind == "c"
    dtype = np.dtype(np.complex128 if is_complex else np.float64)
    return pow(*promote_to(dtype, input, exponent))


@takes_out("cast", elementwise=True)
def square(input: Tensor) -> Tensor:
    """input²"""
    return pow(input, 2)


class Sqrt(Op):
    """y = √x;  dx = g/2y"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return xp(x).sqrt(x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g / (2 * y)


class Rsqrt(Op):
    """y = 1/√x;  dx = −½·g·y³"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return 1 / xp(x).sqrt(x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return -0.5 * g * (y * y * y)


class Reciprocal(Op):
    """y = 1/x;  dx = −g·y²"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return 1 / x

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return -g * (y * y)


class Hypot(Op):
    """y = √(a² + b²);  da = g·a/y, db = g·b/y"""

    saves = ("a", "b", "out")

    def forward(self, a: Array, b: Array) -> Array:
        return xp(a).hypot(a, b)

    def backward(self, g: Any) -> Any:
        a, b, y = self.saved
        return g * (a / y), g * (b / y)


@takes_out("cast", elementwise=True)
def sqrt(input: Tensor) -> Tensor:
    """The square root; NaN for negative numbers."""
    return Sqrt.apply(as_float("sqrt", input))


@takes_out("cast", elementwise=True)
def rsqrt(input: Tensor) -> Tensor:
    """1/√input"""
    return Rsqrt.apply(as_float("rsqrt", input))


@takes_out("cast", elementwise=True)
def reciprocal(input: Tensor) -> Tensor:
    """1/input"""
    return Reciprocal.apply(as_float("reciprocal", input))


@takes_out("cast", elementwise=True)
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """√(input² + other²), without overflow in between."""
    a, b = promote_to(common_dtype("hypot", input, other), input, other)
    require_float("hypot", a, NotImplementedError)
    return Hypot.apply(a, b)


__all__ = ["float_power", "hypot", "pow", "reciprocal", "rsqrt", "sqrt", "square"]
