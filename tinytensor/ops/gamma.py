"""The gamma function's logarithm and its derivatives, and the inverse of erf, elementwise.

    lgamma x = log |Γ(x)|      digamma x = d/dx log Γ(x)      polygamma(n, x) = dⁿ/dxⁿ digamma x

NumPy has none of them. They are computed in float64, whatever the dtype of x, from the series of
Abramowitz and Stegun, *Handbook of Mathematical Functions*: 6.1.33 (near 2), 6.1.41 (large x),
6.3.18 and 6.4.11 (large x), and the reflections 6.1.17, 6.3.7 and 6.4.7 (x < 0). Next to a zero of
a function, the error is small against 1, not against the result; lgamma's zeros at 1 and 2 are
exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..backend import Array, xp
from ..out import takes_out
from .erf import erf_array, erfc_array, in_blocks
from .pointwise import exp
from .promote import as_float

if TYPE_CHECKING:
    from ..tensor import Tensor

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
EULER = 0.577215664901532860606512
# B₂, B₄, …, B₂₄: the Bernoulli numbers
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
             43867 / 798, -174611 / 330, 854513 / 138, -236364091 / 2730)  # fmt: skip


def _zeta_minus_one(s: int) -> float:
    """ζ(s) − 1 for s = 2, 3, …: twenty terms, and Euler and Maclaurin's formula for the rest."""
    n = 20
    rest = n ** (1 - s) / (s - 1) - 0.5 * n**-s
    factor = s * float(n) ** (-s - 1)
    for k, b in enumerate(BERNOULLI[:6], 1):
        rest += b / math.factorial(2 * k) * factor
        factor *= (s + 2 * k - 1) * (s + 2 * k) / n**2
    return math.fsum([float(m) ** -s for m in range(2, n + 1)] + [rest])


# log Γ(2 + z) = (1 − γ)·z + Σ (−1)ᵏ·(ζ(k) − 1)/k·zᵏ; the terms shrink like 4⁻ᵏ for |z| ≤ ½
NEAR_TWO = (1 - EULER, *((-1) ** k * _zeta_minus_one(k) / k for k in range(2, 28)))


def _horner(z: Array, coefficients: Any) -> Array:
    """c₀ + c₁·z + c₂·z² + …"""
    y = xp(z).full_like(z, coefficients[-1])
    for c in coefficients[-2::-1]:
        y *= z
        y += c
    return y


def _distance_to_integer(x: Array) -> Array:
    """x − round(x), exactly, so that sin(π·x) is ±sin(π·distance) also for large x."""
    return x - xp(x).round(x)


def _cotangent(x: Array) -> Array:
    """cot πx, without a loss of digits near its zeros and poles."""
    library = xp(x)
    d = _distance_to_integer(x)
    near_zero = library.copysign(library.tan(math.pi * (0.5 - library.abs(d))), d)
    return library.where(library.abs(d) < 0.25, 1 / library.tan(math.pi * d), near_zero)


def _lgamma_positive(x: Array) -> Array:
    """log Γ(x) for x ≥ 0."""
    library = xp(x)
    # Γ(x) = Γ(base)·(x − 1)·(x − 2)⋯ with base from 1.5 to 2.5; or x is below that
    middle = library.clip(x, 0, 9)
    base, factor = middle.copy(), library.ones_like(x)
    for _ in range(7):
        above = base > 2.5
        base = library.where(above, base - 1, base)
        factor = library.where(above, factor * base, factor)
    nothing, one = base < 0.5, (base >= 0.5) & (base < 1.5)
    z = library.where(nothing, base, library.where(one, base - 1, base - 2))
    near = z * _horner(z, NEAR_TWO) - library.where(nothing | one, library.log1p(z), 0)
    near += library.log(factor) - library.where(nothing, library.log(base), 0)
    # Stirling's series
    wide = library.maximum(x, 9)
    w = 1 / (wide * wide)
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:9], 1)]
    far = (wide - 0.5) * (library.log(wide) - 1) + _horner(w, terms) / wide
    far += HALF_LOG_TWO_PI - 0.5
    return library.where(x < 9, near, far)


def lgamma_array(x: Array) -> Array:
    """log |Γ(x)| of a float64 array."""
    library = xp(x)
    with np.errstate(all="ignore"):
        y = _lgamma_positive(library.abs(x))
        if (negative := x < 0).any():
            # Γ(x)·Γ(−x) = −π / (x·sin πx)
            a = x[negative]
            pole = library.abs(library.sin(math.pi * _distance_to_integer(a)))
            # two logarithms: x·sin πx underflows for tiny x
            found = math.log(math.pi) - library.log(pole) - library.log(-a) - y[negative]
            y[negative] = library.where(library.isinf(a), math.inf, found)
        return y


def digamma_array(x: Array) -> Array:
    """d/dx log Γ(x) of a float64 array: −∞ at 0, +∞ at −0, NaN at the other poles."""
    library = xp(x)
    with np.errstate(all="ignore"):
        mirrored = x < 0
        a = library.where(mirrored, 1 - x, x)
        total = library.zeros_like(a)
        for _ in range(10):  # ψ(a) = ψ(a + 1) − 1/a
            below = a < 10
            total -= library.where(below, 1 / a, 0)
            a = library.where(below, a + 1, a)
        w = 1 / (a * a)
        series = w * _horner(w, [b / (2 * k) for k, b in enumerate(BERNOULLI[:8], 1)])
        total += library.log(a) - 0.5 / a - series
        if mirrored.any():
            # ψ(1 − x) − ψ(x) = π·cot πx
            a = x[mirrored]
            pole = a == library.round(a)
            total[mirrored] -= library.where(pole, math.nan, math.pi * _cotangent(a))
        return library.where(x == 0, library.copysign(math.inf, -x), total)


def _cotangent_derivative(n: int) -> list[float]:
    """c with dⁿ/dxⁿ π·cot πx = πⁿ⁺¹·Σ cₖ·cotᵏ πx, from (cotᵏ)' = −π·k·(cotᵏ⁻¹ + cotᵏ⁺¹)."""
    c = [0.0, 1.0]
    for _ in range(n):
        new = [0.0] * (len(c) + 1)
        for k in range(1, len(c)):
            new[k - 1] -= k * c[k]
            new[k + 1] -= k * c[k]
        c = new
    return c


def polygamma_array(n: int, x: Array) -> Array:
    """dⁿ⁺¹/dxⁿ⁺¹ log Γ(x) of a float64 array, n ≥ 1: (−1)ⁿ⁺¹·n!·Σ (x + k)⁻ⁿ⁻¹, k = 0, 1, …"""
    library, s, sign = xp(x), n + 1, (-1) ** (n + 1)
    with np.errstate(all="ignore"):
        mirrored = x < 0
        a = library.where(mirrored, 1 - x, x)
        shifts = 10 + n // 2
        total = library.zeros_like(a)
        for k in range(shifts):
            total += (a + k) ** -s
        a = a + shifts  # the rest of the sum by Euler and Maclaurin's formula
        total += a ** (1.0 - s) / (s - 1) + 0.5 * a**-s
        factor = s * a ** (-s - 1.0)
        for k, b in enumerate(BERNOULLI, 1):
            total += b / math.factorial(2 * k) * factor
            factor = factor * ((s + 2 * k - 1) * (s + 2 * k)) / (a * a)
        scale = math.exp(math.lgamma(n + 1)) if n > 20 else float(math.factorial(n))
        total *= sign * scale
        if mirrored.any():
            # (−1)ⁿ·ψₙ(1 − x) − ψₙ(x) = dⁿ/dxⁿ π·cot πx
            slope = math.pi**s * _horner(_cotangent(x[mirrored]), _cotangent_derivative(n))
            total[mirrored] = (-1) ** n * total[mirrored] - slope
        return library.where((x == library.round(x)) & (x <= 0), sign * math.inf, total)


# Starting values for erfinv, to about three digits, from the highest power to the constant
CENTRE = ((-0.140543331, 0.914624893, -1.645349621, 0.886226899),
          (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0))  # fmt: skip
TAIL = ((1.641345311, 3.429567803, -1.624906493, -1.970840454), (1.637067800, 3.543889200, 1.0))


def erfinv_array(x: Array) -> Array:
    """y with erf y = x, of a float64 array: a starting value, then Newton's iteration."""
    library = xp(x)
    with np.errstate(all="ignore"):
        a = library.abs(x)
        z = a * a
        inner = a * _horner(z, CENTRE[0][::-1]) / _horner(z, CENTRE[1][::-1])
        rest = 1 - a  # exact for a ≥ ½, as is what Newton's iteration compares with erfc
        t = library.sqrt(-library.log(rest / 2))
        outer = _horner(t, TAIL[0][::-1]) / _horner(t, TAIL[1][::-1])
        y = library.where(a <= 0.7, inner, outer)
        for _ in range(3):
            error = library.where(a < 0.5, erf_array(y) - a, rest - erfc_array(y))
            y = y - error * (math.sqrt(math.pi) / 2) * library.exp(y * y)
        y = library.where(a == 1, math.inf, library.where(a > 1, math.nan, y))
        return library.copysign(y, x)


# ------------------------------------------------------------------------------------------
# Ops
# ------------------------------------------------------------------------------------------


class Lgamma(Op):
    """y = log |Γ(x)|;  dx = g·digamma x"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return in_blocks(lgamma_array, x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * digamma(x)


class Digamma(Op):
    """y = Γ'(x) / Γ(x);  dx = g·polygamma(1, x)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return in_blocks(digamma_array, x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * polygamma(1, x)


class Polygamma(Op):
    """y = dⁿ/dxⁿ digamma x;  dx = g·polygamma(n + 1, x)"""

    saves = ("x",)

    def forward(self, x: Array, n: int) -> Array:
        self.n = n
        return in_blocks(lambda part: polygamma_array(n, part), x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * polygamma(self.n + 1, x)


class Erfinv(Op):
    """y = erf⁻¹ x;  dx = g·√π/2·exp(y²)"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return in_blocks(erfinv_array, x)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g * (exp(y * y) * (math.sqrt(math.pi) / 2))


@takes_out("cast", elementwise=True)
def lgamma(input: Tensor) -> Tensor:
    """The logarithm of |Γ(input)|, elementwise; ∞ at 0, −1, −2, …"""
    return Lgamma.apply(as_float("lgamma", input))


@takes_out("cast", elementwise=True)
def digamma(input: Tensor) -> Tensor:
    """The derivative of log Γ(input), elementwise; NaN at −1, −2, …"""
    return Digamma.apply(as_float("digamma", input))


@takes_out("cast", elementwise=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma, elementwise; digamma itself for n = 0."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"polygamma: got n of type {type(n).__name__}, expected an int")
    if n < 0:
        raise RuntimeError(f"polygamma: got n={n}, expected n >= 0")
    if n == 0:
        return Digamma.apply(as_float("polygamma", input))
    return Polygamma.apply(as_float("polygamma", input), n)


@takes_out("cast", elementwise=True)
def erfinv(input: Tensor) -> Tensor:
    """The inverse of erf, elementwise; ±∞ at ±1 and NaN beyond."""
    return Erfinv.apply(as_float("erfinv", input))


@takes_out("cast", elementwise=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, elementwise.

    p·(p − 1)/4·log π + Σ log Γ(input − j/2),  j = 0 … p−1
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: got p={p}, expected p >= 1")
    x = as_float("mvlgamma", input)
    total = lgamma(x)
    for j in range(1, p):
        total = total + lgamma(x - j / 2)
    return total + p * (p - 1) / 4 * math.log(math.pi)


__all__ = ["digamma", "erfinv", "lgamma", "mvlgamma", "polygamma"]
