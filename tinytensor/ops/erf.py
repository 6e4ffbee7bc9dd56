"""The error function, elementwise. NumPy has none, so it is built here from its own parts.

    erf x = 2/√π · ∫₀ˣ exp(−t²) dt        erfc x = 1 − erf x

float64: W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of
Computation 23 (1969), 631–637, with the coefficients of his routine CALERF, to be found at
netlib.org/specfun/erf: three intervals, a relative error below 1e-15 in each.

float32: one quotient of polynomials for all x, fitted for this file to erf(x)/x on 0 … 3.93 by
reweighted least squares (relative error 2e-8, a third of the last bit), without any branch: erf is
on the way of every `gelu`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..backend import Array, xp
from ..kernels.machinery.constants import ERF_E, ERF_F
from ..out import takes_out
from .pointwise import exp
from .promote import as_float

if TYPE_CHECKING:
    from ..tensor import Tensor

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
ONE_OVER_SQRT_PI = 1 / math.sqrt(math.pi)

# Coefficients run from the highest power to the constant.
# |x| ≤ 0.46875: erf x = x · A(x²) / B(x²)
A = (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3)  # fmt: skip
B = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
     2.84423683343917062e3)  # fmt: skip
# 0.46875 < x ≤ 4: erfc x = exp(−x²) · C(x) / D(x)
C = (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3)  # fmt: skip
D = (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
     1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
     1.23033935480374942e3)  # fmt: skip
# x > 4: erfc x = exp(−x²) / x · (1/√π − z · P(z) / Q(z)) with z = 1/x²
P = (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4)  # fmt: skip
Q = (1.0, 2.56852019228982242e0, 1.87295284992346047e0, 5.27905102951428412e-1,
     6.05183413124413191e-2, 2.33520497626869185e-3)  # fmt: skip

# float32: ERF_E and ERF_F, which the kernels share

BLOCK = 8192  # elements taken at a time on a CPU, so that all the steps below find them in cache


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    y = x * coefficients[0]
    y += coefficients[1]
    for c in coefficients[2:]:
        y *= x
        y += c
    return y


def _quotient(x: Array, numerator: Sequence[float], denominator: Sequence[float]) -> Array:
    y = _polynomial(x, numerator)
    y /= _polynomial(x, denominator)
    return y


def _tail(a: Array) -> Array:
    """erfc(a) for a > 0.46875."""
    library = xp(a)
    a = library.minimum(a, 28.0)  # erfc(28) is 0 in float64; keeps ∞ − ∞ out of what follows
    near = a <= 4
    y = library.empty_like(a)
    y[near] = _quotient(a[near], C, D)
    far = a[~near]
    z = 1 / (far * far)
    y[~near] = (ONE_OVER_SQRT_PI - z * _quotient(z, P, Q)) / far
    # exp(−a²) is off by a² roundings; with a = high + low and few bits in high, high² is exact.
    high = library.trunc(a * 16) / 16
    y *= library.exp(-high * high)
    y *= library.exp((high - a) * (high + a))
    return y


def erf_array(x: Array) -> Array:
    """erf x of a float64 array."""
    library = xp(x)
    small = library.abs(x) <= 0.46875
    y = library.empty_like(x)
    inner = x[small]
    y[small] = inner * _quotient(inner * inner, A, B)
    outer = x[~small]
    y[~small] = library.copysign(1 - _tail(library.abs(outer)), outer)
    return y


def erfc_array(x: Array) -> Array:
    """erfc x of a float64 array."""
    library = xp(x)
    small = library.abs(x) <= 0.46875
    y = library.empty_like(x)
    inner = x[small]
    y[small] = 1 - inner * _quotient(inner * inner, A, B)
    outer = x[~small]
    tail = _tail(library.abs(outer))
    y[~small] = library.where(outer < 0, 2 - tail, tail)
    return y


def _erf32(x: Array) -> Array:
    """erf to float32's precision; x is float64, as the steps would otherwise lose three bits."""
    x = xp(x).clip(x, -3.93, 3.93)
    return x * _quotient(x * x, ERF_E, ERF_F)


def in_blocks(function: Callable, x: Array) -> Array:
    """function(x), computed in float64, in x's shape and dtype."""
    library = xp(x)
    flat = library.asarray(x).reshape(-1)
    y = library.empty_like(flat)
    block = BLOCK if library is np else max(flat.size, 1)
    for start in range(0, flat.size, block):
        part = slice(start, start + block)
        y[part] = function(flat[part].astype(np.float64))
    return y.reshape(x.shape)


class Erf(Op):
    """y = erf x;  dx = g · 2/√π · exp(−x²)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return in_blocks(erf_array if x.dtype.itemsize == 8 else _erf32, x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * (exp(-(x * x)) * TWO_OVER_SQRT_PI)


class Erfc(Op):
    """y = 1 − erf x, precise also where erf x is near 1;  dx = −g · 2/√π · exp(−x²)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return in_blocks(erfc_array, x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * (exp(-(x * x)) * -TWO_OVER_SQRT_PI)


@takes_out("cast", elementwise=True)
def erf(input: Tensor) -> Tensor:
    """The error function, 2/√π · ∫₀ˣ exp(−t²) dt, elementwise."""
    return Erf.apply(as_float("erf", input))


@takes_out("cast", elementwise=True)
def erfc(input: Tensor) -> Tensor:
    """1 − erf(input), elementwise, without the loss of digits for large input."""
    return Erfc.apply(as_float("erfc", input))


__all__ = ["erf", "erfc"]
