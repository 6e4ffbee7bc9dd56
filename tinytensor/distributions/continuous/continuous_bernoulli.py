"""ContinuousBernoulli: a density on [0, 1] for values that are nearly 0 or 1, such as pixels."""

from __future__ import annotations

import math
from typing import Any

from ...create import ones_like, rand, zeros_like
from ...ops import binary_cross_entropy_with_logits, where
from ...tensor import Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    one_of,
    probs_to_logits,
)


class ContinuousBernoulli(ExponentialFamily):
    """p(x) = C(λ)·λˣ·(1 − λ)¹⁻ˣ, 0 ≤ x ≤ 1;  C = log((1 − λ)/λ) / (1 − 2λ), with C(½) = 2

    probs   λ, from 0 to 1; or logits = log(λ / (1 − λ))
    lims    between these λ, Taylor series at ½ replace the formulas, which become 0/0 there
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501),
                 validate_args: Any = None):  # fmt: skip
        (given,) = broadcast_all(one_of("ContinuousBernoulli", probs, logits))
        if probs is not None:
            if validate_args is not None and not bool(constraints.unit_interval.check(given).all()):
                raise ValueError("The parameter probs has invalid values")  # before it is clamped
            self.probs = clamp_probs(given)
        else:
            self.logits = given
        self._lims = lims
        super().__init__(given.shape, (), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in vars(self) else self.logits

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    def _stable(self) -> Tensor:
        """True where the formulas hold, away from ½."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """probs, with another number in place of those near ½."""
        return where(self._stable(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self) -> Tensor:
        """log C."""
        cut = self._cut()
        low = (-2.0 * where(cut <= 0.5, cut, 0.0)).log1p()
        high = (2.0 * where(cut >= 0.5, cut, 1.0) - 1.0).log()
        formula = ((-cut).log1p() - cut.log()).abs().log() - where(cut <= 0.5, low, high)
        square = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4 / 3 + 104 / 45 * square) * square
        return where(self._stable(), formula, series)

    @property
    def mean(self) -> Tensor:
        cut, x = self._cut(), self.probs - 0.5
        formula = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        return where(self._stable(), formula, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        cut, square = self._cut(), (self.probs - 0.5).pow(2)
        logarithm = (-cut).log1p() - cut.log()
        formula = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / logarithm.pow(2)
        return where(self._stable(), formula, 1 / 12 - (1 / 15 - 128 / 945 * square) * square)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The inverse cdf of uniform numbers."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -cross + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        cut = self._cut()
        power = cut.pow(value) * (1.0 - cut).pow(1.0 - value)
        inside = where(self._stable(), (power + cut - 1.0) / (2.0 * cut - 1.0), value)
        inside = where(value >= 1.0, ones_like(value), inside)
        return where(value <= 0.0, zeros_like(value), inside)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut()
        change = (-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()
        return where(self._stable(), change / (cut.log() - (-cut).log1p()), value)

    def entropy(self) -> Tensor:
        zero, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = where(stable, x, self._lims[0] - 0.5)
        formula = cut.expm1().abs().log() - cut.abs().log()
        return where(stable, formula, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
