"""The Kullback-Leibler divergence of two distributions: KL(p ‖ q) = E_p[log p − log q]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import softplus, where
from ..tensor import Tensor
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .normal import Normal
from .uniform import Uniform

_RULES: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorate the rule for two classes: @register_kl(Normal, Normal)."""

    def decorator(rule: Callable) -> Callable:
        _RULES[type_p, type_q] = rule
        return rule

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p ‖ q), one number for each distribution of the batch."""
    for class_p in type(p).__mro__:
        for class_q in type(q).__mro__:
            if (class_p, class_q) in _RULES:
                return _RULES[class_p, class_q](p, q)
    raise NotImplementedError(
        f"kl_divergence: got {type(p).__name__} and {type(q).__name__}, expected classes with "
        "a registered rule; add one with register_kl"
    )


@register_kl(Normal, Normal)
def _normal_normal(p: Any, q: Any) -> Tensor:
    spread = (p.scale / q.scale).pow(2)
    shift = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (spread + shift - 1 - spread.log())


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Any, q: Any) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    each = where((q.probs == 0).expand_as(each), float("inf"), each)
    each = where((p.probs == 0).expand_as(each), 0.0, each)
    return each.sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Any, q: Any) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return yes + no


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    outside = (q.low > p.low) | (q.high < p.high)
    return where(outside, float("inf"), result)


@register_kl(Independent, Independent)
def _independent_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"kl_divergence: got {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims} "
            "event dimensions, expected the same number"
        )
    return p.total(kl_divergence(p.base_dist, q.base_dist))
