"""Bessel functions, and Airy's: computed by SciPy.

Only i0, i0e, i1 and i1e have gradients, as in PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..ops.clamp import where
from ..ops.promote import apply_wide, not_zero
from ..ops.sign import sign
from ..out import takes_out
from .scipy_functions import evaluate, scipy_function, without_gradient

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# The modified functions I₀ and I₁, also times exp(−|x|)
# ------------------------------------------------------------------------------------------


class I0(Op):
    """y = I₀(x);  dx = g·I₁(x)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return evaluate("i0", "i0", x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * I1.apply(x)


class I0e(Op):
    """y = exp(−|x|)·I₀(x);  dx = g·(exp(−|x|)·I₁(x) − sign(x)·y)"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return evaluate("i0e", "i0e", x)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return g * (I1e.apply(x) - sign(x) * y)


class I1(Op):
    """y = I₁(x);  dx = g·(I₀(x) − y/x), and g/2 at 0"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return evaluate("i1", "i1", x)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return g * _or_half(x, I0.apply(x) - y / not_zero(x))


class I1e(Op):
    """y = exp(−|x|)·I₁(x);  dx = g·(exp(−|x|)·I₀(x) − y·(sign(x) + 1/x)), and g/2 at 0"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return evaluate("i1e", "i1e", x)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return g * _or_half(x, I0e.apply(x) - y * (sign(x) + 1 / not_zero(x)))


def _or_half(x: Any, slope: Any) -> Any:
    """The slope, and ½ where x is 0."""
    return where(x == 0, 0.5, slope)


@takes_out("cast", elementwise=True)
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind and order 0, elementwise."""
    return apply_wide("i0", I0, input)


@takes_out("cast", elementwise=True)
def i0e(input: Tensor) -> Tensor:
    """exp(−|input|)·i0(input), elementwise, which does not overflow."""
    return apply_wide("special.i0e", I0e, input)


@takes_out("cast", elementwise=True)
def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind and order 1, elementwise."""
    return apply_wide("special.i1", I1, input)


@takes_out("cast", elementwise=True)
def i1e(input: Tensor) -> Tensor:
    """exp(−|input|)·i1(input), elementwise, which does not overflow."""
    return apply_wide("special.i1e", I1e, input)


# ------------------------------------------------------------------------------------------
# Without a gradient
# ------------------------------------------------------------------------------------------


@takes_out("cast", elementwise=True)
def bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind and order 0, elementwise. Without a gradient."""
    return without_gradient("bessel_j0", "j0", input)


@takes_out("cast", elementwise=True)
def bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind and order 1, elementwise. Without a gradient."""
    return without_gradient("bessel_j1", "j1", input)


@takes_out("cast", elementwise=True)
def bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind and order 0, elementwise. Without a gradient."""
    return without_gradient("bessel_y0", "y0", input)


@takes_out("cast", elementwise=True)
def bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind and order 1, elementwise. Without a gradient."""
    return without_gradient("bessel_y1", "y1", input)


@takes_out("cast", elementwise=True)
def modified_bessel_i0(input: Tensor) -> Tensor:
    """As `i0`, but without a gradient, as in PyTorch."""
    return without_gradient("modified_bessel_i0", "i0", input)


@takes_out("cast", elementwise=True)
def modified_bessel_i1(input: Tensor) -> Tensor:
    """As `i1`, but without a gradient, as in PyTorch."""
    return without_gradient("modified_bessel_i1", "i1", input)


@takes_out("cast", elementwise=True)
def modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind and order 0. Without a gradient."""
    return without_gradient("modified_bessel_k0", "k0", input)


@takes_out("cast", elementwise=True)
def modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind and order 1. Without a gradient."""
    return without_gradient("modified_bessel_k1", "k1", input)


@takes_out("cast", elementwise=True)
def scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    """exp(x)·modified_bessel_k0(x), elementwise. Without a gradient."""
    return without_gradient("scaled_modified_bessel_k0", "k0e", x)


@takes_out("cast", elementwise=True)
def scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    """exp(x)·modified_bessel_k1(x), elementwise. Without a gradient."""
    return without_gradient("scaled_modified_bessel_k1", "k1e", x)


@takes_out("cast", elementwise=True)
def spherical_bessel_j0(x: Tensor) -> Tensor:
    """The spherical Bessel function of order 0, sin x / x, elementwise. Without a gradient."""
    return without_gradient("spherical_bessel_j0", _sine_quotient, x)


def _sine_quotient(x: Array) -> Array:
    library = xp(x)
    y = library.where(x == 0, 1, library.sin(x) / library.where(x == 0, 1, x))
    return library.where(library.isinf(x), 0, y).astype(x.dtype)


@takes_out("cast", elementwise=True)
def airy_ai(x: Tensor) -> Tensor:
    """The Airy function Ai, elementwise. Without a gradient."""
    return without_gradient("airy_ai", _airy, x)


def _airy(x: Array) -> Array:
    y = scipy_function("airy_ai", "airy", x)(unwrap(x))[0]
    library = xp(x)
    return library.where(library.isinf(x), library.nan, y).astype(x.dtype)


__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "i0", "i0e", "i1", "i1e",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
]  # fmt: skip
