"""One step of Adam or AdamW for one parameter, in one launch; equations as in optim/adam.py."""

from __future__ import annotations

from typing import Any

from . import elementwise

adam = elementwise(
    "adam",
    "T g, T rate, T beta1, T beta2, T root, T eps, T shrink, T decay", "T p, T m, T v",
    "T gradient = g + decay * p; "
    "m = beta1 * m + (T(1) - beta1) * gradient; "
    "v = beta2 * v + (T(1) - beta2) * gradient * gradient; "
    "p = p * shrink - rate * m / (sqrt(v) / root + eps)",
)  # fmt: skip


def adam_update(p: Any, g: Any, m: Any, v: Any, group: dict, rate: float, root: float) -> None:
    """rate: lr / (1 − β₁ᵗ), root: √(1 − β₂ᵗ); p, m and v are written to."""
    lr, (beta1, beta2) = float(group["lr"]), group["betas"]
    decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
    shrink, added = (1 - lr * decay, 0.0) if decoupled else (1.0, decay)
    adam(g, rate, beta1, beta2, root, group["eps"], shrink, added, p, m, v)
