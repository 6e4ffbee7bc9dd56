"""The regularised incomplete gamma functions, elementwise.

    igamma(a, x) = 1/Γ(a) · ∫₀ˣ tᵃ⁻¹·exp(−t) dt        igammac(a, x) = 1 − igamma(a, x)

Abramowitz and Stegun, *Handbook of Mathematical Functions*: the series 6.5.29 for x ≤ a + 1, the
continued fraction 6.5.31 (by Lentz's method) for larger x; both in float64.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..backend import Array, xp
from ..out import takes_out
from .gamma import lgamma, lgamma_array
from .pointwise import exp, xlogy
from .promote import promote, require_float

if TYPE_CHECKING:
    from ..tensor import Tensor

MAX_STEPS = 10_000  # √a times a few are enough: up to a = 10⁶
EPS = 2.0**-53


def _density(a: Array, x: Array) -> Array:
    """xᵃ·exp(−x) / Γ(a + 1); for large a from Stirling's series, which cancels nothing."""
    library = xp(a)
    direct = a * library.log(x) - x - lgamma_array(a + 1)
    wide = library.maximum(a, 20)
    d = (x - wide) / wide
    w = 1 / (wide * wide)
    tail = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w / 1680))) / wide
    far = wide * (library.log1p(d) - d) - 0.5 * library.log(2 * math.pi * wide) - tail
    return library.exp(library.where(a < 20, direct, far))


def _lower(a: Array, x: Array) -> Array:
    """igamma(a, x) for x ≤ a + 1."""
    library = xp(a)
    term, total = library.ones_like(x), library.ones_like(x)
    for n in range(1, MAX_STEPS):
        term = term * (x / (a + n))
        total = total + term
        if not bool((term > EPS * total).any()):
            break
    return library.minimum(total * _density(a, x), 1.0)


def _upper(a: Array, x: Array) -> Array:
    """igammac(a, x) for x > a + 1."""
    b = x + 1 - a
    c, d = xp(a).full_like(x, 1e300), 1 / b
    h = d
    for n in range(1, MAX_STEPS):
        factor = n * (a - n)
        b = b + 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        h = h * (c * d)
        if not bool((abs(c * d - 1) > EPS * 2).any()):
            break
    return h * _density(a, x) * a


def _incomplete(a: Array, x: Array, upper: bool) -> Array:
    """igamma or igammac of float64 arrays."""
    library = xp(a)
    a, x = library.broadcast_arrays(a, x)
    with np.errstate(all="ignore"):
        regular = (a > 0) & (x > 0) & library.isfinite(a) & library.isfinite(x)
        small = regular & (x <= a + 1)
        large = regular & ~small
        y = library.full(x.shape, math.nan)
        if small.any():
            low = _lower(a[small], x[small])
            y[small] = 1 - low if upper else low
        if large.any():
            high = _upper(a[large], x[large])
            y[large] = high if upper else 1 - high
        # the limits: no mass at x = 0, all of it below ∞; for a = 0 all at 0, for a = ∞ all at ∞
        nothing = ((x == 0) & (a > 0)) | (library.isinf(a) & (a > 0) & library.isfinite(x))
        nothing &= x >= 0
        everything = ((a == 0) & (x > 0)) | (library.isinf(x) & (x > 0) & library.isfinite(a))
        everything &= a >= 0
        y = library.where(nothing, 1.0 if upper else 0.0, y)
        return library.where(everything, 0.0 if upper else 1.0, y)


class Igamma(Op):
    """y = igamma(a, x);  dx = g·xᵃ⁻¹·exp(−x) / Γ(a), and there is no rule for da"""

    saves = ("a", "x")
    upper = False

    def forward(self, a: Array, x: Array) -> Array:
        y = _incomplete(a.astype(np.float64), x.astype(np.float64), self.upper)
        return xp(a).asarray(y, dtype=a.dtype)

    def backward(self, g: Any) -> Any:
        if self.needs(0):
            name = type(self).__name__.lower()
            raise NotImplementedError(f"{name}: the derivative for the first input is not known")
        a, x = self.saved
        slope = exp(xlogy(a - 1, x) - x - lgamma(a))
        return None, (-g if self.upper else g) * slope


class Igammac(Igamma):
    """y = igammac(a, x);  dx = −g·xᵃ⁻¹·exp(−x) / Γ(a), and there is no rule for da"""

    upper = True


def _floats(name: str, a: Any, b: Any) -> tuple:
    """The operands in their common dtype, which must be a floating point one."""
    a, b = promote(a, b, name)
    require_float(name, a, NotImplementedError)
    return a, b


@takes_out("cast", elementwise=True)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function, elementwise; a gradient for other only."""
    return Igamma.apply(*_floats("igamma", input, other))


@takes_out("cast", elementwise=True)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """The regularised upper incomplete gamma function, elementwise; a gradient for other only."""
    return Igammac.apply(*_floats("igammac", input, other))


__all__ = ["igamma", "igammac"]
