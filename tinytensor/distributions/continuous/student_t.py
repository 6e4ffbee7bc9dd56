"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from ...create import randn
from ...ops import where
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all
from .gamma import Chi2


class StudentT(Distribution):
    """loc + scale·x / √(z / df) with x standard normal and z from Chi2(df)"""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        super().__init__(self.df.shape, (), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        above = where(self.df > 2, self.df, 3.0)
        finite = self.scale.pow(2) * above / (above - 2)
        infinite = where(self.df > 1, math.inf, math.nan)
        return where(self.df > 2, finite, infinite.to(finite.dtype))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = randn(self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * (z / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y, df = (value - self.loc) / self.scale, self.df
        size = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        size = size + (0.5 * df).lgamma() - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - size

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        spread = more * (more.digamma() - half.digamma())
        return self.scale.log() + spread + 0.5 * self.df.log() + beta
