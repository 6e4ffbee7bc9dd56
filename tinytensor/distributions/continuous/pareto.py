"""Pareto and GeneralizedPareto: distributions with a tail like a power of x."""

from __future__ import annotations

import math
from typing import Any

from ...create import rand, zeros_like
from ...ops import isclose, where
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, ExpTransform
from ..utils import broadcast_all
from .exponential import Exponential


class Pareto(TransformedDistribution):
    """p(x) = alpha·scale^alpha / x^(alpha + 1), x ≥ scale"""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: Any = None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        steps = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(Exponential(self.alpha, validate_args), steps, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Pareto, _instance)
        new.scale, new.alpha = self.scale.expand(batch_shape), self.alpha.expand(batch_shape)
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)  # ∞ for alpha ≤ 1
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)  # ∞ for alpha ≤ 2
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Distribution):
    """P(X > x) = (1 + k·z)^(−1/k), z = (x − loc) / scale ≥ 0; exp(−z) for k = 0

    k is the concentration. For k < 0 the support ends at loc − scale/k.
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, end, math.inf))

    def _zero_and_safe(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with 1 in those places."""
        k = self.concentration
        zero = isclose(k, zeros_like(k))
        return zero, where(zero, 1.0, k)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, k = self._zero_and_safe()
        power = (1 / k + 1).expand(z.shape)
        # k = −1 is the uniform distribution, also at its end, where the logarithm is −∞
        rest = where(power == 0, power, power * (k * z).log1p())
        return -self.scale.log() - where(zero, z, rest)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """log P(X > value)."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, k = self._zero_and_safe()
        return where(zero, -z, -(k * z).log1p() / k)

    def log_cdf(self, value: Tensor) -> Tensor:
        """log P(X ≤ value)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        zero, k = self._zero_and_safe()
        survival = (-value).log1p()
        power = self.loc + self.scale / k * (-k * survival).expm1()
        return where(zero, self.loc - self.scale * survival, power)

    @property
    def mean(self) -> Tensor:
        finite = self.concentration < 1
        k = where(finite, self.concentration, 0.5)
        return where(finite, self.loc + self.scale / (1 - k), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.concentration < 0.5
        k = where(finite, self.concentration, 0.25)
        return where(finite, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)), math.nan)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
