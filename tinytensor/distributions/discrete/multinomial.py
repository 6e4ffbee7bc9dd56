"""Multinomial: how often each of K classes occurs in n draws."""

from __future__ import annotations

import math
from typing import Any

from ...ops import one_hot, where
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all
from .categorical import Categorical
from .counts import Binomial


class Multinomial(Distribution):
    """P(x) = n! / Π xₖ! · Π pₖ^xₖ with n = total_count = Σ xₖ

    probs   p, (…, K), non-negative; normalised to sum to 1. Or logits, as in Categorical
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
                 validate_args: Any = None):  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "Multinomial: inhomogeneous total_count is not supported: got "
                f"{type(total_count).__name__}, expected an int"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expand(new, batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *tuple(sample_shape)))
        # (n, sample_shape, batch_shape) → counts (sample_shape, batch_shape, K)
        return one_hot(drawn, self.event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = where((value == 0) & (logits == -math.inf), 0.0, logits)  # 0·log 0 counts as 0
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """n·H(p) − log n! + Σₖ E[log xₖ!], where each xₖ is binomial."""
        binomial = Binomial(self.total_count, probs=self.probs, validate_args=False)
        counts = binomial.enumerate_support(expand=False)[1:]
        factorials = (binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        known = self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1)
        return known + factorials
