"""Transforms from all real numbers into a constraint, for optimisation and for sampling.

biject_to(constraint)     a bijective transform: densities can be carried over
transform_to(constraint)  the simplest transform; for the simplex softmax, with one number too many
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .constraints import Constraint


class ConstraintRegistry:
    """A table {class of constraint: function that makes the transform}; call it to look up."""

    def __init__(self) -> None:
        self._factories: dict[type, Callable] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Add the factory for a class of constraints, or for the class of an instance.

        Without a factory it returns a decorator: @transform_to.register(constraints.positive).
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._factories[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform into the constraint."""
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _for_both(*kinds: Any) -> Callable:
    def decorator(factory: Callable) -> Callable:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorator


@_for_both(constraints.real)
def _real(constraint: Any) -> Any:
    return transforms.identity_transform


@_for_both(constraints.greater_than, constraints.greater_than_eq)
def _above(constraint: Any) -> Any:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_for_both(constraints.less_than)
def _below(constraint: Any) -> Any:
    flip = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), flip])


@_for_both(constraints.interval, constraints.half_open_interval)
def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    stretch = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretch])


@_for_both(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _simplex_bijection(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _simplex(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower_cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


def _register_composites(registry: ConstraintRegistry) -> None:
    """Constraints made of other constraints: look up each of them in the same registry."""

    @registry.register(constraints.independent)
    def independent(constraint: Any) -> Any:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def cat(constraint: Any) -> Any:
        parts = [registry(part) for part in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def stack(constraint: Any) -> Any:
        return transforms.StackTransform([registry(part) for part in constraint.cseq],
                                         constraint.dim)  # fmt: skip


_register_composites(biject_to)
_register_composites(transform_to)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
