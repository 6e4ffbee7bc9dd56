"""Numbers of successes and failures: Geometric, Binomial and NegativeBinomial."""

from __future__ import annotations

from typing import Any

from ...autograd.settings import no_grad
from ...create import arange, rand, zeros_like
from ...dtype import finfo
from ...ops import binary_cross_entropy_with_logits, logsigmoid, sigmoid, where
from ...tensor import Tensor
from .. import constraints
from ..continuous.gamma import Gamma
from ..distribution import Distribution
from ..draws import draw_binomial, draw_poisson
from ..utils import broadcast_all, lazy_property, one_of, probs_to_logits


class _Trials(Distribution):
    """Base class: trials that each succeed with probability probs, or sigmoid(logits)."""

    def _set(self, probs: Any, logits: Any, *others: Any) -> list[Tensor]:
        """Store probs or logits; return the other parameters, in the same shape and dtype."""
        given, *rest = broadcast_all(one_of(type(self).__name__, probs, logits), *others)
        if probs is not None:
            self.probs = given
        else:
            self.logits = given
        return [other.to(given.dtype) for other in rest]

    @property
    def _param(self) -> Tensor:
        return self.logits if "logits" in vars(self) else self.probs

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return sigmoid(self.logits)

    @property
    def param_shape(self) -> Any:
        return self._param.shape


class Geometric(_Trials):
    """P(k) = (1 − p)ᵏ·p: k failures before the first success"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None):
        self._set(probs, logits)
        super().__init__(self._param.shape, (), validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            bad = self.probs[self.probs <= 0]
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{bad}"
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs.detach())

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), self.probs.detach()
        u = rand(shape, dtype=probs.dtype, device=probs.device)
        return (u.clamp(min=finfo(probs.dtype).tiny).log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = where((probs == 1) & (value == 0), 0.0, probs)  # 0·log 0 counts as 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        bits = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return bits / self.probs


class Binomial(_Trials):
    """P(k) = n! / (k!·(n − k)!) · pᵏ·(1 − p)ⁿ⁻ᵏ: k successes in n = total_count trials"""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: Any = None):  # fmt: skip
        (self.total_count,) = self._set(probs, logits, total_count)
        super().__init__(self._param.shape, (), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return draw_binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        # max(logits, 0), with the slope ½ at 0
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        size = n * positive + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - size

    def _count(self, name: str) -> int:
        count = int(self.total_count.max())
        if not bool((self.total_count == count).all()):
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self) -> Tensor:
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 … total_count, for each distribution of the batch."""
        count, param = self._count("enumerate_support"), self._param
        values = arange(1 + count, dtype=param.dtype, device=param.device)
        values = values.view(-1, *(1,) * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values


class NegativeBinomial(_Trials):
    """P(k) = Γ(n + k) / (k!·Γ(n)) · (1 − p)ⁿ·pᵏ: k successes before n = total_count failures"""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None):  # fmt: skip
        (self.total_count,) = self._set(probs, logits, total_count)
        super().__init__(self._param.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """A Poisson draw whose rate is a gamma draw."""
        with no_grad():
            rate = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return draw_poisson(rate.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n = self.total_count
        chance = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        # n = 0 and value = 0 has probability 1, but Γ(0) is infinite
        return chance + ways.masked_fill(n + value == 0.0, 0.0)
