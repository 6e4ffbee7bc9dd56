"""The gradient of cross_entropy in one launch; equations as in ops/cross_entropy.py."""

from __future__ import annotations

from typing import Any

from ...backend import Array, xp
from . import elementwise

cross_entropy_gradient = elementwise(
    "cross_entropy_gradient", "T p, T factor, int64 target, int64 column", "T dx",
    "T chosen = column == target ? T(1) : T(0); dx = factor * (p - chosen)",
)  # fmt: skip


def cross_entropy_backward(op: Any, g: Array) -> Array:
    """dx = g·pull·(softmax x − onehot t), x (M, C)"""
    x, target, pull, spread, _ = op.saved
    p = op.kept("probabilities")
    if p is None or spread is not None or target.dtype != "int64":
        return NotImplemented
    factor = (g / op.divisor).reshape(-1, 1)  # () → (1, 1), or (M) → (M, 1)
    if pull is not None:
        factor = factor * pull[:, None]  # (M, 1)
    columns = xp(x).arange(x.shape[1])
    return cross_entropy_gradient(p, factor, target[:, None], columns)
