"""Constraint: the base class, sets that depend on parameters, and sets made of other sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ops import cat as join
from ...ops import stack as join_new
from ...tensor import Tensor


class Constraint:
    """Base class: a set of numbers, vectors or matrices.

    is_discrete  True for sets of isolated points
    event_dim    the number of dimensions of one element: 0 for numbers, 1 for vectors
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """True for each event of value that lies in the set."""
        raise NotImplementedError(f"{type(self).__name__}: check is not implemented")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({values})"


class _Dependent(Constraint):
    """Stands for a set that depends on other parameters; it cannot be checked by itself."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> Any:
        """The same with known attributes: constraints.dependent(is_discrete=True)."""
        discrete = self._is_discrete if is_discrete is NotImplemented else is_discrete
        dim = self._event_dim if event_dim is NotImplemented else event_dim
        return _Dependent(is_discrete=discrete, event_dim=dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class dependent_property(property, _Dependent):
    """A property whose value is a constraint; on the class itself it counts as dependent."""

    def __init__(self, fn: Callable | None = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented):  # fmt: skip
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> Any:  # type: ignore[override]
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """True for a constraint that depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Events of more dimensions: in the set if all their parts are in the base set."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        each, count = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if each.dim() < count:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        for _ in range(count):
            each = each.all(-1)
        return each

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Cat(Constraint):
    """Constraints for consecutive pieces, of the given lengths, along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Any = None):
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self) -> bool:
        return any(part.is_discrete for part in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(part.event_dim for part in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        pieces = value.split(self.lengths, self.dim)
        checks = [part.check(piece) for part, piece in zip(self.cseq, pieces, strict=True)]
        return join(checks, self.dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Stack(_Cat):
    """Constraints for the slices along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0):
        self.cseq, self.dim = list(cseq), dim

    @property
    def event_dim(self) -> int:
        dim = max(part.event_dim for part in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        slices = value.unbind(self.dim)
        checks = [part.check(piece) for part, piece in zip(self.cseq, slices, strict=False)]
        return join_new(checks, self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The set of a mixture's values: those that lie in the sets of all components.

    base_constraint may have bounds with one more batch dimension than value, the components.
    """

    def __init__(self, base_constraint: Constraint):
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        each = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return each.all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"
