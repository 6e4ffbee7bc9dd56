"""cross_entropy of logits with class numbers; no array of probabilities but the gradient itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.cross_entropy import divisor_of, log_normalizer
from .compile import parallel
from .layout import as_rows, flat
from .memory import empty_like
from .vector_math import exp, f32


@parallel
def cross_entropy(start, stop, x, target, pull, loss, normalizer):
    """loss = pull·(z − x[t]), z = log Σ exp x, for each row of x (M, C); rows of pull 0 are 0."""
    for row in range(start, stop):
        top = x[row, 0]
        for j in range(x.shape[1]):
            top = max(top, x[row, j])
        base = f32(0.0) if math.isinf(top) else top
        total = f32(0.0)
        for j in range(x.shape[1]):
            total += exp(x[row, j] - base)
        z = base + np.log(total)
        normalizer[row] = z
        loss[row] = f32(0.0) if pull[row] == 0 else pull[row] * (z - x[row, target[row]])


@parallel
def cross_entropy_gradient(start, stop, x, target, pull, normalizer, g, dx):
    """dx = g·pull·(softmax x − onehot t), g (M)"""
    for row in range(start, stop):
        factor, z = g[row] * pull[row], normalizer[row]
        for j in range(x.shape[1]):
            dx[row, j] = factor * exp(x[row, j] - z)
        dx[row, target[row]] -= factor


def cross_entropy_forward(
    op: Any, x: Any, target: Any, pull: Any, spread: Any, w: Any, count: Any
) -> Any:
    if spread is not None or target.dtype != np.int64:
        return NotImplemented
    loss, normalizer = np.empty((2, x.shape[0]), dtype=x.dtype)
    cross_entropy(x.shape[0], as_rows(x), flat(target), flat(pull), loss, normalizer)
    op.remember(log_normalizer, normalizer.reshape(-1, 1))  # (M) → (M, 1)
    op.divisor = divisor_of(count, loss)
    return loss if count is None else loss.sum() / count


def cross_entropy_backward(op: Any, g: Any) -> Any:
    x, target, pull, spread, _ = op.saved
    normalizer = op.kept(log_normalizer)
    if normalizer is None or spread is not None or target.dtype != np.int64:
        return NotImplemented
    g = np.broadcast_to(g / op.divisor, pull.shape)  # () or (M) → (M)
    dx = empty_like(x)
    cross_entropy_gradient(
        x.shape[0], as_rows(x), flat(target), flat(pull), flat(normalizer), flat(g), dx
    )
    return dx
