"""TransformedDistribution: a function of another distribution's variable."""

from __future__ import annotations

from typing import Any

from ..autograd.settings import no_grad
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """y = f(x) with x from base_distribution and f the transforms, one after the other

    log p(y) = log p_base(f⁻¹(y)) − log |det ∂y/∂x|
    """

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Distribution, transforms: Any,
                 validate_args: Any = None):  # fmt: skip
        listed = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(listed, list) or not all(isinstance(t, Transform) for t in listed):
            raise ValueError(
                "TransformedDistribution: transforms must be a Transform or a list of Transforms, "
                f"got {transforms}"
            )
        self.transforms = listed
        whole = ComposeTransform(listed)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        base_dims, domain_dims = len(base_distribution.event_shape), whole.domain.event_dim
        if len(shape) < domain_dims:
            raise ValueError(
                f"TransformedDistribution: got a base_distribution of shape {shape}, expected at "
                f"least {domain_dims} dimensions, which the transforms need"
            )
        # The transforms' own parameters may broadcast the base distribution to more elements
        result = tuple(whole.forward_shape(shape))
        expanded = tuple(whole.inverse_shape(result))
        if expanded != shape:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_dims])
        if domain_dims > base_dims:
            base_distribution = Independent(base_distribution, domain_dims - base_dims)
        self.base_dist: Any = base_distribution
        codomain_dims = whole.codomain.event_dim
        event_dims = max(codomain_dims, base_dims + codomain_dims - domain_dims)
        cut = len(result) - event_dims
        super().__init__(result[:cut], result[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        shape: Any = (*tuple(batch_shape), *self.event_shape)
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        inner = shape[: len(shape) - len(self.base_dist.event_shape)]
        new.base_dist, new.transforms = self.base_dist.expand(inner), self.transforms
        return self._finish_expand(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        total: Any = 0.0
        y, dims = value, len(self.event_shape)
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            each = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(each, dims - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return total + sum_rightmost(base, dims - len(self.base_dist.event_shape))

    def _share(self, value: Tensor) -> Tensor:
        """value, or 1 − value if the transforms together are decreasing."""
        sign = ComposeTransform(self.transforms).sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._share(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._share(value)))
