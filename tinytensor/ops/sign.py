"""The absolute value and the sign, elementwise, of real and complex numbers."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..backend import Array, xp
from ..out import takes_out
from .promote import not_zero, require_numbers, zeros_for

if TYPE_CHECKING:
    from ..tensor import Tensor


class Abs(Op):
    """y = |x|;  dx = g·sgn x, which is 0 at x = 0"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        require_numbers("abs", x, NotImplementedError)
        return builtins.abs(x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * sgn(x)


class Sign(Op):
    """y = −1, 0 or 1 (0 for NaN, as in PyTorch);  flat: dx = 0"""

    def forward(self, x: Array) -> Array:
        if x.dtype.kind == "b":
            return x.copy()
        if x.dtype.kind == "c":
            raise NotImplementedError("sign: not implemented for complex numbers; use sgn()")
        return (x > 0).astype(x.dtype) - (x < 0)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Sgn(Op):
    """y = x/|x| of complex numbers, 0 at 0;  dx = (g − y·Re(conj(y)·g))/|x|, 0 at 0

    y moves only along the unit circle: dx is the part of g along the circle.
    """

    saves = ("x", "out")
    complex_rule = True

    def forward(self, x: Array) -> Array:
        size = builtins.abs(x)
        return xp(x).where(size == 0, 0, x / not_zero(size))

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        size = abs(x)
        return (g - y * (y.conj() * g).real) * (size != 0) / not_zero(size)


@takes_out("same dtype", elementwise=True)
def abs(input: Tensor) -> Tensor:
    """|input|, real also for complex numbers: √(real² + imag²)."""
    return Abs.apply(input)


@takes_out("same dtype", elementwise=True)
def sign(input: Tensor) -> Tensor:
    """−1, 0 or 1, elementwise; for complex numbers see sgn."""
    return Sign.apply(input)


@takes_out("same dtype", elementwise=True)
def sgn(input: Tensor) -> Tensor:
    """sign(input) of real numbers; input/|input| of complex numbers, 0 where input is 0."""
    complex_numbers = array_of("sgn", input).dtype.kind == "c"
    return Sgn.apply(input) if complex_numbers else Sign.apply(input)


absolute = abs

__all__ = ["abs", "absolute", "sgn", "sign"]
