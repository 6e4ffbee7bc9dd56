"""The parts of a number, elementwise: its sign, mantissa and exponent; common divisors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, xp
from ..out import takes_out
from . import return_types
from .arithmetic import mul
from .compare import Question, eq
from .power import pow
from .promote import (
    as_float,
    cast,
    common_dtype,
    library_of,
    not_zero,
    promote,
    promote_float,
    refuse_complex,
    require_float,
    require_same_dtype,
    zeros_for,
)

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .promote import Operand


class Copysign(Op):
    """y = |a| with the sign of b;  da = g·y/a, and 0 where a = 0;  db = 0"""

    saves = ("a", "out")

    def forward(self, a: Array, b: Array) -> Array:
        return library_of(a, b).copysign(a, b)

    def backward(self, g: Any) -> Any:
        a, y = self.saved
        return g * (y / not_zero(a)), zeros_for(g)


class Signbit(Question):
    """y = (x < 0, or x = −0)"""

    def forward(self, x: Array) -> Array:
        return xp(x).signbit(x) if x.dtype.kind == "f" else x < 0


class Mantissa(Op):
    """y = x/2ⁿ with ½ ≤ |y| < 1 and n an integer;  dx = g/2ⁿ"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).frexp(x)[0]

    def backward(self, g: Any) -> Any:
        x = unwrap(self.saved[0])
        return g * xp(x).ldexp(x.dtype.type(1), -xp(x).frexp(x)[1])


class Nextafter(Op):
    """y = the neighbour of a among the numbers of its dtype, towards b;  da = g, db = 0"""

    def forward(self, a: Array, b: Array) -> Array:
        return xp(a).nextafter(a, b)

    def backward(self, g: Any) -> Any:
        return g, zeros_for(g)


class Gcd(Question):
    """y = the greatest common divisor of a and b"""

    def forward(self, a: Array, b: Array) -> Array:
        return xp(a).gcd(a, b)


class Lcm(Question):
    """y = the least common multiple of a and b"""

    def forward(self, a: Array, b: Array) -> Array:
        return xp(a).lcm(a, b)


@takes_out("cast", elementwise=True)
def copysign(input: Tensor, other: Operand) -> Tensor:
    """|input| with the sign of `other`, elementwise."""
    array_of("copysign", input)
    return Copysign.apply(*promote_float(input, other, "copysign"))


@takes_out("same dtype", elementwise=True)
def signbit(input: Tensor) -> Tensor:
    """Whether the sign is minus, elementwise: also of −0."""
    array_of("signbit", input)
    refuse_complex("signbit", input)
    return Signbit.apply(input)


@takes_out("same dtype", elementwise=True)
def isposinf(input: Tensor) -> Tensor:
    """Whether x = ∞, elementwise."""
    array_of("isposinf", input)
    _refuse_complex("isposinf", input)
    return eq(input, math.inf)


@takes_out("same dtype", elementwise=True)
def isneginf(input: Tensor) -> Tensor:
    """Whether x = −∞, elementwise."""
    array_of("isneginf", input)
    _refuse_complex("isneginf", input)
    return eq(input, -math.inf)


def _refuse_complex(name: str, input: Any) -> None:
    if unwrap(input).dtype.kind == "c":
        raise RuntimeError(f"{name}: got a complex tensor, expected real numbers")


@takes_out("same dtype")
def frexp(input: Tensor) -> return_types.frexp:
    """(mantissa, exponent): x = mantissa · 2^exponent, with ½ ≤ |mantissa| < 1."""
    require_float("frexp", input)
    array = unwrap(input)
    exponent = xp(array).asarray(xp(array).frexp(array)[1], dtype="int32")
    return return_types.frexp(Mantissa.apply(input), wrap_like(exponent, input))


@takes_out("cast", elementwise=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input · 2^other, elementwise, in floating point."""
    for operand in (input, other):
        array_of("ldexp", operand)
    dtype = common_dtype("ldexp", input, other)
    if dtype.kind not in "fVc":
        return mul(as_float("ldexp", input), pow(2.0, other))
    if unwrap(other).dtype.kind == "b":
        raise NotImplementedError("ldexp: got bool exponents, expected numbers")
    return mul(cast(input, dtype), pow(2.0, cast(other, dtype)))


@takes_out("cast", elementwise=True)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number after input in the direction of `other`, elementwise."""
    a, b = promote(input, other, "nextafter")
    require_float("nextafter", a, NotImplementedError)
    return Nextafter.apply(a, b)


@takes_out("same dtype", elementwise=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where x < 0, 1 where x > 0, and `values` where x = 0 (and where x is NaN 0)."""
    array_of("heaviside", input)
    array_of("heaviside", values)
    for operand in (input, values):
        _refuse_complex("heaviside", operand)
    require_same_dtype("heaviside", "values", values, input)
    x = unwrap(input)
    library = xp(x)
    y = library.where(x == 0, unwrap(values), (x > 0).astype(x.dtype))
    return wrap_like(library.asarray(y, dtype=x.dtype), input)


@takes_out("cast", elementwise=True)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor, elementwise, of integers."""
    return Gcd.apply(*_integers("gcd", input, other))


@takes_out("cast", elementwise=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple, elementwise, of integers."""
    return Lcm.apply(*_integers("lcm", input, other))


def _integers(name: str, input: Any, other: Any) -> tuple[Any, Any]:
    a, b = promote(input, other, name)
    if unwrap(a).dtype.kind not in "iu":
        raise NotImplementedError(f"{name}: got dtype {unwrap(a).dtype}, expected integers")
    return a, b


@takes_out("cast", elementwise=True)
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians: x·π/180."""
    return mul(as_float("deg2rad", input), math.pi / 180)


@takes_out("cast", elementwise=True)
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees: x·180/π."""
    return mul(as_float("rad2deg", input), 180 / math.pi)


__all__ = [
    "copysign", "deg2rad", "frexp", "gcd", "heaviside", "isneginf", "isposinf", "lcm", "ldexp",
    "nextafter", "rad2deg", "signbit",
]  # fmt: skip
