"""HalfNormal and HalfCauchy: the absolute value of a variable with the centre 0."""

from __future__ import annotations

import math
from typing import Any

from ...create import full_like, zeros_like
from ...ops import where
from ...tensor import Tensor
from .. import constraints
from ..transformed_distribution import TransformedDistribution
from ..transforms import AbsTransform
from ..utils import broadcast_all
from .cauchy import Cauchy
from .normal import Normal


class _Half(TransformedDistribution):
    """Base class: |x| with x from a symmetric distribution, whose density is doubled."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample: Any = True

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale.detach())

    def log_prob(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            value = broadcast_all(self.scale, value)[1]
        self._validate_sample(value)
        inside = self.base_dist.log_prob(value) + math.log(2)
        return where(value >= 0, inside, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """|x| with x from Normal(0, scale)"""

    def __init__(self, scale: Any, validate_args: Any = None):
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(HalfNormal, _instance))

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """|x| with x from Cauchy(0, scale)"""

    def __init__(self, scale: Any, validate_args: Any = None):
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self) -> Tensor:
        return full_like(self.scale.detach(), math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
