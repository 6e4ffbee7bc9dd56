"""Distribution: the base class of all distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.settings import no_grad
from ..create import tensor
from ..dtype import finfo, get_default_dtype
from ..ops import broadcast_tensors
from ..size import Size
from ..tensor import Tensor


class Distribution:
    """Base class.

    batch_shape  the shape of the parameters: one distribution for each element
    event_shape  the shape of one draw from one of them: () for numbers
    """

    has_rsample = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._validate_args = validate_args is not False

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of sample(sample_shape): sample_shape, then batch_shape, then event_shape."""
        return Size((*tuple(sample_shape), *self.batch_shape, *self.event_shape))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples through which gradients flow to the parameters."""
        raise NotImplementedError(f"{type(self).__name__}: rsample is not supported; use sample")

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density, or log probability, at value."""
        raise NotImplementedError(f"{type(self).__name__}: log_prob is not implemented")

    def entropy(self) -> Tensor:
        """−E[log p]."""
        raise NotImplementedError(f"{type(self).__name__}: entropy is not implemented")

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: mean is not implemented")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: variance is not implemented")

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def perplexity(self) -> Tensor:
        return self.entropy().exp()

    def _require(self, ok: Any, what: str, got: Tensor) -> None:
        """Raise for parameters or values outside the distribution's domain."""
        if self._validate_args and not bool(ok.all()):
            raise ValueError(f"{type(self).__name__}: expected {what}, got {got}")

    def __repr__(self) -> str:
        names = [n for n in ("probs", "logits", "loc", "scale", "low", "high") if n in vars(self)]
        values = [(name, getattr(self, name)) for name in names]
        texts = [f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in values]
        return f"{type(self).__name__}({', '.join(texts)})"


class lazy_property:
    """A property that is computed on first use, and then stored in the instance.

    Up to Python 3.11, `functools.cached_property` computes under a lock. A child forked during that
    time would wait for the lock forever.
    """

    def __init__(self, compute: Callable[[Any], Tensor]):
        self.compute = compute

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        value = self.compute(instance)
        vars(instance)[self.compute.__name__] = value
        return value


def broadcast(*parameters: Any) -> list[Tensor]:
    """Broadcast numbers and tensors to tensors of one shape."""
    tensors = [p for p in parameters if isinstance(p, Tensor)]
    dtype = tensors[0].dtype if tensors else get_default_dtype()
    made = [p if isinstance(p, Tensor) else tensor(p, dtype=dtype) for p in parameters]
    return list(broadcast_tensors(*made))


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to [eps, 1 − eps], so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def one_of(name: str, probs: Any, logits: Any) -> Any:
    """probs or logits, whichever is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: expected either probs or logits, and not both")
    return logits if probs is None else probs
