"""Kumaraswamy: similar to Beta, with a cdf in closed form."""

from __future__ import annotations

import math
from typing import Any

from ...create import ones_like, zeros_like
from ...ops import where
from ...tensor import Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AffineTransform, PowerTransform
from ..utils import broadcast_all, euler_constant
from .uniform import Uniform


class Kumaraswamy(TransformedDistribution):
    """cdf(x) = 1 − (1 − xᵃ)ᵇ, 0 < x < 1

    concentration1  a, positive
    concentration0  b, positive
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample: Any = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        like = self.concentration0.detach()
        steps = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        base = Uniform(zeros_like(like), ones_like(like), validate_args)
        super().__init__(base, steps, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, new)

    def _moment(self, n: int) -> Tensor:
        """E[xⁿ] = b·B(1 + n/a, b)"""
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """((a − 1) / (a·b − 1))^(1/a), and NaN if a < 1 or b < 1. (PyTorch returns NaN for all.)"""
        a, b = self.concentration1, self.concentration0
        peak = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return where((a < 1) | (b < 1), math.nan, peak)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
