"""One step of Adam or AdamW for one parameter, in a single pass over its four arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from .compile import parallel
from .vector_math import f32


@parallel
def adam(p, g, m, v, rate, beta1, beta2, correction, eps, shrink, decay):
    """m ← β₁·m + (1 − β₁)·g,  v ← β₂·v + (1 − β₂)·g²,  p ← p·shrink − rate·m / (√v/correction + ε)

    decay: of plain Adam, where weight decay is part of the gradient, g + decay·p.
    """
    one = f32(1.0)
    for i in prange(p.size):
        gradient = g[i] + decay * p[i]
        m[i] = beta1 * m[i] + (one - beta1) * gradient
        v[i] = beta2 * v[i] + (one - beta2) * gradient * gradient
        p[i] = p[i] * shrink - rate * m[i] / (np.sqrt(v[i]) / correction + eps)


def adam_update(
    p: Any, g: Any, m: Any, v: Any, lr: float, group: dict, correction1: float, correction2: float
) -> bool:
    """The step of optim/adam.py; False if the arrays are not contiguous, and nothing was done."""
    if not all(x.flags.c_contiguous and x.flags.writeable for x in (p, g, m, v)):
        return False
    decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
    beta1, beta2 = group["betas"]
    adam(
        p.reshape(-1), g.reshape(-1), m.reshape(-1), v.reshape(-1), f32(lr / correction1),
        f32(beta1), f32(beta2), f32(correction2), f32(group["eps"]),
        f32(1 - lr * decay if decoupled else 1), f32(0 if decoupled else decay),
    )  # fmt: skip
    return True
