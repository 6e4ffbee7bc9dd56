"""RelaxedBernoulli and RelaxedOneHotCategorical: continuous versions of discrete distributions.

C. Maddison, A. Mnih, Y. Teh, "The concrete distribution" (2017); E. Jang, S. Gu, B. Poole,
"Categorical reparameterization with Gumbel-softmax" (2017). The lower the temperature, the nearer
the draws are to 0 and 1, and the larger the variance of their gradients.
"""

from __future__ import annotations

import math
from typing import Any

from ...create import rand
from ...ops import log
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..transformed_distribution import TransformedDistribution
from ..transforms import ExpTransform, SigmoidTransform
from ..utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    one_of,
    probs_to_logits,
)
from .categorical import Categorical


def _log(temperature: Any) -> Any:
    return log(temperature) if isinstance(temperature, Tensor) else math.log(temperature)


class LogitRelaxedBernoulli(Distribution):
    """(logits + log u − log(1 − u)) / temperature with u uniform: the logit of a relaxed bit"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = False  # as in PyTorch, although rsample exists

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None):  # fmt: skip
        self.temperature = temperature
        (given,) = broadcast_all(one_of(type(self).__name__, probs, logits))
        if probs is not None:
            self.probs = given
        else:
            self.logits = given
        super().__init__(given.shape, (), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        return self.batch_shape

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, like = self._extended_shape(sample_shape), self.probs
        u = clamp_probs(rand(shape, dtype=like.dtype, device=like.device))
        noise = u.log() - (-u).log1p()
        return (noise + probs_to_logits(like.expand(shape), is_binary=True)) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return _log(self.temperature) + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """The sigmoid of LogitRelaxedBernoulli: numbers between 0 and 1"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample: Any = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None):  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs


class ExpRelaxedCategorical(Distribution):
    """log softmax((logits + gumbel noise) / temperature): logarithms of relaxed one-hot vectors"""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None):  # fmt: skip
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        new.temperature, new._categorical = self.temperature, self._categorical.expand(batch_shape)
        return self._finish_expand(new, batch_shape)

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def param_shape(self) -> Any:
        return self._categorical.param_shape

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, like = self._extended_shape(sample_shape), self.logits
        u = clamp_probs(rand(shape, dtype=like.dtype, device=like.device))
        scores = (like - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        k = self.event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        score = logits - value * self.temperature
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + (math.lgamma(k) + (k - 1) * _log(self.temperature))


class RelaxedOneHotCategorical(TransformedDistribution):
    """softmax((logits + gumbel noise) / temperature): vectors that sum to 1, nearly one-hot"""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample: Any = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None):  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, new)

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
