"""One step of Adam or AdamW for one parameter, in one launch; equations as in optim/adam.py."""

from __future__ import annotations

from ...backend import Array
from . import elementwise

adam = elementwise(
    "adam",
    "T g, T rate, T beta1, T rest1, T beta2, T rest2, T root, T eps, T shrink, T decay",
    "T p, T m, T v",
    "T gradient = decay != T(0) ? g + decay * p : g; "
    "T change = gradient - m; "
    "m = rest1 < T(0.5) ? m + rest1 * change : gradient - beta1 * change; "
    "v = beta2 * v + rest2 * gradient * gradient; "
    "p = p * shrink - rate * m / (sqrt(v) / root + eps)",
)  # fmt: skip


def adam_update(
    p: Array, g: Array, m: Array, v: Array, group: dict, rate: float, root: float
) -> None:
    """Update p, m and v in place; rate: lr / (1 − β₁ᵗ), root: √(1 − β₂ᵗ)."""
    lr, beta1, beta2 = (float(value) for value in (group["lr"], *group["betas"]))
    decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
    shrink, added = (1 - lr * decay, 0.0) if decoupled else (1.0, decay)
    rest1, rest2 = 1 - beta1, 1 - beta2
    adam(g, rate, beta1, rest1, beta2, rest2, root, group["eps"], shrink, added, p, m, v)
