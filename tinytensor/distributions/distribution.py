"""Distribution: the base class of all distributions."""

from __future__ import annotations

from typing import Any

from ..autograd.settings import no_grad
from ..size import Size
from ..tensor import Tensor
from .constraints import Constraint, is_dependent
from .utils import lazy_property as lazy_property


class Distribution:
    """Base class.

    batch_shape      the shape of the parameters: one distribution for each element
    event_shape      the shape of one draw from one of them: () for numbers
    validate_args    check parameters and values against arg_constraints and support
    arg_constraints  the parameters' names, each with the set that it must lie in
    support          the set of possible values
    """

    has_rsample: Any = False
    has_enumerate_support = False
    _validate_args: bool = __debug__
    arg_constraints: Any = {}
    support: Any = None

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the checks of parameters and values on or off for all new distributions."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: got {value!r}, expected True or False")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                self._validate_parameter(name, constraint)

    def _validate_parameter(self, name: str, constraint: Constraint) -> None:
        computed = isinstance(getattr(type(self), name, None), lazy_property)
        if is_dependent(constraint) or (computed and name not in vars(self)):
            return
        value = getattr(self, name)
        if not bool(constraint.check(value.detach()).all()):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape "
                f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                f"{constraint!r}, but found invalid values:\n{value}"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its parameters expanded to batch_shape."""
        if _instance is None and not type(self).__init__.__module__.startswith(__package__ or "?"):
            raise NotImplementedError(
                f"{type(self).__name__}: a class with its own __init__ must define expand, too"
            )
        new = type(self).__new__(type(self)) if _instance is None else _instance
        shape = Size(batch_shape)
        for name, constraint in self.arg_constraints.items():
            if name in vars(self):
                value = getattr(self, name)
                event = value.shape[value.dim() - constraint.event_dim :]
                setattr(new, name, value.expand((*shape, *event)))
        return self._finish_expand(new, shape)

    def _finish_expand(self, new: Any, batch_shape: Any) -> Any:
        """Set the shapes of an expanded copy, whose parameters were checked before."""
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """A new object for `expand` of the class cls to fill; or the one a subclass has made."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__}: a subclass of {cls.__name__} with its own __init__ must "
                "define expand, too"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

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

    def sample_n(self, n: int) -> Tensor:
        """sample((n,)), under PyTorch's old name."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density, or log probability, at value."""
        raise NotImplementedError(f"{type(self).__name__}: log_prob is not implemented")

    def cdf(self, value: Tensor) -> Tensor:
        """P(x ≤ value)."""
        raise NotImplementedError(f"{type(self).__name__}: cdf is not implemented")

    def icdf(self, value: Tensor) -> Tensor:
        """The x with cdf(x) = value."""
        raise NotImplementedError(f"{type(self).__name__}: icdf is not implemented")

    def entropy(self) -> Tensor:
        """−E[log p]."""
        raise NotImplementedError(f"{type(self).__name__}: entropy is not implemented")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along dimension 0."""
        raise NotImplementedError(f"{type(self).__name__}: enumerate_support is not implemented")

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: mean is not implemented")

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: mode is not implemented")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: variance is not implemented")

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def perplexity(self) -> Tensor:
        return self.entropy().exp()

    def _validate_sample(self, value: Tensor) -> None:
        """Raise for a value of a shape that does not fit, or outside of the support."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event = len(self.event_shape)
        if tuple(value.shape[value.dim() - event :]) != tuple(self.event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self.event_shape}."
            )
        expected = self._extended_shape()
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.size()} vs {expected}."
                )
        if self.support is not None and not bool(self.support.check(value.detach()).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({self.support!r}) of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        values = [(name, vars(self)[name]) for name in self.arg_constraints if name in vars(self)]
        texts = [f"{name}: {v if v.numel() == 1 else v.size()}" for name, v in values]
        return f"{type(self).__name__}({', '.join(texts)})"
