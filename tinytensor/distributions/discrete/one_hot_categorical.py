"""OneHotCategorical: one of K classes, as a vector of zeros and a 1."""

from __future__ import annotations

from typing import Any

from ...create import eye
from ...ops import one_hot
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from .categorical import Categorical


class OneHotCategorical(Distribution):
    """P(x) = probs[…, k] for the x whose element k is 1; see Categorical

    probs, logits  (…, K)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None):
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expand(new, batch_shape)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Any:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vectors(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _vectors(self, classes: Tensor) -> Tensor:
        return one_hot(classes, self.event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The K vectors, for each distribution of the batch."""
        k, param, batch = self.event_shape[0], self._param, self.batch_shape
        values = eye(k, dtype=param.dtype, device=param.device)
        values = values.view(k, *(1,) * len(batch), k)
        return values.expand(k, *batch, k) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical with the gradient of its probabilities in place of that of a draw

    Y. Bengio, N. Léonard, A. Courville, "Estimating or propagating gradients through stochastic
    neurons for conditional computation" (2013).
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
