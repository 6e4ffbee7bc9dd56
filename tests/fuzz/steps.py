"""Ops step by step in float64, with a random rounding error after each step, in both directions.

They say how large an error has to be granted where terms of the rule cancel: a change of the
inputs does not show it if the result does not depend on them (the gradient of a layer norm over one
number is 0, whatever the number). Ops without such terms need no version here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class Rounding:
    """x ↦ x·(1 ± unit), and its gradient likewise, with random signs."""

    def __init__(self, unit: float, rng: np.random.Generator):
        self.unit = unit
        self.generator = torch.Generator().manual_seed(int(rng.integers(2**31)))

    def noise(self, x: Any) -> Any:
        signs = torch.randint(0, 2, x.shape, generator=self.generator, dtype=x.dtype)
        return x * (1 + self.unit * (2 * signs - 1))

    def __call__(self, x: Any) -> Any:
        return _Rounded.apply(x, self)


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, rounding: Rounding) -> Any:
        ctx.rounding = rounding
        return rounding.noise(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.rounding.noise(g), None


# ------------------------------------------------------------------------------------------
# Softmax and losses
# ------------------------------------------------------------------------------------------


def softmax(r: Rounding, x: Any, dim: int) -> Any:
    e = torch.exp(r(x - x.amax(dim, keepdim=True).detach()))
    return r(r(e) / r(r(e).sum(dim, keepdim=True)))


def log_softmax(r: Rounding, x: Any, dim: int) -> Any:
    shifted = r(x - x.amax(dim, keepdim=True).detach())
    total = r(r(torch.exp(r(shifted))).sum(dim, keepdim=True))
    return r(r(shifted) - r(torch.log(total)))


def cross_entropy(r: Rounding, x: Any, target: Any, **options: Any) -> Any:
    # Of log-probabilities cross_entropy makes log_softmax again, which leaves them as they are.
    return r(torch.nn.functional.cross_entropy(log_softmax(r, x, 1), target, **options))


# ------------------------------------------------------------------------------------------
# Norms
# ------------------------------------------------------------------------------------------


def _normalized(r: Rounding, c: Any, axes: tuple, eps: float) -> Any:
    """c / √(mean c² + eps)"""
    square = r(r(r(c) * r(c)).mean(axes, keepdim=True))
    return r(r(c) * r((square + eps).rsqrt()))


def _centered(r: Rounding, x: Any, axes: tuple) -> Any:
    return r(r(x) - r(r(x).mean(axes, keepdim=True)))


def _scaled(r: Rounding, n: Any, w: Any, b: Any) -> Any:
    y = n if w is None else r(r(n) * r(w))
    return y if b is None else r(r(y) + r(b))


def layer_norm(r: Rounding, x: Any, shape: tuple, w: Any, b: Any, eps: float) -> Any:
    axes = tuple(range(-len(shape), 0))
    return _scaled(r, _normalized(r, _centered(r, x, axes), axes, eps), w, b)


def rms_norm(r: Rounding, x: Any, shape: tuple, w: Any, eps: float) -> Any:
    return _scaled(r, _normalized(r, x, tuple(range(-len(shape), 0)), eps), w, None)


def add_layer_norm(r: Rounding, x: Any, residual: Any, *rest: Any) -> tuple:
    total = r(x + residual)
    return r(total), layer_norm(r, r(total), *rest)


def add_rms_norm(r: Rounding, x: Any, residual: Any, *rest: Any) -> tuple:
    total = r(x + residual)
    return r(total), rms_norm(r, r(total), *rest)


def batch_norm(r: Rounding, x: Any, mean: Any, variance: Any, w: Any, b: Any, training: bool,
               momentum: float, eps: float) -> Any:  # fmt: skip
    axes, shape = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    w, b = (None if p is None else p.reshape(shape) for p in (w, b))
    if training:
        return _scaled(r, _normalized(r, _centered(r, x, axes), axes, eps), w, b)
    scale = r((variance.reshape(shape) + eps).rsqrt())
    return _scaled(r, r(r(r(x) * scale) - r(mean.reshape(shape) * scale)), w, b)


# ------------------------------------------------------------------------------------------
# Activations
# ------------------------------------------------------------------------------------------


def gelu(r: Rounding, x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        cubic = r(r(x) * r(0.044715 * x * x))
        below = torch.sigmoid(r(2 * math.sqrt(2 / math.pi) * (r(x) + cubic)))
        return r(r(x) * r(below))
    return r(r(x) * r(0.5 * r(torch.erf(r(x * math.sqrt(0.5)))) + 0.5))


def silu(r: Rounding, x: Any) -> Any:
    return r(r(x) * r(torch.sigmoid(r(x))))


def by_steps(name: str) -> Callable | None:
    """The version of an op in this file, if there is one."""
    found = globals().get(name)
    return found if getattr(found, "__module__", None) == __name__ else None
