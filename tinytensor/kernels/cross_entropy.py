"""cross_entropy of logits with class numbers; probabilities are stored only as the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .machinery.compile import parallel
from .machinery.contiguous import as_rows, flat
from .machinery.memory import empty_like
from .machinery.vector_math import exp, f32, minus


@parallel
def cross_entropy(start, stop, x, target, pull, loss, tops, totals):
    """loss = pull·(log Σ exp(x − top) − (x[t] − top)), top = max x, for each row of x (M, C)

    Rows with pull = 0 give 0. top and the sum are kept, (M) each.
    """
    for row in range(start, stop):
        top = x[row, 0]
        for j in range(x.shape[1]):
            top = max(top, x[row, j])
        total = f32(0.0)
        for j in range(x.shape[1]):
            total += exp(x[row, j] - top)
        tops[row], totals[row] = top, total
        surprise = minus(np.log(total), minus(x[row, target[row]], top))
        loss[row] = f32(0.0) if pull[row] == 0 else pull[row] * surprise


@parallel
def cross_entropy_gradient(start, stop, x, target, pull, tops, totals, g, dx):
    """dx = g·pull·(softmax x − onehot t), g (M)"""
    for row in range(start, stop):
        factor = f32(0.0) if pull[row] == 0 else g[row] * pull[row]
        top = tops[row]
        scale = factor / totals[row]
        for j in range(x.shape[1]):
            dx[row, j] = scale * exp(x[row, j] - top)
        dx[row, target[row]] -= factor


def cross_entropy_forward(
    op: Any, x: Array, target: Array, pull: Array | None, spread: Array | None, w: Array, count: Any
) -> Array:
    if spread is not None or target.dtype != np.int64:
        return NotImplemented
    pull = np.ones(x.shape[0], dtype=x.dtype) if pull is None else pull
    loss, tops, totals = np.empty((3, x.shape[0]), dtype=x.dtype)
    cross_entropy(x.shape[0], as_rows(x), flat(target), flat(pull), loss, tops, totals)
    op.remember("tops_and_totals", (tops, totals))  # max x and Σ exp(x − max x) of each row
    return op.reduce(loss, count)


def cross_entropy_backward(op: Any, g: Array) -> Array:
    x, target, pull, spread, _ = op.saved
    kept = op.kept("tops_and_totals")
    if kept is None or spread is not None or target.dtype != np.int64:
        return NotImplemented
    pull = np.ones(x.shape[0], dtype=x.dtype) if pull is None else pull
    g = np.broadcast_to(g / op.divisor, pull.shape)  # () or (M) → (M)
    dx = empty_like(x)
    cross_entropy_gradient(
        x.shape[0], as_rows(x), flat(target), flat(pull), *kept, flat(g), as_rows(dx)
    )
    return dx
