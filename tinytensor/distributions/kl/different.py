"""KL divergences of distributions of different classes: E_p[−log q] − H(p)."""

from __future__ import annotations

import math
from typing import Any

from ...create import full_like
from ...ops import erf, where, xlogy
from ...tensor import Tensor
from ..continuous.continuous_bernoulli import ContinuousBernoulli
from ..continuous.dirichlet import Beta
from ..continuous.exponential import Exponential
from ..continuous.extreme_value import Gumbel
from ..continuous.gamma import Gamma
from ..continuous.laplace import Laplace
from ..continuous.normal import Normal
from ..continuous.pareto import Pareto
from ..continuous.uniform import Uniform
from ..discrete.bernoulli import Bernoulli
from ..discrete.counts import Binomial
from ..discrete.poisson import Poisson
from ..utils import euler_constant
from .registry import register_kl

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

# ------------------------------------------------------------------------------------------
# p has values where q has none: ∞, in the shape of one of p's parameters
# ------------------------------------------------------------------------------------------

_BOUNDED = (Beta, ContinuousBernoulli, Uniform)
_INFINITE: list[tuple[type, str, tuple[type, ...]]] = [
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (*_BOUNDED, Pareto)),
    (Gamma, "concentration", (*_BOUNDED, Pareto)),
    (Gumbel, "loc", (*_BOUNDED, Exponential, Gamma, Pareto)),
    (Laplace, "loc", (*_BOUNDED, Exponential, Gamma, Pareto)),
    (Normal, "loc", (*_BOUNDED, Exponential, Gamma, Pareto)),
    (Pareto, "scale", _BOUNDED),
    (Poisson, "rate", (Bernoulli, Binomial)),
]


def _register_infinite(type_p: type, parameter: str, types_q: tuple[type, ...]) -> None:
    def infinite(p: Any, q: Any) -> Tensor:
        return full_like(getattr(p, parameter).detach(), math.inf)

    for type_q in types_q:
        register_kl(type_p, type_q)(infinite)


for _row in _INFINITE:
    _register_infinite(*_row)


# ------------------------------------------------------------------------------------------
# E_p[−log q] for each class of q, from moments of p
# ------------------------------------------------------------------------------------------


def _cross_normal(mean: Tensor, variance: Tensor, q: Any) -> Tensor:
    square = variance + (mean - q.loc).pow(2)
    return HALF_LOG_TWO_PI + q.scale.log() + 0.5 * square / q.scale.pow(2)


def _cross_exponential(mean: Tensor, q: Any) -> Tensor:
    return q.rate * mean - q.rate.log()


def _cross_gamma(mean: Tensor, mean_log: Tensor, q: Any) -> Tensor:
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * mean_log + q.rate * mean


def _cross_gumbel(mean: Tensor, mean_exp: Tensor, q: Any) -> Tensor:
    """mean_exp is E[exp(−x / q.scale)]."""
    return q.scale.log() + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_exp


def _cross_continuous_bernoulli(mean: Tensor, q: Any) -> Tensor:
    return -(mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm())


# ------------------------------------------------------------------------------------------
# Bernoulli, Beta, ContinuousBernoulli
# ------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return _cross_continuous_bernoulli(p.mean, q) - p.entropy()


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _mean_exponential(p: Any, q: Any) -> Tensor:
    return _cross_exponential(p.mean, q) - p.entropy()


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _moments_normal(p: Any, q: Any) -> Tensor:
    return _cross_normal(p.mean, p.variance, q) - p.entropy()


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    a = p.concentration1
    mean_log = a.digamma() - (a + p.concentration0).digamma()
    return _cross_gamma(p.mean, mean_log, q) - p.entropy()


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    inside = (q.high - q.low).log() - p.entropy()
    return where((q.low > 0) | (q.high < 1), math.inf, inside)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    inside = (q.high - q.low).log() - p.entropy()
    return where((q.low >= 0) | (q.high <= 1), math.inf, inside)  # as PyTorch: ∞ also for (0, 1)


# ------------------------------------------------------------------------------------------
# Exponential, Gamma, Pareto
# ------------------------------------------------------------------------------------------


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    return _cross_gamma(p.mean, -p.rate.log() - euler_constant, q) - p.entropy()


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    product = p.rate * q.scale
    return _cross_gumbel(p.mean, product / (product + 1), q) - p.entropy()


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    mean_exp = (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    return _cross_gumbel(p.mean, mean_exp, q) - p.entropy()


def _pareto_mean(p: Any) -> Tensor:
    return p.alpha * p.scale / (p.alpha - 1)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    inside = _cross_exponential(_pareto_mean(p), q) - p.entropy()
    return where(p.alpha <= 1, math.inf, inside)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    inside = _cross_gamma(_pareto_mean(p), mean_log, q) - p.entropy()
    return where(p.alpha <= 1, math.inf, inside)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    variance = p.alpha * (p.scale / (p.alpha - 1)).pow(2) / (p.alpha - 2)
    inside = _cross_normal(_pareto_mean(p), variance, q) - p.entropy()
    return where(p.alpha <= 2, math.inf, inside)


# ------------------------------------------------------------------------------------------
# Normal, Uniform
# ------------------------------------------------------------------------------------------


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    mean_exp = (0.5 * (p.scale / q.scale).pow(2) - p.loc / q.scale).exp()
    return _cross_gumbel(p.loc, mean_exp, q) - p.entropy()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    shift = p.loc - q.loc
    z = shift / p.scale
    # E|x − q.loc|
    distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp()
    distance = distance + shift * erf(math.sqrt(0.5) * z)
    return (2 * q.scale).log() + distance / q.scale - p.entropy()


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """E[log x] for x uniform between low and high."""
    return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    size = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    return where((p.high > 1) | (p.low < 0), math.inf, size - logs - p.entropy())


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    inside = _cross_continuous_bernoulli(p.mean, q) - p.entropy()
    return where((p.high >= 1) | (p.low <= 0), math.inf, inside)  # as PyTorch: ∞ also for (0, 1)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    return where(p.low < 0, math.inf, _cross_exponential(p.mean, q) - p.entropy())


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    inside = _cross_gamma(p.mean, _mean_log(p.low, p.high), q) - p.entropy()
    return where(p.low < 0, math.inf, inside)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    share = q.scale / (p.high - p.low)
    mean_exp = share * ((-p.low / q.scale).exp() - (-p.high / q.scale).exp())
    return _cross_gumbel(p.mean, mean_exp, q) - p.entropy()


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    size = q.alpha.log() + q.alpha * q.scale.log()
    inside = (q.alpha + 1) * _mean_log(p.low, p.high) - size - p.entropy()
    return where(p.low < q.scale, math.inf, inside)
