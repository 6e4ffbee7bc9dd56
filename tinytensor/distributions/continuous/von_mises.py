"""VonMises: the normal distribution of angles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.op import Op
from ...autograd.settings import no_grad
from ...backend import Array, xp
from ...create import rand, zeros_like
from ...dtype import float64
from ...ops import acos, cos, where
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all

POINTS = 64  # of the trapezoidal rule, which is exact to the last bit for x ≤ 30
TERMS = 16  # of the asymptotic series, for x > 30


def scaled_bessel(order: int, x: Array) -> Array:
    """exp(−x)·Iₙ(x) for x ≥ 0, of a float64 array.

    Iₙ is a mean over a circle, exp(−x)·Iₙ(x) = 1/π·∫₀^π exp(x·(cos θ − 1))·cos nθ dθ, and for
    large x the series of Abramowitz and Stegun 9.7.1.
    """
    library = xp(x)
    x = x.astype(np.float64)
    small, large = library.minimum(x, 30), library.maximum(x, 30)
    angle = (library.arange(POINTS) + 0.5) * (math.pi / POINTS)
    wave = library.exp(small[..., None] * (library.cos(angle) - 1)) * library.cos(order * angle)
    term, total = library.ones_like(large), library.ones_like(large)
    for k in range(1, TERMS):
        term = term * (-(4 * order**2 - (2 * k - 1) ** 2) / (8 * k)) / large
        total = total + term
    return library.where(x <= 30, wave.mean(-1), total / library.sqrt(2 * math.pi * large))


class LogBessel0(Op):
    """y = log I₀(x), x ≥ 0;  dx = g·I₁(x) / I₀(x)"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return (xp(x).log(scaled_bessel(0, x)) + x).astype(x.dtype)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * BesselRatio.apply(x)


class BesselRatio(Op):
    """y = I₁(x) / I₀(x), x ≥ 0;  dx = g·(1 − y/x − y²)"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return (scaled_bessel(1, x) / scaled_bessel(0, x)).astype(x.dtype)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return g * (1 - y / x - y * y)


class VonMises(Distribution):
    """p(x) = exp(κ·cos(x − loc)) / (2π·I₀(κ)) with κ the concentration; x is an angle

    The mean and the variance are the circular ones: loc, and 1 − E[cos(x − loc)].
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: Any = None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 1 - BesselRatio.apply(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        peak = self.concentration * cos(value - self.loc)
        return peak - math.log(2 * math.pi) - LogBessel0.apply(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Rejection from a wrapped Cauchy distribution, in float64.

        D. Best, N. Fisher, "Efficient simulation of the von Mises distribution", Applied
        Statistics 28 (1979), 152–157.
        """
        with no_grad():
            shape = self._extended_shape(sample_shape)
            loc, kappa = (p.to(float64).expand(shape) for p in (self.loc, self.concentration))
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            # for small κ the difference above loses its digits: use the series
            r = where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            angle, waiting = zeros_like(loc), zeros_like(loc) == 0
            while bool(waiting.any()):
                z, u, side = rand(3, *shape, dtype=float64, device=loc.device).unbind()
                z = cos(math.pi * z)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = (c * (2 - c) > u) | ((c / u).log() + 1 - c >= 0)
                drawn = (side - 0.5).sign() * acos(f.clamp(min=-1, max=1))
                angle = where(waiting & accepted, drawn, angle)
                waiting = waiting & ~accepted
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
