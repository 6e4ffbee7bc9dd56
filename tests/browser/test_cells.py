"""Which cells light up: compared with those that change when a cell is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from nn import functional as F
from tinytensor.graph.drawing.graphviz import is_there
from tinytensor.graph.pages.explore import GraphPage, explore

pytestmark = pytest.mark.skipif(not is_there(), reason="no Graphviz: pip install pygraphviz")

EXACT, WIDE = "exact", "wide"  # exactly the cells that matter, or some more

TARGET = tt.tensor([2, 0])
TOKENS = tt.tensor([[1, 0, 3], [1, 1, 2]])
MASK = tt.tensor([[True, False, False], [False, True, False]])

# name: (function of the inputs, their shapes, how close)
OPS: dict[str, tuple[Any, list[tuple[int, ...]], str]] = {
    "matmul": (lambda a, b: a @ b, [(2, 3), (3, 4)], EXACT),
    "matmul_batch": (lambda a, b: a @ b, [(2, 2, 3), (2, 3, 2)], EXACT),
    "matmul_broadcast": (lambda a, b: a @ b, [(2, 2, 3), (3, 2)], EXACT),
    "matmul_vector": (lambda a, b: a @ b, [(2, 3), (3,)], EXACT),
    "linear": (F.linear, [(2, 2, 3), (4, 3), (4,)], EXACT),
    "add": (lambda a, b: a + b, [(2, 3), (3,)], EXACT),
    "mul": (lambda a, b: a * b, [(2, 1, 3), (4, 1)], EXACT),
    "tanh": (lambda x: x.tanh(), [(2, 3)], EXACT),
    "square": (lambda x: x**2, [(2, 3)], EXACT),
    "gelu": (F.gelu, [(2, 3)], EXACT),
    "sum_rows": (lambda x: x.sum(1), [(2, 3)], EXACT),
    "sum_kept": (lambda x: x.sum(0, keepdim=True), [(2, 3)], EXACT),
    "sum_all": (lambda x: x.sum(), [(2, 3)], EXACT),
    "mean_of_two": (lambda x: x.mean((0, 2)), [(2, 3, 2)], EXACT),
    "var": (lambda x: x.var(1), [(2, 3)], EXACT),
    "logsumexp": (lambda x: x.logsumexp(-1), [(2, 3)], EXACT),
    "amax": (lambda x: x.amax(1), [(2, 3)], WIDE),
    "softmax": (lambda x: x.softmax(-1), [(2, 3)], EXACT),
    "softmax_columns": (lambda x: x.softmax(0), [(2, 3)], EXACT),
    "log_softmax": (lambda x: x.log_softmax(-1), [(2, 3)], EXACT),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)], EXACT),
    "cumsum": (lambda x: x.cumsum(1), [(2, 3)], WIDE),
    "reshape": (lambda x: x.reshape(3, 2), [(2, 3)], EXACT),
    "transpose": (lambda x: x.transpose(0, 2), [(2, 3, 4)], EXACT),
    "permute": (lambda x: x.permute(2, 0, 1), [(2, 3, 4)], EXACT),
    "expand": (lambda x: x.expand(4, 3), [(1, 3)], EXACT),
    "cat": (lambda a, b: tt.cat([a, b], dim=1), [(2, 3), (2, 2)], EXACT),
    "stack": (lambda a, b: tt.stack([a, b], dim=1), [(2, 3), (2, 3)], EXACT),
    "slice": (lambda x: x[1:, ..., 0], [(3, 2, 2)], EXACT),
    "slice_new": (lambda x: x[0, None], [(3, 2)], EXACT),
    "slice_long": (lambda x: x[1:, ..., 0, None], [(3, 2, 2)], WIDE),
    "slice_steps": (lambda x: x[::2, -1], [(4, 3)], EXACT),
    "index": (lambda x: x[TARGET], [(3, 2)], WIDE),
    "embedding": (lambda w: F.embedding(TOKENS, w), [(4, 2)], EXACT),
    "cross_entropy": (lambda x: F.cross_entropy(x, TARGET), [(2, 3)], EXACT),
    "masked_fill": (lambda x: x.masked_fill(MASK, 0.0), [(2, 3)], WIDE),
    "attention": (F.scaled_dot_product_attention, [(1, 3, 2), (1, 4, 2), (1, 4, 2)], WIDE),
    "conv": (lambda x, w: F.conv1d(x, w), [(1, 2, 5), (3, 2, 2)], WIDE),
}


def leaves_of(name: str) -> list[tt.Tensor]:
    rng = np.random.default_rng(sorted(OPS).index(name))
    shapes = OPS[name][1]
    return [tt.tensor(rng.normal(size=s), dtype=tt.float64, requires_grad=True) for s in shapes]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GraphPage]:
    folder = tmp_path_factory.mktemp("cells")
    made = {}
    for name, (function, _, _) in OPS.items():
        leaves = leaves_of(name)
        path = Path(folder) / f"{name}.html"
        # A product with random numbers gives each cell of y a gradient of its own.
        made[name] = explore(lambda f=function, a=leaves: (f(*a) * 1.0).sum(), path)
    return made


# {result: [{slot: cells} for each cell]} for the op with this id.
READ = """
(id) => {
  const node = Graph.nodes[id];
  const found = {};
  const results = ["y", ...node.inputs.flatMap((input, i) =>
    input !== null && Walks.backward.arrivals[input].length ? [`d${i}`] : [])];
  for (const result of results) {
    const shape = result === "y" ? node.shape : Graph.nodes[node.inputs[result.slice(1)]].shape;
    found[result] = Array.from({ length: Matrix.size(shape) }, (_, cell) => {
      const { terms, ...slots } = Cells.sources(node, result, cell);
      return slots;
    });
  }
  return found;
}
"""


def forward_sources(function: Any, leaves: list[tt.Tensor], place: int) -> list[set[int]]:
    """For each cell of y, the cells of the input at `place` that change it."""
    arrays = [leaf.detach().numpy() for leaf in leaves]
    before = function(*map(tt.tensor, arrays)).numpy().ravel()
    sources: list[set[int]] = [set() for _ in before]
    for cell in range(arrays[place].size):
        changed = [a.copy() for a in arrays]
        changed[place].ravel()[cell] += 0.37
        after = function(*map(tt.tensor, changed)).numpy().ravel()
        for i in np.flatnonzero(after != before):
            sources[i].add(cell)
    return sources


def gradient_sources(function: Any, leaves: list[tt.Tensor], place: int) -> list[set[int]]:
    """For each cell of the gradient of the input at `place`, the cells of g that it depends on."""
    y = function(*leaves)
    sources: list[set[int]] = [set() for _ in range(leaves[place].numel())]
    for cell in range(y.numel()):
        g = np.zeros(y.numel())
        g[cell] = 1.0
        g_tensor = tt.tensor(g).reshape(y.shape)
        (grad,) = tt.autograd.grad(y, leaves[place], g_tensor, retain_graph=True)
        for i in np.flatnonzero(grad.numpy().ravel()):
            sources[i].add(cell)
    return sources


@pytest.mark.parametrize("name", OPS)
def test_cells_that_light_up_are_those_that_matter(
    page: Any, pages: dict[str, GraphPage], name: str
) -> None:
    function, _, close = OPS[name]
    made = pages[name]
    page.goto(made.path.as_uri())  # type: ignore[union-attr]
    node = next(n for n in made.graph.nodes if n.kind == "op")
    shown = page.evaluate(READ, node.id)
    leaves = leaves_of(name)
    inputs = [i for i, source in enumerate(node.inputs) if source is not None]
    tracked = [i for i in inputs if made.graph.nodes[node.inputs[i]].kind != "constant"]
    assert len(tracked) == len(leaves)
    for place, argument in enumerate(tracked):
        pairs = [("y", str(argument), forward_sources), (f"d{argument}", "g", gradient_sources)]
        for result, slot, measure in pairs:
            expected = measure(function, leaves, place)
            assert len(shown[result]) == len(expected)
            for cell, (seen, truth) in enumerate(zip(shown[result], expected)):
                lit = set(seen.get(slot, ()))
                where = f"{name}: {result}[{cell}] from {slot}"
                assert truth <= lit, f"{where}: {truth - lit} not lit"
                assert close == WIDE or lit == truth, f"{where}: {lit - truth} lit in vain"
