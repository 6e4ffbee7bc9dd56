"""The naive backward walk: why the engine walks from the newest node to the oldest.

    def backward(node):
        for input, contribution in rule(node, node.grad):
            input.grad += contribution
            if not input.visited:
                backward(input)  # as soon as anything has arrived

A node that is used twice passes on only the gradient from its first user; the second user's arrives
too late. The rules are the engine's own, so these are the wrong gradients that such code computes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...autograd.engine import grad
from ...autograd.mode import run_in_mode
from ...autograd.outputs import Output
from ...autograd.variable import Variable, as_array, edge_of, own_copy
from ...autograd.walk import collect, fit
from ...backend import xp
from ...devices import to_device
from .graph import Graph
from .values import Value, value_of


@dataclass
class WrongWalk:
    """The naive walk.

    order      ids of the nodes, in the order in which they ran
    gradients  the gradient of each node when it ran
    arrivals   {node: the number of nodes that had run when each contribution arrived}
    final      {leaf: its gradient at the end}
    errors     {leaf: ‖wrong − right‖ / ‖right‖} for leaves whose gradient is wrong
    """

    order: list[int] = field(default_factory=list)
    gradients: list[Value | None] = field(default_factory=list)
    arrivals: dict[int, list[int]] = field(default_factory=dict)
    final: dict[int, Value] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)


def naive_walk(loss: Any, graph: Graph, max_values: int | None) -> WrongWalk:
    """Walk the live graph behind `loss`, of which `graph` is the trace, in the naive order."""
    root = edge_of(loss)
    ids = _ids(root, graph)
    walk = WrongWalk()
    grads: dict[Any, Any] = {root: xp(loss.array).ones_like(loss.array)}
    run_in_mode(False, lambda: _descend(root, grads, ids, walk, max_values))
    right = run_in_mode(False, lambda: _right_gradients(root, loss))
    for leaf, expected in right.items():
        got = to_device(grads[leaf], "cpu") if leaf in grads else np.zeros_like(expected)
        walk.final[ids[leaf]] = value_of(got, max_values)
        error = _relative_error(got, expected)
        if error > 1e-5:  # beyond rounding: sums in another order differ in the last digit
            walk.errors[ids[leaf]] = error
    return walk


def _ids(root: Any, graph: Graph) -> dict[Any, int]:
    """{engine's node or leaf: id in the traced graph}. Both list the ops in order of creation."""
    live = [node for node in collect([root]) if node._order > 0]
    traced = [node for node in graph.nodes if node.kind == "op"]
    ids: dict[Any, int] = {root: 0}
    for op, node in zip(live, traced):
        ids[op] = node.id
        edges = [op.parent] if isinstance(op, Output) else op._edges
        for edge, source in zip(edges, node.inputs):
            if edge is not None and source is not None:
                ids[edge] = source
    return ids


def _descend(
    root: Any, grads: dict[Any, Any], ids: dict[Any, int], walk: WrongWalk, max_values: int | None
) -> None:
    """The recursion of the module docstring, with an explicit stack: graphs may be deep."""
    visited = {root}
    stack = [_run(root, grads, ids, walk, max_values)]
    while stack:
        if not stack[-1]:
            stack.pop()
            continue
        edge, value = stack[-1].pop()
        walk.arrivals.setdefault(ids[edge], []).append(len(walk.order))
        if isinstance(value, tuple):  # one of several outputs: (index, gradient)
            slots = grads.setdefault(edge, [None] * len(edge._shape))
            index, g = value
            slots[index] = g if slots[index] is None else as_array(slots[index] + g)
        else:
            grads[edge] = value if edge not in grads else as_array(grads[edge] + value)
        if edge not in visited:
            visited.add(edge)
            stack.append(_run(edge, grads, ids, walk, max_values))


def _run(
    node: Any, grads: dict[Any, Any], ids: dict[Any, int], walk: WrongWalk, max_values: int | None
) -> list[tuple[Any, Any]]:
    """Run a node's rule on its gradient so far: (input, contribution) pairs, last first."""
    g = grads[node]
    walk.order.append(ids[node])
    several = isinstance(g, list)
    walk.gradients.append(None if several else value_of(g, max_values))
    if isinstance(node, Variable):
        return []
    if isinstance(node, Output):
        return [(node.parent, (node.index, g))]
    results = node.backward(*node.fill_missing(list(g))) if several else node.backward(g)
    if type(results) is not tuple:
        results = (results,)
    pairs = [(e, v) for e, v in zip(node._edges, results) if e is not None and v is not None]
    return [(edge, own_copy(as_array(fit(value, edge, node)))) for edge, value in reversed(pairs)]


def _right_gradients(root: Any, loss: Any) -> dict[Any, np.ndarray]:
    """{leaf: its gradient} by the engine."""
    leaves = [node for node in collect([root]) if isinstance(node, Variable)]
    if not leaves:
        return {}
    found = grad(loss, leaves, retain_graph=True, materialize_grads=True)
    return {leaf: to_device(g.array, "cpu") for leaf, g in zip(leaves, found)}


def _relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    size = float(np.linalg.norm(expected.astype(np.float64)))
    difference = float(np.linalg.norm(got.astype(np.float64) - expected.astype(np.float64)))
    if difference == 0:
        return 0.0
    return difference / size if size > 0 else math.inf
