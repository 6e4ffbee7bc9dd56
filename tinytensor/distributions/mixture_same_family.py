"""MixtureSameFamily: a weighted mixture of distributions of one class."""

from __future__ import annotations

from typing import Any

from ..autograd.settings import no_grad
from ..ops import log_softmax
from ..tensor import Tensor
from . import constraints
from .discrete.categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """p(x) = Σₖ P(k)·pₖ(x)

    mixture_distribution    a Categorical over k, with batch shape B (or one that broadcasts to it)
    component_distribution  pₖ, with batch shape (*B, K)
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: Any = None):  # fmt: skip
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                f"MixtureSameFamily: got a mixture_distribution of type "
                f"{type(mixture_distribution).__name__}, expected Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"MixtureSameFamily: got a component_distribution of type "
                f"{type(component_distribution).__name__}, expected a Distribution"
            )
        weights, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        if not batch or any(
            i != j and 1 not in (i, j)
            for i, j in zip(reversed(weights), reversed(batch[:-1]), strict=False)
        ):
            raise ValueError(
                f"MixtureSameFamily: got a mixture_distribution of batch_shape {tuple(weights)} "
                f"that is not compatible with components of batch_shape {tuple(batch)}"
            )
        count = mixture_distribution.param_shape[-1]
        if count != batch[-1]:
            raise ValueError(
                f"MixtureSameFamily: got {count} weights, expected as many as components, "
                f"batch_shape[-1] = {batch[-1]}"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        inner = (*tuple(batch_shape), self._num_component)
        new._component_distribution = self._component_distribution.expand(inner)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return self._finish_expand(new, batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    def _pad(self, x: Tensor) -> Tensor:
        """Add the dimension of the components: (*B, *E) → (*B, 1, *E)."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _weighted(self, each: Tensor) -> Tensor:
        """Σₖ P(k)·each, over the dimension of the components: (*B, K, *E) → (*B, *E)."""
        weights = self._mixture_distribution.probs
        weights = weights.reshape((*weights.shape, *(1,) * self._event_ndims))
        return (weights * each).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances, plus the variance of the means."""
        within = self._weighted(self._component_distribution.variance)
        shift = self._component_distribution.mean - self._pad(self.mean)
        return within + self._weighted(shift.pow(2))

    def cdf(self, x: Tensor) -> Tensor:
        each = self._component_distribution.cdf(self._pad(x))
        return (each * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        self._validate_sample(x)
        each = self._component_distribution.log_prob(self._pad(x))  # (*S, *B, K)
        weights = log_softmax(self._mixture_distribution.logits, dim=-1)  # (*B, K)
        return (each + weights).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            chosen = self._mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            each = self._component_distribution.sample(sample_shape)  # (*S, *B, K, *E)
            at = chosen.dim()
            index = chosen.reshape(*chosen.shape, 1, *(1,) * self._event_ndims)
            index = index.expand(*chosen.shape, 1, *self.event_shape)
            return each.gather(at, index).squeeze(at)

    def __repr__(self) -> str:
        parts = f"\n  {self._mixture_distribution},\n  {self._component_distribution}"
        return f"MixtureSameFamily({parts})"
