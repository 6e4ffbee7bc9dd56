"""ExponentialFamily: the base class of distributions with natural parameters."""

from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..tensor import Tensor
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """p(x; θ) = exp(⟨t(x), θ⟩ − F(θ) + k(x))

    θ are the natural parameters, t is the sufficient statistic, F the log normaliser and k the
    carrier measure. A class that defines `_natural_params` (θ), `_log_normalizer` (F) and
    `_mean_carrier_measure` (E[k(x)]) gets its entropy from them: F(θ) − ⟨θ, ∇F(θ)⟩ − E[k(x)].
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__}: no natural parameters are defined")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: no log normaliser is defined")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: entropy is not implemented")

    def entropy(self) -> Tensor:
        carrier = self._mean_carrier_measure
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        slopes = grad(normalizer.sum(), parameters, create_graph=True)
        result = normalizer - carrier
        for parameter, slope in zip(parameters, slopes, strict=True):
            result = result - (parameter * slope).reshape(*self.batch_shape, -1).sum(-1)
        return result
