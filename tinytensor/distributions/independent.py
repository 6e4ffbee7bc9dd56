"""Independent: treat batch dimensions as parts of one event."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import sum_rightmost


class Independent(Distribution):
    """Makes the last batch dimensions part of the event: log p is the sum over them

    Independent(Normal(loc, scale), 1) with loc (B, D): B draws of D numbers each, log_prob (B,).
    """

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
                 validate_args: Any = None):  # fmt: skip
        shape, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if not 0 <= count <= len(shape):
            raise ValueError(
                f"Independent: got reinterpreted_batch_ndims={count}, expected 0 to {len(shape)}, "
                "the dimensions of the batch"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        rest = len(shape) - count
        event = (*shape[rest:], *base_distribution.event_shape)
        super().__init__(shape[:rest], event, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Independent, _instance)
        count = self.reinterpreted_batch_ndims
        inner = (*tuple(batch_shape), *self.event_shape[:count])
        new.base_dist, new.reinterpreted_batch_ndims = self.base_dist.expand(inner), count
        return self._finish_expand(new, batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        base, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, count) if count else base

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return self.total(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self.total(self.base_dist.entropy())

    def total(self, each: Tensor) -> Tensor:
        """The sum over the dimensions that became part of the event."""
        return sum_rightmost(each, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
