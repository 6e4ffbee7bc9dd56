"""Bernoulli: a random variable that is 0 or 1."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..autograd.settings import no_grad
from ..create import bernoulli
from ..ops import broadcast_tensors, sigmoid
from ..tensor import Tensor
from .distribution import Distribution, broadcast, clamp_probs, lazy_property, one_of


class Bernoulli(Distribution):
    """P(1) = probs, or sigmoid(logits);  P(0) = 1 − P(1)"""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None):
        (given,) = broadcast(one_of("Bernoulli", probs, logits))
        super().__init__(given.shape, (), validate_args)
        if probs is not None:
            self._require((given >= 0) & (given <= 1), "probs from 0 to 1", given)
            self.probs = given
        else:
            self.logits = given

    @lazy_property
    def probs(self) -> Tensor:
        return sigmoid(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        probs = clamp_probs(self.probs)
        return probs.log() - (-probs).log1p()

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        return mode.masked_fill(self.probs == 0.5, float("nan"))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._require((value == 0) | (value == 1), "values 0 and 1", value)
        logits, value = broadcast_tensors(self.logits, value)
        return -ops.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return ops.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
