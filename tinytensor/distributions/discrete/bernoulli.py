"""Bernoulli: a random variable that is 0 or 1."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...autograd.settings import no_grad
from ...create import arange, bernoulli
from ...ops import broadcast_tensors, sigmoid
from ...tensor import Tensor
from .. import constraints
from ..exp_family import ExponentialFamily
from ..utils import broadcast_all, lazy_property, one_of, probs_to_logits


class Bernoulli(ExponentialFamily):
    """P(1) = probs, or sigmoid(logits);  P(0) = 1 − P(1)"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None):
        (given,) = broadcast_all(one_of("Bernoulli", probs, logits))
        if probs is not None:
            self.probs = given
        else:
            self.logits = given
        super().__init__(given.shape, (), validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return sigmoid(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def param_shape(self) -> Any:
        return self.batch_shape

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
        self._validate_sample(value)
        logits, value = broadcast_tensors(self.logits, value)
        return -ops.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return ops.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1, for each distribution of the batch."""
        values = arange(2, dtype=self.probs.dtype, device=self.probs.device).view(
            -1, *(1,) * len(self.batch_shape)
        )
        return values.expand(-1, *self.batch_shape) if expand else values
