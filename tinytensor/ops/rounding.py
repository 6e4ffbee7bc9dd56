"""Rounding, elementwise. The slope is 0 wherever there is one, so gradients are zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.op import Op
from ..backend import Array, xp
from .promote import zeros_for

if TYPE_CHECKING:
    from ..tensor import Tensor


def _refuse(name: str, x: Array, kinds: str, expected: str) -> None:
    if x.dtype.kind in kinds:
        raise NotImplementedError(
            f"{name}: got dtype {x.dtype}, expected {expected}; convert it with .float() first"
        )


class Floor(Op):
    """y = the largest integer ≤ x;  dx = 0"""

    def forward(self, x: Array) -> Array:
        _refuse("floor", x, "b", "numbers")
        return x.copy() if x.dtype.kind in "iu" else xp(x).floor(x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Ceil(Op):
    """y = the smallest integer ≥ x;  dx = 0"""

    def forward(self, x: Array) -> Array:
        _refuse("ceil", x, "b", "numbers")
        return x.copy() if x.dtype.kind in "iu" else xp(x).ceil(x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Trunc(Op):
    """y = x without its fraction;  dx = 0"""

    def forward(self, x: Array) -> Array:
        _refuse("trunc", x, "b", "numbers")
        return x.copy() if x.dtype.kind in "iu" else xp(x).trunc(x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Round(Op):
    """y = the multiple of 10^−decimals nearest to x, the even one of two;  dx = 0"""

    def forward(self, x: Array, decimals: int) -> Array:
        _refuse("round", x, "b", "numbers")
        if decimals:
            _refuse("round", x, "iu", "floating point when decimals is not 0")
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
        _refuse("frac", x, "biu", "floating point")
        return x - xp(x).trunc(x)

    def backward(self, g: Any) -> Any:
        return g


def floor(input: Tensor) -> Tensor:
    """Down to the next integer, elementwise. The dtype stays; so too in the functions below."""
    return Floor.apply(input)


def ceil(input: Tensor) -> Tensor:
    """Up to the next integer, elementwise."""
    return Ceil.apply(input)


def trunc(input: Tensor) -> Tensor:
    """Towards zero to the next integer, elementwise."""
    return Trunc.apply(input)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """To the nearest integer, elementwise; halfway cases to the even one: 0.5 → 0, 1.5 → 2.

    decimals: round to so many places after the point; before it if negative.
    """
    return Round.apply(input, int(decimals))


def frac(input: Tensor) -> Tensor:
    """The part after the point, with the sign of input, elementwise."""
    return Frac.apply(input)


fix = trunc

__all__ = ["ceil", "fix", "floor", "frac", "round", "trunc"]
