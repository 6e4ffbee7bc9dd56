"""kl_divergence and the table of its rules."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..distribution import Distribution

_RULES: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorate the rule for two classes: @register_kl(Normal, Normal)."""
    for given in (type_p, type_q):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
            raise TypeError(
                f"register_kl: Expected a Distribution subclass as type_p and type_q, got {given}"
            )

    def decorator(rule: Callable) -> Callable:
        _RULES[type_p, type_q] = rule
        return rule

    return decorator


def _rule(type_p: type, type_q: type) -> Callable | None:
    """The rule for the nearest base classes."""
    pairs = [(p, q) for p in type_p.__mro__ for q in type_q.__mro__]
    by_q_first = [(p, q) for q in type_q.__mro__ for p in type_p.__mro__]
    left = next((_RULES[pair] for pair in pairs if pair in _RULES), None)
    right = next((_RULES[pair] for pair in by_q_first if pair in _RULES), None)
    if left is not right:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl "
            "for these two classes",
            RuntimeWarning,
            stacklevel=3,
        )
    return left


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p ‖ q) = E_p[log p − log q], one number for each distribution of the batch."""
    rule: Any = _rule(type(p), type(q))
    if rule is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}; add a rule with register_kl"
        )
    return rule(p, q)
