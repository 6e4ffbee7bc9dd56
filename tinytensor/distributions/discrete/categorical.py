"""Categorical: one of K classes."""

from __future__ import annotations

from typing import Any

from ...create import arange, full_like, multinomial
from ...dtype import finfo
from ...ops import broadcast_tensors, softmax
from ...size import Size
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import clamp_probs, lazy_property, one_of


class Categorical(Distribution):
    """P(k) = probs[…, k], or softmax(logits)[…, k];  k = 0 … K−1

    probs   (…, K), non-negative; normalised to sum to 1
    logits  (…, K), any real numbers
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None):
        given = one_of("Categorical", probs, logits)
        if given.dim() < 1:
            raise ValueError("Categorical: got a 0-d tensor, expected one of shape (…, K)")
        self._num_events = given.shape[-1]
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        super().__init__(given.shape[:-1], (), validate_args)
        self._param = self.probs if probs is not None else self.logits

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._num_events = self._num_events
        new._param = new.probs if "probs" in vars(new) else new.logits
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def probs(self) -> Tensor:
        return softmax(self.logits, dim=-1)

    @lazy_property
    def logits(self) -> Tensor:
        return clamp_probs(self.probs).log()

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return full_like(self.probs.detach()[..., 0], float("nan"))

    @property
    def variance(self) -> Tensor:
        return self.mean

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        count = Size(sample_shape).numel()
        rows = self.probs.detach().reshape(-1, self._num_events)  # (…, K) → (batch, K)
        drawn = multinomial(rows, count, True)
        return drawn.T.reshape(shape)  # (count, batch) → sample_shape + batch_shape

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # 0·log 0 counts as 0
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 … K−1, one for each distribution of the batch."""
        values = arange(self._num_events, device=self._param.device).view(
            -1, *(1,) * len(self.batch_shape)
        )
        return values.expand(-1, *self.batch_shape) if expand else values
