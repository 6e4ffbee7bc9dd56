"""A way to look at attention weights, and at their gradients, inside any model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tinytensor.autograd.mode import state
from tinytensor.tensor import Tensor


class _Capture(threading.local):
    """Where this thread's attention weights are collected; None, the usual case: nowhere."""

    maps: dict[str, list[Tensor]] | None = None


_capture = _Capture()


@contextmanager
def capture_attention() -> Iterator[dict[str, list[Tensor]]]:
    """Collect the attention weights A of every attention module that runs in the block.

    Gives {module path: [A of the first call, of the second, …]}, each A (N, heads, L, S) before
    dropout. After backward, `A.grad` is dL/dA. Outside such a block the weights are not even kept,
    as the fused op does without them.

        with nn.capture_attention() as maps:
            logits, loss = model(x, targets)
        loss.backward()
        maps["GPT.blocks.0.attn"][0].grad
    """
    before, maps = _capture.maps, {}  # type: tuple[dict | None, dict[str, list[Tensor]]]
    _capture.maps = maps
    try:
        yield maps
    finally:
        _capture.maps = before


def capturing() -> bool:
    """Whether someone wants the attention weights."""
    return _capture.maps is not None


def record(weights: Tensor) -> None:
    """Collect the weights of the module that is running, if someone wants them."""
    if _capture.maps is None:
        return
    if weights.requires_grad:
        weights.retain_grad()
    _capture.maps.setdefault(state.mode.scope or "attention", []).append(weights)


__all__ = ["capture_attention"]
