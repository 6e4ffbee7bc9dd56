"""capture_attention: record attention weights, and their gradients, inside any model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..autograd.mode import state
from ..autograd.nesting import per_thread
from ..tensor import Tensor


@dataclass
class AttentionCall:
    """One call of an attention module: weights = softmax(query·keyᵀ/√D + mask).

    weights (…, L, S). query (…, L, D) and key (…, S, D) if the scores are dot products, else None.
    attn_mask as `F.scaled_dot_product_attention` takes it: booleans, True where a query may attend,
    or numbers to add. is_causal: query i sees the keys 0 … i.
    """

    path: str
    weights: Tensor
    query: Tensor | None = None
    key: Tensor | None = None
    attn_mask: Tensor | None = None
    is_causal: bool = False


class AttentionMaps(dict[str, list[Tensor]]):
    """{module path: [weights of each call]}; `calls` lists all calls in order, with details."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[AttentionCall] = []


class _Capture(threading.local):
    """Where this thread collects attention weights; None: it does not."""

    maps: AttentionMaps | None = None


_capture = _Capture()
per_thread.append(_capture)


@contextmanager
def capture_attention() -> Iterator[AttentionMaps]:
    """Collect the attention weights A of every attention module that runs in the block.

    Yields {module path: [A of the first call, of the second, …]}, each A (N, heads, L, S) before
    dropout. After backward, `A.grad` is dL/dA. Outside such a block the weights are not stored: the
    fused op does not need them.

        with nn.capture_attention() as maps:
            logits, loss = model(x, targets)
        loss.backward()
        maps["GPT.blocks.0.attn"][0].grad
        maps.calls[0].query  # from which the weights were computed
    """
    before, maps = _capture.maps, AttentionMaps()
    _capture.maps = maps
    try:
        yield maps
    finally:
        _capture.maps = before


def capturing() -> bool:
    """True inside a `capture_attention` block."""
    return _capture.maps is not None


def record(
    weights: Tensor,
    query: Tensor | None = None,
    key: Tensor | None = None,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
) -> None:
    """Collect the weights of the running module, inside a `capture_attention` block."""
    if _capture.maps is None:
        return
    if weights.requires_grad:
        weights.retain_grad()
    path = state.mode.scope or "attention"
    _capture.maps.setdefault(path, []).append(weights)
    call = AttentionCall(path, weights, query, key, attn_mask, is_causal)
    _capture.maps.calls.append(call)


__all__ = ["AttentionCall", "AttentionMaps", "capture_attention"]
