"""The steps of a traced graph, replayed as plain sums, give the gradients of backward()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from tinytensor import graph
from tinytensor.graph import Graph

from ...autograd.test_traced_walk import random_graph


def replay(g: Graph, seed: Any) -> dict[int, np.ndarray]:
    """{leaf id: gradient}, by nothing but additions in the order of the steps."""
    sums: dict[int, Any] = {}
    assert g.steps is not None and g.loss is not None
    sums[g.loss] = seed
    leaves = {}
    for step in g.steps:
        node = g.nodes[step.node]
        complete = sums.pop(step.node, None)
        if node.kind != "op":
            leaves[node.id] = complete
        if step.gradient is not None:
            assert np.array_equal(step.gradient.array(), complete, equal_nan=True), node
        for c in step.contributions:
            assert node.inputs[c.position] == c.target
            value = c.value.array()
            if g.nodes[c.target].op and node.op == "Output":
                continue  # into a slot of its op, which has a gradient for each output
            assert (c.before is None) == (c.target not in sums)
            sums[c.target] = sums[c.target] + value if c.target in sums else value
            assert np.array_equal(c.after.array(), sums[c.target], equal_nan=True)
    assert not sums  # every gradient that was passed on has arrived
    return leaves


def check(make: Callable[[], tuple[Any, list]]) -> None:
    """make() gives the same loss and leaves each time."""
    twin, twin_leaves = make()
    twin.backward()
    with graph.record(max_values=None):
        loss, leaves = make()
    g = graph.trace(loss, max_values=None)
    gradients = replay(g, np.ones_like(loss.array))
    # The graph has its leaves in another order than they were made in.
    found = sorted(gradient.tobytes() for gradient in gradients.values())
    assert found == sorted(x.grad.array.tobytes() for x in twin_leaves if x.grad is not None)
    assert all(leaf.grad is None for leaf in leaves)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(seed: int) -> None:
    check(lambda: random_graph(seed))


@pytest.mark.parametrize("dropout", [0.0, 0.5], ids=["plain", "dropout"])
def test_a_transformer(dropout: float) -> None:
    def make() -> tuple[Any, list]:
        tt.manual_seed(0)
        model = nn.Seq2SeqTransformer(
            7, 9, d_model=4, nhead=2, num_encoder_layers=2, num_decoder_layers=2,
            dim_feedforward=8, dropout=dropout, max_len=8,
        )  # fmt: skip
        source, target = tt.tensor([[1, 2, 3], [4, 5, 6]]), tt.tensor([[1, 2], [3, 4]])
        scores = model(source, target)
        loss = nn.functional.cross_entropy(scores.reshape(-1, 9), target.reshape(-1))
        return loss, list(model.parameters())

    check(make)
