"""The attention page: every head of every layer, with scores, weights and gradients."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...tensor import Tensor
from ...text import one_line
from ..data.attention_maps import KINDS, AttentionMap, Tokens, collect_maps
from .html import Page, page

MOST_VALUES = 40_000_000  # float32 numbers in a page: about 200 MB, which browsers still open

BODY = """
<main id="attention">
<section id="overview" aria-label="All heads"></section>
<section id="detail" aria-label="One head" class="panel"></section>
</main>
"""
STYLES = ["attention.css"]
ROOMS = ("head", "paint", "numbers", "detail")
SCRIPTS = [*(f"attention-{room}.js" for room in ROOMS), "attention.js"]


class AttentionPage(Page):
    """The result of `graph.attention`: a page, and its arrays, `maps`."""

    def __init__(self, maps: list[AttentionMap], html: str, path: str | os.PathLike | None):
        super().__init__(html, path)
        self.maps = maps

    def summary(self) -> str:
        heads = sum(len(each.weights) for each in self.maps)
        return f"{heads} heads of {len(self.maps)} layers"


def attention(
    model: Any,
    inputs: Any,
    path: str | os.PathLike | None = "attention.html",
    loss: Callable[[Any], Tensor] | None = None,
    tokens: Tokens = None,
    *,
    sample: int = 0,
    title: str | None = None,
) -> AttentionPage:
    """Write a page of the attention of all layers and heads, for one sample of a batch.

    inputs: the model's argument; a tuple or list of them; or a dict by their names.
    path: the file of the page; None: it is not written.
    loss: a function of the model's output; default: the loss among the outputs. Without a loss
        the page has no gradients.
    tokens: names of the positions, as a list, or (source, target) for an encoder and a decoder.
    sample: the index in the batch.

        graph.attention(gpt, (x, targets), "attention.html", tokens=list("hello world"))
        graph.attention(model, (src, tgt), loss=lambda logits: F.cross_entropy(…),
                        tokens=(src_words, tgt_words))

    The model runs once, in its current mode, and no `.grad` is changed.
    """
    maps = collect_maps(model, inputs, loss, tokens, sample)
    return page_of_maps(maps, path, title or f"Attention of {type(model).__name__}")


def page_of_maps(
    maps: list[AttentionMap], path: str | os.PathLike | None, title: str
) -> AttentionPage:
    """The page of collected maps."""
    html = page(title, BODY, {"attention": page_data(maps)}, STYLES, SCRIPTS)
    return AttentionPage(maps, html, path)


def page_data(maps: list[AttentionMap]) -> dict[str, Any]:
    """The data of the page: queries, keys, masks and dL/dA. It computes the rest itself."""
    values = sum(
        array.size
        for each in maps
        for array in (each.query, each.key, each.grad, None if each.scores_known else each.weights)
        if array is not None
    )
    if values > MOST_VALUES:
        raise ValueError(
            f"graph.attention: the maps have {values:,} numbers, expected at most {MOST_VALUES:,} "
            "for a page; use shorter sequences or fewer layers"
        )
    biases = _Table()
    tokens = _Table()
    return {
        "kinds": KINDS,
        "maps": [_map_data(each, biases, tokens) for each in maps],
        "biases": [encoded(bias) for bias in biases.items],
        "tokens": tokens.items,
    }


def _map_data(each: AttentionMap, biases: _Table, tokens: _Table) -> dict[str, Any]:
    heads, queries, keys = each.weights.shape
    known = each.scores_known
    return {
        "path": one_line(each.path),
        "kind": each.kind,
        "call": each.call,
        "heads": heads,
        "queries": queries,
        "keys": keys,
        "width": each.query.shape[-1] if each.query is not None else 0,
        "scale": each.scale,
        "rows": tokens.place(list(map(one_line, each.rows))),
        "columns": tokens.place(list(map(one_line, each.columns))),
        "bias": None if each.bias is None else [biases.place(b) for b in each.bias],
        "query": encoded(each.query) if known else None,
        "key": encoded(each.key) if known else None,
        "weights": None if known else encoded(each.weights),
        "grad": encoded(each.grad),
        "rowErrors": _row_errors(each),
    }


def _row_errors(each: AttentionMap) -> dict[str, list[float] | None]:
    """For each head, the largest error of row sums: those of A should be 1, those of dS 0.

    Rows of zeros, where everything is masked, count as correct.
    """
    sums = each.weights.sum(axis=-1, dtype=np.float64)  # (H, L)
    of_weights = np.where(each.weights.any(axis=-1), abs(sums - 1), 0.0)
    ds = each.score_grad
    of_grad = None if ds is None else abs(ds.sum(axis=-1, dtype=np.float64))
    return {
        "weights": of_weights.max(axis=-1, initial=0.0).tolist(),
        "scoreGrad": None if of_grad is None else of_grad.max(axis=-1, initial=0.0).tolist(),
    }


class _Table:
    """A list that stores equal items once; the layers of a model share masks and tokens."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._places: dict[Any, int] = {}

    def place(self, item: Any) -> int:
        key = (item.shape, item.tobytes()) if isinstance(item, np.ndarray) else tuple(item)
        if key not in self._places:
            self._places[key] = len(self.items)
            self.items.append(item)
        return self._places[key]


def encoded(array: np.ndarray | None) -> str | None:
    """The numbers as base64 of little-endian float32."""
    if array is None:
        return None
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()


__all__ = ["AttentionPage", "attention"]
