"""The uniform distribution on an interval."""

from __future__ import annotations

from typing import Any

from ..create import rand
from ..tensor import Tensor
from .distribution import Distribution, broadcast


class Uniform(Distribution):
    """p(x) = 1 / (high − low) for low ≤ x < high, 0 elsewhere"""

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: Any = None):
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape, (), validate_args)
        self._require(self.low < self.high, "low < high", self.low)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """low + (high − low)·u with u uniform in [0, 1)."""
        share = rand(self._extended_shape(sample_shape), dtype=self.low.dtype,
                        device=self.low.device)  # fmt: skip
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        inside = (self.low <= value) & (self.high > value)
        self._require(inside | (value == self.high), "values between low and high", value)
        return inside.to(self.low).log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
