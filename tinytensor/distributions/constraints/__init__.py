"""Constraints: the sets that parameters and values of a distribution must lie in.

`constraint.check(value)` is a boolean tensor, one element for each event of `value`: the last
`event_dim` dimensions of value are one event.

base     Constraint, dependent, independent, cat, stack
numbers  intervals, integers
vectors  vectors and matrices: simplex, lower_cholesky, positive_definite …
"""

from __future__ import annotations

from . import numbers as _numbers
from . import vectors as _vectors
from .base import (
    Constraint,
    MixtureSameFamilyConstraint,
    _Cat,
    _Dependent,
    _IndependentConstraint,
    _Stack,
    dependent_property,
    is_dependent,
)

# The public names
dependent = _Dependent()
independent = _IndependentConstraint
boolean = _numbers._Boolean()
one_hot = _vectors._OneHot()
nonnegative_integer = _numbers._IntegerGreaterThan(0)
positive_integer = _numbers._IntegerGreaterThan(1)
integer_interval = _numbers._IntegerInterval
real = _numbers._Real()
real_vector = independent(real, 1)
positive = _numbers._GreaterThan(0.0)
nonnegative = _numbers._GreaterThanEq(0.0)
greater_than = _numbers._GreaterThan
greater_than_eq = _numbers._GreaterThanEq
less_than = _numbers._LessThan
multinomial = _vectors._Multinomial
unit_interval = _numbers._Interval(0.0, 1.0)
interval = _numbers._Interval
half_open_interval = _numbers._HalfOpenInterval
simplex = _vectors._Simplex()
lower_triangular = _vectors._LowerTriangular()
lower_cholesky = _vectors._LowerCholesky()
corr_cholesky = _vectors._CorrCholesky()
square = _vectors._Square()
symmetric = _vectors._Symmetric()
positive_semidefinite = _vectors._PositiveSemidefinite()
positive_definite = _vectors._PositiveDefinite()
cat = _Cat
stack = _Stack

# fmt: off
__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]
# fmt: on
