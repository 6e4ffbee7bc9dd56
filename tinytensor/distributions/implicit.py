"""Draws of gamma and Dirichlet numbers with a gradient with respect to their concentrations.

A draw x is not a differentiable function of random numbers here: it comes from rejection sampling.
But the probability F(x; a) of a smaller number must not change while a and x move together, so

    dx/da = −(∂F/∂a) / p(x)

With F = ∫ p(t) dt and ∂p/∂a = p(t)·∂log p(t)/∂a this is an integral over one tail of p (both tails
give the same, because the integral over all t is 0):

    dx/da = −∫_{t<x} (∂log p(t)/∂a)·p(t)/p(x) dt = ∫_{t>x} (∂log p(t)/∂a)·p(t)/p(x) dt

The tail that x lies in is taken: there p(t)/p(x) only falls. With t = x·exp(∓u) it runs over
0 < u < ∞, and `_integral` computes it by the trapezoidal rule in log u.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.op import Op
from ..backend import Array, xp
from ..dtype import finfo
from ..ops.gamma import digamma_array
from ..tensor import Tensor
from .draws import draw_gamma, draw_log_gamma

STEP = {8: 0.12, 4: 0.2, 2: 0.2}  # by bytes per number: errors below 1e-9 and 1e-5
NEGLIGIBLE = 38.0  # exp(−38) is far below the last bit
BLOCK = 1024  # elements taken at a time, each with about a hundred points


def _integral(f: Callable[[Array], Array], narrow: Array, wide: Array, step: float) -> Array:
    """∫₀^∞ f(u) du, for each element of a block; f grows negligible beyond u = wide.

    u = narrow·exp(τ − exp(−τ)): points are evenly spaced in log u for u > narrow and crowd towards
    0 below, where f is smooth. The trapezoidal rule in τ then converges exponentially.
    """
    library = xp(narrow)
    ratio = wide / narrow
    ratio = library.where(library.isfinite(ratio), library.maximum(ratio, 1), 1)  # a NaN gives NaN
    last = float(library.log(ratio).max())
    tau = library.arange(-3.6, last + 0.5, step)[:, None]  # (points, 1)
    u = narrow * library.exp(tau - library.exp(-tau))  # (points, elements)
    return (f(u) * u * (1 + library.exp(-tau))).sum(0) * step


def _in_blocks(function: Callable[..., Array], *arrays: Array) -> Array:
    """function of flat float64 arrays, a block at a time, in the first array's shape and dtype."""
    first, library = arrays[0], xp(arrays[0])
    flat = [library.broadcast_to(a, first.shape).reshape(-1).astype(np.float64) for a in arrays]
    result = library.empty(first.size, dtype=first.dtype)
    with np.errstate(all="ignore"):
        for start in range(0, first.size, BLOCK):
            part = slice(start, start + BLOCK)
            result[part] = function(*(a[part] for a in flat), STEP[first.dtype.itemsize])
    return result.reshape(first.shape)


def _tail_scales(slope: Array, curvature: Array, rate: Array) -> tuple[Array, Array]:
    """The scales of exp(−slope·u − curvature·u²/2 …) that decays at least like exp(−rate·u).

    The narrow one is where the exponent reaches about −1; the wide one where it is negligible.
    """
    library = xp(slope)
    slope = library.maximum(slope, 0)
    narrow = 2 / (slope + library.sqrt(slope * slope + 2 * curvature) + 1)
    return narrow, library.maximum(NEGLIGIBLE / rate, narrow)


def _gamma_grad(a: Array, x: Array, step: float) -> Array:
    """dx/da for x drawn from Gamma(a, 1), flat float64 arrays.

    log p(t) = (a − 1)·log t − t − log Γ(a), so ∂log p(t)/∂a = log t − ψ(a).
    """
    library = xp(a)
    s = library.log(x) - digamma_array(a)
    # The tail: below or above x, t = x·exp(side·u). (The upper one has a sharp end at u = −log x.)
    side = library.where(x < library.maximum(a, 4), -1.0, 1.0)
    slope = side * (x - a)

    def integrand(u: Array) -> Array:
        # p(t)/p(x)·dt/x = exp(−slope·u − x·(exp(side·u) − 1 − side·u)) du
        v = side * u
        return (u + side * s) * library.exp(-slope * u - x * (library.expm1(v) - v))

    # Far out, the lower tail is exp(−a·u); the upper one falls faster than exp(−x·u²/2)
    narrow, lower = _tail_scales(slope, x, a)
    upper = 2 * NEGLIGIBLE / (slope + library.sqrt(slope * slope + 2 * NEGLIGIBLE * x))
    return x * _integral(integrand, narrow, library.where(side < 0, lower, upper), step)


def _beta_grad(x: Array, a: Array, b: Array, step: float) -> Array:
    """dx/da for x drawn from Beta(a, b), divided by 1 − x; flat float64 arrays.

    ∂log p(t)/∂a = log t − ψ(a) + ψ(a + b).
    """
    library = xp(a)
    y = 1 - x
    s = digamma_array(a + b) - digamma_array(a)
    low = x * (a + b) < a
    # the side of x that is integrated over, z = x or 1 − x, with z·exp(−u) for t or 1 − t
    z, other = library.where(low, x, y), library.where(low, y, x)
    decay, power = library.where(low, a, b), library.where(low, b, a) - 1

    def integrand(u: Array) -> Array:
        fall = -library.expm1(-u)
        grown = library.log1p(z * fall / other)  # log((1 − z·exp(−u)) / (1 − z))
        weight = library.exp(-decay * u + power * grown)
        logarithm = library.where(low, library.log(x) - u, library.log(x) + grown)
        return (logarithm + s) * weight

    ratio = z / other
    slope = decay - power * ratio
    narrow, wide = _tail_scales(slope, library.abs(power) * ratio * (1 + ratio), decay)
    total = _integral(integrand, narrow, wide, step) * library.where(low, -x, y)
    return total / y


def standard_gamma_grad(concentration: Array, value: Array) -> Array:
    """dx/da of draws x from Gamma(a, 1)."""
    return _in_blocks(_gamma_grad, concentration, value)


def dirichlet_grad(value: Array, concentration: Array, total: Array) -> Array:
    """(dx/da) / (1 − x) of draws x from Beta(a, total − a)."""
    return _in_blocks(_beta_grad, value, concentration, total - concentration)


# ------------------------------------------------------------------------------------------
# Ops
# ------------------------------------------------------------------------------------------


class StandardGamma(Op):
    """y = x, a draw from Gamma(a, 1);  da = g·dx/da"""

    saves = ("a", "x")

    def forward(self, a: Array, x: Array) -> Array:
        return x.copy()

    def backward(self, g: Any) -> Any:
        a, x = self.saved
        return g * StandardGammaGrad.apply(a, x), None


class StandardGammaGrad(Op):
    """y = dx/da of a draw x from Gamma(a, 1); there is no rule for its own derivative"""

    def forward(self, a: Array, x: Array) -> Array:
        return standard_gamma_grad(a, x)

    def backward(self, g: Any) -> Any:
        raise RuntimeError("Gamma.rsample: the second derivative is not implemented")


class DirichletDraw(Op):
    """y = x, a draw from Dirichlet(a);  daₖ = dₖ·(gₖ − Σ x·g),  dₖ = (dxₖ/daₖ) / (1 − xₖ)

    xₖ alone is a draw from Beta(aₖ, Σa − aₖ), which gives dxₖ/daₖ. The other components shrink by
    the same factor, so that the sum stays 1: dxⱼ/daₖ = −xⱼ·dₖ.
    """

    saves = ("a", "x")

    def forward(self, a: Array, x: Array) -> Array:
        return x.copy()

    def backward(self, g: Any) -> Any:
        a, x = self.saved
        return DirichletGrad.apply(x, a) * (g - (x * g).sum(-1, keepdims=True)), None


class DirichletGrad(Op):
    """y = (dx/da) / (1 − x) of a draw x from Dirichlet(a); no rule for its own derivative"""

    def forward(self, x: Array, a: Array) -> Array:
        return dirichlet_grad(x, a, xp(a).broadcast_to(a.sum(-1, keepdims=True), a.shape))

    def backward(self, g: Any) -> Any:
        raise RuntimeError("Dirichlet.rsample: the second derivative is not implemented")


def standard_gamma(concentration: Tensor) -> Tensor:
    """A draw from Gamma(concentration, 1), with a gradient."""
    # a 0, from a concentration near 0, would have neither a logarithm nor a gradient
    drawn = draw_gamma(concentration).clamp(min=finfo(concentration.dtype).tiny)
    return StandardGamma.apply(concentration, drawn)


def standard_dirichlet(concentration: Tensor) -> Tensor:
    """A draw from Dirichlet(concentration), with a gradient."""
    drawn = draw_log_gamma(concentration).softmax(-1).to(concentration.dtype)
    limits = finfo(concentration.dtype)  # at 0 and 1 there is no gradient
    drawn = drawn.clamp(limits.tiny, 1 - limits.eps / 2)
    return DirichletDraw.apply(concentration, drawn)
