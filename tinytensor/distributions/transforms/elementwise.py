"""Transforms of numbers, one element at a time."""

from __future__ import annotations

import math
from typing import Any

from ...create import full_like
from ...dtype import finfo
from ...ops import atanh, broadcast_shapes, sigmoid, softplus
from ...tensor import Tensor
from .. import constraints
from ..utils import broadcast_all, lazy_property, sum_rightmost
from .base import Transform


class _Fixed(Transform):
    """Base class of transforms without parameters: all of one class are equal."""

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, type(self))

    __hash__ = None


class ExpTransform(_Fixed):
    """y = exp x;  log |dy/dx| = x"""

    domain, codomain = constraints.real, constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = xᵏ, x > 0, with k the exponent;  log |dy/dx| = log |k·y/x|"""

    domain, codomain = constraints.positive, constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class SigmoidTransform(_Fixed):
    """y = 1 / (1 + exp(−x)), a little away from 0 and 1;  log |dy/dx| = log y·(1 − y)"""

    domain, codomain = constraints.real, constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = _clip(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Fixed):
    """y = log(1 + exp x);  log |dy/dx| = −log(1 + exp(−x))"""

    domain, codomain = constraints.real, constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Fixed):
    """y = tanh x;  log |dy/dx| = log(1 − y²) = 2·(log 2 − x − log(1 + exp(−2x)))

    Next to ±1 the inverse is not precise. Use cache_size=1 to get back the x that y came from.
    """

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Fixed):
    """y = |x|, which has no inverse; `inv` returns the positive x"""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale·x;  log |det ∂y/∂x| = Σ log |scale| over the event

    loc, scale  tensors or numbers
    event_dim   the number of dimensions of one event: 0 for numbers, 1 for vectors
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        dim = self._event_dim
        return constraints.independent(constraints.real, dim) if dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self.domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            each = self.scale.abs().log()
        else:
            each = full_like(x, math.log(abs(self.scale)))
        dim = self._event_dim
        if dim == 0:
            return each.expand(x.shape)
        each = each.expand(*each.shape[: max(each.dim() - dim, 0)], *x.shape[-dim:])
        return sum_rightmost(each, dim).expand(x.shape[: x.dim() - dim])

    def forward_shape(self, shape: Any) -> Any:
        loc, scale = (getattr(p, "shape", ()) for p in (self.loc, self.scale))
        return broadcast_shapes(shape, loc, scale)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = F(x), the cdf of a distribution: x from it gives a uniform y;  log |dy/dx| = log p(x)"""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


def _same(a: Any, b: Any) -> bool:
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else bool(equal)


def _clip(y: Tensor) -> Tensor:
    limits = finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


def clipped_sigmoid(x: Tensor) -> Tensor:
    """sigmoid x, kept away from 0 and 1 by as much as the dtype can tell."""
    return _clip(sigmoid(x))
