"""Rounding, elementwise. The slope is 0 wherever there is one, so gradients are zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import check_ints
from ..autograd.op import Op
from ..backend import Array, xp
from ..out import takes_out
from .promote import require_float, require_numbers, zeros_for

if TYPE_CHECKING:
    from ..tensor import Tensor


class Floor(Op):
    """y = the largest integer ≤ x;  dx = 0"""

    def forward(self, x: Array) -> Array:
        require_numbers("floor", x, NotImplementedError)
        return x.copy() if x.dtype.kind in "iu" else xp(x).floor(x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Ceil(Op):
    """y = the smallest integer ≥ x;  dx = 0"""

    def forward(self, x: Array) -> Array:
        require_numbers("ceil", x, NotImplementedError)
        return x.copy() if x.dtype.kind in "iu" else xp(x).ceil(x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Trunc(Op):
    """y = x without its fraction;  dx = 0"""

    def forward(self, x: Array) -> Array:
        require_numbers("trunc", x, NotImplementedError)
        return x.copy() if x.dtype.kind in "iu" else xp(x).trunc(x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Round(Op):
    """y = the multiple of 10^−decimals nearest to x, the even one of two;  dx = 0"""

    def forward(self, x: Array, decimals: int) -> Array:
        require_numbers("round", x, NotImplementedError)
        if decimals:
            require_float("round", x, NotImplementedError)
        elif x.dtype.kind in "iu":
            return x.copy()
        rint = xp(x).rint
        scale = 10.0 ** abs(decimals)
        if decimals > 0:
            return rint(x * scale) / scale
        return rint(x / scale) * scale if decimals else rint(x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Frac(Op):
    """y = x − trunc x;  dx = g"""

    def forward(self, x: Array) -> Array:
        require_float("frac", x, NotImplementedError)
        return x - xp(x).trunc(x)

    def backward(self, g: Any) -> Any:
        return g


@takes_out("same dtype", elementwise=True)
def floor(input: Tensor) -> Tensor:
    """Down to the next integer, elementwise. The dtype stays; so too in the functions below."""
    return Floor.apply(input)


@takes_out("same dtype", elementwise=True)
def ceil(input: Tensor) -> Tensor:
    """Up to the next integer, elementwise."""
    return Ceil.apply(input)


@takes_out("same dtype", elementwise=True)
def trunc(input: Tensor) -> Tensor:
    """Towards zero to the next integer, elementwise."""
    return Trunc.apply(input)


@takes_out("same dtype", elementwise=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """To the nearest integer, elementwise; halfway cases to the even one: 0.5 → 0, 1.5 → 2.

    decimals: the number of places after the point; before it if negative.
    """
    if type(decimals) is not int:
        check_ints("round", decimals=decimals)
    return Round.apply(input, int(decimals))


@takes_out("same dtype", elementwise=True)
def frac(input: Tensor) -> Tensor:
    """The part after the point, with the sign of input, elementwise."""
    return Frac.apply(input)


fix = trunc

__all__ = ["ceil", "fix", "floor", "frac", "round", "trunc"]
