"""One step of Adam or AdamW for all parameters, in one pass over the four arrays of each."""

from __future__ import annotations

import numpy as np

from .machinery.compile import ordered_part, parallel
from .machinery.many_arrays import addresses, lasting_addresses, overlap, piece, sizes
from .machinery.vector_math import f32

HALF = f32(0.5)


@parallel
def adam(start, stop, p, g, m, v, size, rate, correction, settings):
    """Apply `step` to elements start … stop of all parameters, at the addresses p, g, m, v."""
    offset = 0
    for k in range(size.size):
        a, b = overlap(start, stop, offset, size[k])
        if a < b:
            step(piece(p[k], a, b), piece(g[k], a, b), piece(m[k], a, b), piece(v[k], a, b),
                 rate[k], correction[k], settings)  # fmt: skip
        offset += size[k]


@ordered_part
def step(p, g, m, v, rate, correction, settings):
    """m ← β₁·m + (1 − β₁)·g,  v ← β₂·v + (1 − β₂)·g²,  p ← p·shrink − rate·m / (√v/correction + ε)

    decay is for plain Adam, whose weight decay is part of the gradient: sign·g + decay·p.
    The order of operations is that of optim/steps.py.
    """
    beta1, rest1, beta2, rest2, eps, shrink, decay, sign = settings
    for i in range(p.size):
        gradient = sign * g[i]
        if decay != 0:  # without decay, an infinite p must not give NaN
            gradient += decay * p[i]
        change = gradient - m[i]
        m[i] = m[i] + rest1 * change if rest1 < HALF else gradient - beta1 * change
        v[i] = beta2 * v[i] + (rest2 * gradient) * gradient
        p[i] = p[i] * shrink - (rate * m[i]) / (np.sqrt(v[i]) / correction + eps)


def adam_update(
    parameters: list, gradients: list, states: list[dict], group: dict, rates: list, roots: list
) -> None:
    """Update parameters in place, as optim/adam.py does; all arrays are contiguous float32.

    rates: lr / (1 − β₁ᵗ), and roots: √(1 − β₂ᵗ), for each parameter.
    """
    lr, beta1, beta2 = (float(value) for value in (group["lr"], *group["betas"]))
    decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
    settings = (
        f32(beta1), f32(1 - beta1), f32(beta2), f32(1 - beta2), f32(group["eps"]),
        f32(1 - lr * decay if decoupled else 1), f32(0 if decoupled else decay),
        f32(-1 if group["maximize"] else 1),
    )  # fmt: skip
    means = [state["exp_avg"] for state in states]
    squares = [state["exp_avg_sq"] for state in states]
    counts = sizes(parameters)
    adam(
        counts.sum(), lasting_addresses(parameters), addresses(gradients), lasting_addresses(means),
        lasting_addresses(squares), counts, np.array(rates, np.float32),
        np.array(roots, np.float32), settings,
    )  # fmt: skip
