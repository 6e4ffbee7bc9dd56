"""The attention of one forward pass as arrays: queries, keys, weights and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...autograd import enable_grad, grad
from ...create import ones, zeros
from ...dtype import bool_
from ...errors import ShapeError
from ...tensor import Tensor

Tokens = Sequence[str] | Sequence[Sequence[str]] | None

KINDS = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
    "self": "Self-attention",
}

NO_ATTENTION = (
    "no attention module ran in {}; expected nn.MultiheadAttention or another module that uses "
    "nn.attention.attend"
)


@dataclass
class AttentionMap:
    """One call of one attention module, for one sample: H heads, L queries, S keys, width D.

    weights (H, L, S) = softmax(scores), scores = query·keyᵀ·scale + bias. query (H, L, D) and key
    (H, S, D) are None if the scores are not such a product. bias (H or 1, L, S) holds −inf where a
    query may not attend, None if there is none. grad (H, L, S): dL/dA, None without a loss.
    """

    path: str
    kind: str
    call: int  # 0 for the module's first call, 1 for its second, …
    weights: np.ndarray
    query: np.ndarray | None = None
    key: np.ndarray | None = None
    bias: np.ndarray | None = None
    grad: np.ndarray | None = None
    rows: list[str] = field(default_factory=list)  # the queries' tokens
    columns: list[str] = field(default_factory=list)  # the keys' tokens

    @property
    def scale(self) -> float:
        """1 / √D"""
        return 1 / math.sqrt(self.query.shape[-1] or 1) if self.query is not None else 1.0

    @property
    def scores_known(self) -> bool:
        """Whether the scores are a product of queries and keys."""
        return self.query is not None and self.key is not None

    @property
    def scores(self) -> np.ndarray | None:
        """S = query·keyᵀ·scale + bias, (H, L, S)."""
        if self.query is None or self.key is None:
            return None
        product = self.query * self.scale @ self.key.swapaxes(-1, -2)
        return product if self.bias is None else product + self.bias

    @property
    def score_grad(self) -> np.ndarray | None:
        """dL/dS = A⊙(dA − Σ dA⊙A), (H, L, S); each row sums to 0."""
        if self.grad is None:
            return None
        total = (self.grad * self.weights).sum(axis=-1, keepdims=True)
        return self.weights * (self.grad - total)


def collect_maps(
    model: Any,
    inputs: Any,
    loss: Callable[[Any], Tensor] | None = None,
    tokens: Tokens = None,
    sample: int = 0,
) -> list[AttentionMap]:
    """Run the model once and return the attention of one sample of the batch, in order.

    Arguments as in `graph.attention`. No `.grad` is changed.
    """
    from ...utils.attention_capture import capture_attention

    with enable_grad(), capture_attention() as captured:
        value = _loss_of(_run(model, inputs), loss)
    if not captured.calls:
        raise ValueError(f"graph.attention: {NO_ATTENTION.format(type(model).__name__)}")
    return maps_of_calls(captured.calls, value, tokens, sample)


def maps_of_calls(
    calls: Sequence[Any], loss: Tensor | None, tokens: Tokens = None, sample: int = 0
) -> list[AttentionMap]:
    """The maps of captured calls (`nn.capture_attention`), with gradients if there is a loss."""
    weights = [call.weights for call in calls]
    grads: Sequence[Any] = [None] * len(weights)
    if loss is not None and all(w.requires_grad for w in weights):
        grads = grad(loss, weights, retain_graph=True, allow_unused=True)
    seen: dict[str, int] = {}
    maps = []
    for call, g in zip(calls, grads):
        maps.append(_map_of(call, g, seen.get(call.path, 0), sample))
        seen[call.path] = seen.get(call.path, 0) + 1
    maps = _join_steps(maps)
    for each in maps:
        _label(each, tokens)
    return maps


def _run(model: Any, inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)


def _loss_of(output: Any, loss: Callable[[Any], Tensor] | None) -> Tensor | None:
    """loss(output); without a function the loss among the model's outputs, if there is one."""
    if loss is None:
        parts = list(output.values()) if isinstance(output, dict) else output
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        losses = (p for p in parts if isinstance(p, Tensor) and p.numel() == 1 and p.requires_grad)
        return next(losses, None)
    if not callable(loss):
        raise TypeError(
            f"graph.attention: loss is of {type(loss).__name__}, expected a function that computes "
            "the loss from the model's output, such as lambda logits: logits.sum()"
        )
    value = loss(output)
    if not isinstance(value, Tensor) or value.numel() != 1:
        got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ShapeError(f"graph.attention: the loss is {got}, expected a tensor of one element")
    return value


# ------------------------------------------------------------------------------------------
# From tensors of a batch to arrays of one sample
# ------------------------------------------------------------------------------------------


def _map_of(call: Any, g: Tensor | None, number: int, sample: int) -> AttentionMap:
    *lead, queries, keys = call.weights.shape
    batch, heads = _batch_and_heads(lead, has_heads=call.query is not None)
    if not -batch <= sample < batch:
        raise IndexError(f"graph.attention: sample={sample}, expected one of a batch of {batch}")

    def one_sample(x: Tensor | None, rows: int, columns: int) -> Any:
        if x is None:
            return None
        array = np.broadcast_to(x.numpy(force=True), (*lead, rows, columns))
        return array.reshape(batch, heads, rows, columns)[sample]  # (…, L, S) → (H, L, S)

    width = 0 if call.query is None else call.query.shape[-1]
    bias = one_sample(_as_bias(call), queries, keys)
    if bias is not None and (bias == bias[:1]).all():
        bias = bias[:1]
    return AttentionMap(
        path=call.path,
        kind=_kind(call.path, queries, keys, bias),
        call=number,
        weights=one_sample(call.weights, queries, keys),
        query=one_sample(call.query, queries, width),
        key=one_sample(call.key, keys, width),
        bias=bias,
        grad=one_sample(g, queries, keys),
    )


def _batch_and_heads(lead: list[int], has_heads: bool) -> tuple[int, int]:
    """N and H of weights (*lead, L, S): (N, H), (H) of one sample, or (N) of one head."""
    if len(lead) > 1:
        return lead[0], math.prod(lead[1:])
    size = lead[0] if lead else 1
    return (1, size) if has_heads else (size, 1)


def _join_steps(maps: list[AttentionMap]) -> list[AttentionMap]:
    """One map of L rows for a module that was called L times in a row with one query each.

    A recurrent decoder calls it like that, once for each step.
    """
    joined: list[AttentionMap] = []
    for path, calls in _by_path(maps).items():
        shapes = {each.weights.shape for each in calls}
        if len(calls) == 1 or len(shapes) > 1 or next(iter(shapes))[1] != 1:
            joined += calls
            continue
        grads = [each.grad for each in calls if each.grad is not None]
        joined.append(
            AttentionMap(
                path=path,
                kind="cross",
                call=0,
                weights=np.concatenate([each.weights for each in calls], axis=1),
                grad=np.concatenate(grads, axis=1) if len(grads) == len(calls) else None,
            )
        )
    return joined


def _by_path(maps: list[AttentionMap]) -> dict[str, list[AttentionMap]]:
    paths: dict[str, list[AttentionMap]] = {}
    for each in maps:
        paths.setdefault(each.path, []).append(each)
    return paths


def _as_bias(call: Any) -> Tensor | None:
    """The term added to the scores: 0 and −inf for a boolean mask, else the mask itself."""
    allowed = call.attn_mask
    if allowed is None and not call.is_causal:
        return None
    if allowed is not None and allowed.is_floating_point():
        return allowed
    if allowed is None:
        allowed = ones(*call.weights.shape[-2:], dtype=bool_).tril()
    return zeros(allowed.shape).masked_fill(~allowed, -math.inf)


def _kind(path: str, queries: int, keys: int, bias: np.ndarray | None) -> str:
    """Which key of KINDS: by the module's name, and by whether the future is masked."""
    parts = path.lower().split(".")
    if "cross" in parts[-1] or parts[-1] == "multihead_attn":
        return "cross"
    causal = bias is not None and queries > 1 and bool(
        np.isneginf(bias[:, np.triu(np.ones((queries, keys), bool), 1 + keys - queries)]).all()
    )  # fmt: skip
    if "decoder" in parts or causal:
        return "decoder"
    if queries != keys and "self" not in parts[-1]:
        return "cross"
    return "encoder" if "encoder" in parts else "self"


# ------------------------------------------------------------------------------------------
# Tokens
# ------------------------------------------------------------------------------------------


def _label(each: AttentionMap, tokens: Tokens) -> None:
    """Name the rows and columns of a map by tokens, or by position if there are none."""
    _, queries, keys = each.weights.shape
    source, target = _source_and_target(tokens)
    of_rows = source if each.kind in ("encoder", "self") else target
    of_columns = target if each.kind == "decoder" else source
    each.rows = _fitting(of_rows, queries, each, "queries")
    # Self-attention may have a learned key and a key of zeros besides those of its tokens.
    same = of_rows is not None and of_rows is of_columns
    more = keys - queries if same and 0 < keys - queries <= 2 else 0
    each.columns = _fitting(of_columns, keys - more, each, "keys")
    each.columns += [f"+{i + 1}" for i in range(more)]


def _source_and_target(tokens: Tokens) -> tuple[Any, Any]:
    if tokens is None or all(isinstance(token, str) for token in tokens):
        return tokens, tokens
    if len(tokens) == 2 and not any(isinstance(side, str) for side in tokens):
        return [str(t) for t in tokens[0]], [str(t) for t in tokens[1]]
    if not any(isinstance(token, (list, tuple)) for token in tokens):
        texts = [str(token) for token in tokens]
        return texts, texts
    raise ValueError(
        f"graph.attention: got tokens of {len(tokens)} parts, expected a list of strings, or a "
        "pair of lists (source, target)"
    )


def _fitting(tokens: Sequence[str] | None, count: int, each: AttentionMap, what: str) -> list[str]:
    if tokens is None:
        return [str(i) for i in range(count)]
    if len(tokens) != count:
        raise ValueError(
            f"graph.attention: got {len(tokens)} tokens, expected {count}, one for each of the "
            f"{what} of {each.path}; pass (source tokens, target tokens) if they differ"
        )
    return list(tokens)


__all__ = ["KINDS", "AttentionMap", "collect_maps", "maps_of_calls"]
