"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from ...create import rand
from ...dtype import finfo
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all


class Laplace(Distribution):
    """p(x) = exp(−|x − loc| / scale) / (2·scale)"""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc − scale·sign(u)·log(1 − |u|) with u uniform in (−1, 1)."""
        shape, low = self._extended_shape(sample_shape), finfo(self.loc.dtype).eps - 1
        u = low + (1 - low) * rand(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
