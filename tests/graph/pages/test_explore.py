"""explore: rooms, layouts, packed numbers, the naive order, and the page as a file."""

from __future__ import annotations

import base64
import json
import math
import re
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn import functional as F
from tinytensor import graph as tg
from tinytensor.graph.data.wrong_order import naive_walk
from tinytensor.graph.drawing.graphviz import is_there
from tinytensor.graph.pages.explore import explore
from tinytensor.graph.pages.pack import affordable_limit, pack
from tinytensor.graph.pages.room_layout import labels, lay_out, pictures, to_dot
from tinytensor.graph.pages.rooms import CROWDED, Room, Rooms, build

from ...autograd.test_traced_walk import random_graph

needs_graphviz = pytest.mark.skipif(not is_there(), reason="no Graphviz: pip install pygraphviz")


class Block(nn.Module):
    """x ← x + w·tanh(norm(x))"""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return x + self.mix(self.norm(x).tanh())


class Stack(nn.Module):
    def __init__(self, depth: int, width: int = 4) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def stack_graph(depth: int) -> tg.Graph:
    model = Stack(depth)
    return tg.trace(lambda: model(tt.ones(2, 4)).square().mean(), max_values=64)


def room_at(rooms: Rooms, path: str) -> Room:
    return next(room for room in rooms.all if room.path == path)


# ------------------------------------------------------------------------------------------
# Rooms
# ------------------------------------------------------------------------------------------


def test_rooms_nest_as_modules_do() -> None:
    graph = stack_graph(3)
    rooms = build(graph)
    assert [room.path for room in rooms.all[:3]] == ["", "Stack", "Stack.blocks.0"]
    block = room_at(rooms, "Stack.blocks.1")
    assert block.label == "blocks.1" and block.class_name == "Block" and block.ops == 4
    assert block.parent is room_at(rooms, "Stack")
    norm = room_at(rooms, "Stack.blocks.1.norm")
    assert norm.inline and norm.view is block  # one op: a frame in the block's picture
    assert rooms.all[0].ops == sum(node.kind == "op" for node in graph.nodes)


def test_every_node_is_in_one_room() -> None:
    graph = stack_graph(2)
    rooms = build(graph)
    placed = [item for room in rooms.all for item in room.items if isinstance(item, int)]
    assert sorted(placed) == [node.id for node in graph.nodes]
    assert all(node.id in rooms.home[node.id].items for node in graph.nodes)


def test_a_leaf_is_in_the_innermost_room_that_uses_it() -> None:
    tied = nn.Linear(4, 4)

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Block(4), Block(4)
            self.second.mix = tied
            self.first.mix = tied

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return self.second(self.first(x))

    model = Twice()
    graph = tg.trace(lambda: model(tt.ones(2, 4)).sum())
    rooms = build(graph)
    weight = next(n for n in graph.nodes if n.kind == "parameter" and n.name.endswith("mix.weight"))
    scale = next(n for n in graph.nodes if n.name == "first.norm.weight")
    assert rooms.home[weight.id].path == "Twice"  # both blocks use it
    assert rooms.home[scale.id].path == "Twice.first.norm"


def test_each_call_of_a_module_is_a_room() -> None:
    cell = Block(4)

    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            for _ in range(3):
                x = self.cell(x) * 0.5
            return x

    model = Loop()
    rooms = build(tg.trace(lambda: model(tt.ones(2, 4)).sum()))
    calls = [room.call for room in rooms.all if room.path == "Loop.cell"]
    assert calls == [1, 2, 3]


def test_calls_without_an_op_between_them_are_told_apart() -> None:
    cell = nn.RNNCell(3, 4)

    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            h = tt.zeros(2, 4)
            for t in range(5):
                h = self.cell(x[t], h)
            return h

    model = Loop()
    rooms = build(tg.trace(lambda: model(tt.ones(5, 2, 3)).sum()))
    calls = [(room.call, room.ops) for room in rooms.all if room.path == "Loop.cell"]
    assert [call for call, _ in calls] == [1, 2, 3, 4, 5]
    assert len({ops for _, ops in calls}) == 1


def test_what_feeds_a_room_ran_before_it() -> None:
    """So pictures have no cycles."""
    model = Stack(2)
    graph = tg.trace(lambda: (model(model(tt.ones(2, 4)) * 2) + 1).mean())
    for picture in pictures(graph, build(graph)):
        before: dict[int, set[int]] = {}
        for start, end in picture.edges:
            before.setdefault(end, set()).add(start)
        TopologicalSorter(before).prepare()  # which raises if there is a cycle


def test_a_crowded_room_is_cut_into_parts() -> None:
    x = tt.ones(2, requires_grad=True)
    y = x
    for _ in range(CROWDED * 3):
        y = y * 1.01
    rooms = build(tg.trace(y.sum()))
    assert all(len(room.items) <= CROWDED + 5 for room in rooms.all)
    assert rooms.all[1].label.startswith("part 1 of ")
    assert rooms.all[0].ops == CROWDED * 3 + 1


# ------------------------------------------------------------------------------------------
# Layouts
# ------------------------------------------------------------------------------------------


@needs_graphviz
def test_alike_modules_share_one_layout() -> None:
    few, many = (lay_out(pictures(g, build(g))) for g in (stack_graph(3), stack_graph(9)))
    assert len(few[0]) == len(many[0])  # six more blocks need no layout more
    assert len(many[1]) == len(few[1]) + 6


@needs_graphviz
def test_layouts_place_everything() -> None:
    graph = stack_graph(2)
    found = pictures(graph, build(graph))
    layouts, which = lay_out(found)
    for picture, index in zip(found, which):
        layout = layouts[index]
        width, height = layout["size"]
        assert len(layout["at"]) == len(picture.entries)
        assert sorted((a, b) for a, b, _ in layout["edges"]) == sorted(picture.edges)
        for x, y, w, h in layout["at"]:
            assert x - w / 2 >= 0 and x + w / 2 <= width + 1
            assert y - h / 2 >= 0 and y + h / 2 <= height + 1
        for _, end, points in layout["edges"]:  # the arrow ends at the box it points to
            x, y, w, h = layout["at"][end]
            assert abs(points[-2] - x) <= w / 2 + 3 and abs(points[-1] - y) <= h / 2 + 3


@needs_graphviz
def test_a_long_row_is_broken() -> None:
    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleList([Block(4) for _ in range(12)])

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            x = x * 2
            return tt.cat([head(x) for head in self.heads], dim=-1)

    model = Heads()
    graph = tg.trace(lambda: model(tt.ones(2, 4, requires_grad=True)).sum())
    picture = next(p for p in pictures(graph, build(graph)) if p.room.path == "Heads")
    (layout,), _ = lay_out([picture])
    heights = {at[1] for entry, at in zip(picture.entries, layout["at"]) if entry.kind == "room"}
    assert len(heights) > 1
    assert len(layout["edges"]) == len(picture.edges)  # the helping edges are not drawn


def test_an_op_has_the_name_of_its_result() -> None:
    x = tt.ones(2, requires_grad=True)

    def loss() -> tt.Tensor:
        h = x.tanh()
        return (h * 2).sum()

    assert labels(tg.trace(loss)) == ["x", "h = tanh", "mul", "sum"]


def test_names_never_reach_graphviz() -> None:
    x = tt.ones(2, requires_grad=True)
    graph = tg.trace((x * 2).sum())
    for node in graph.nodes:
        node.name = '"] <script> \\N'
    for picture in pictures(graph, build(graph)):
        assert "script" not in to_dot(picture)


# ------------------------------------------------------------------------------------------
# Packed numbers
# ------------------------------------------------------------------------------------------


def unpack(data: dict[str, Any], numbers: str) -> list[np.ndarray]:
    """The values of a page; summaries as their 18 numbers."""
    flat = np.frombuffer(base64.b64decode(numbers), "<f4")
    values, offset = [], 0
    for code in data["values"]:
        shape = data["shapes"][code >> 1]
        size = 18 if code & 1 else math.prod(shape)
        part = flat[offset : offset + size]
        values.append(part if code & 1 else part.reshape(shape))
        offset += size
    assert offset == flat.size
    return values


@needs_graphviz
def test_packed_numbers_are_the_graphs() -> None:
    graph = stack_graph(2)
    data, numbers = pack(graph, None)
    values = unpack(data, numbers)
    for node, packed in zip(graph.nodes, data["nodes"]):
        for value, place in ((node.value, packed[10]), (node.grad, packed[11])):
            assert (value is None) == (place < 0)
            if value is not None:
                assert np.array_equal(values[place], value.array().astype(np.float32))
    for step, (node, gradient, contributions, _) in zip(graph.steps or (), data["backward"]):
        assert node == step.node
        assert np.array_equal(values[gradient], step.gradient.array().astype(np.float32))
        for c, (position, target, value, after) in zip(step.contributions, contributions):
            assert (position, target) == (c.position, c.target)
            assert np.array_equal(values[value], c.value.array().astype(np.float32))
            assert np.array_equal(values[after], c.after.array().astype(np.float32))


@needs_graphviz
def test_equal_values_are_stored_once() -> None:
    x, y = (tt.ones(3, 3, requires_grad=True) for _ in range(2))
    graph = tg.trace(lambda: (x + y).sum())
    data, _ = pack(graph, None)
    grads = {packed[11] for packed in data["nodes"] if packed[4] == data["shapes"].index((3, 3))}
    assert len(grads) == 1  # an addition hands its gradient on


def test_large_graphs_show_smaller_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = stack_graph(2)
    assert affordable_limit(graph) >= 64
    monkeypatch.setattr("tinytensor.graph.pages.pack.BUDGET", 60)
    assert affordable_limit(graph) < 16


@needs_graphviz
def test_odd_values() -> None:
    x = tt.tensor([1.0, float("nan"), float("inf")], requires_grad=True)
    values = unpack(*pack(tg.trace(lambda: (x * 1e300).sum()), None))
    assert any(np.isnan(v).any() for v in values) and any(np.isinf(v).any() for v in values)


# ------------------------------------------------------------------------------------------
# The naive order
# ------------------------------------------------------------------------------------------


def test_the_naive_order_loses_what_comes_late() -> None:
    """h = 2x; loss = 3h + h²: by hand dh = 3 + 2h, but the naive walk passes on its first part."""
    x = tt.tensor(5.0, requires_grad=True)
    h = x * 2
    loss = h * 3 + h * h
    graph = tg.trace(loss)
    walk = naive_walk(loss, graph, 64)
    leaf = next(node.id for node in graph.nodes if node.kind == "leaf")
    assert graph.nodes[leaf].grad.data == pytest.approx(2 * (3 + 2 * 10))
    assert walk.final[leaf].data == pytest.approx(2 * 3)  # h ran when 3 had arrived, of 3 + 10 + 10
    assert walk.errors[leaf] == pytest.approx((46 - 6) / 46)
    mul = next(node.id for node in graph.nodes if node.kind == "op")
    ran = walk.order.index(mul) + 1
    assert (
        sum(position < ran for position in walk.arrivals[mul]) == 1 and len(walk.arrivals[mul]) == 3
    )


def test_on_a_chain_every_order_is_right() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * 2).tanh().sum()
    graph = tg.trace(loss)
    walk = naive_walk(loss, graph, 64)
    assert not walk.errors
    assert walk.order == [step.node for step in graph.steps or ()]
    assert [v.data for v in walk.gradients] == [s.gradient.data for s in graph.steps or ()]


def test_the_naive_walk_leaves_no_trace() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    a, b = (x * 2).chunk(2)
    loss = (a * b + a).sum()
    naive_walk(loss, tg.trace(loss), 64)
    assert x.grad is None
    loss.backward()
    assert x.grad.tolist() == [10.0, 4.0]  # the graph is as it was


@pytest.mark.parametrize("seed", range(4))
def test_the_naive_walk_runs_every_node_once(seed: int) -> None:
    loss, _ = random_graph(seed)
    graph = tg.trace(loss)
    walk = naive_walk(loss, graph, 64)
    assert sorted(walk.order) == sorted(step.node for step in graph.steps or ())
    users = graph.consumers()
    arrived = {node: len(at) for node, at in walk.arrivals.items()}
    tracked = [node for node in walk.order if node != graph.loss]
    assert arrived == {node: len(users[node]) for node in tracked}


def test_a_long_graph_needs_no_recursion() -> None:
    x = tt.ones((), requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.0
    assert len(naive_walk(y, tg.trace(y), 4).order) == 5001


# ------------------------------------------------------------------------------------------
# The page
# ------------------------------------------------------------------------------------------


def toy_transformer() -> Any:
    """A function that gives the loss of a transformer with 2 + 2 layers."""
    tt.manual_seed(0)
    embed, out = nn.Embedding(11, 16), nn.Linear(16, 11)
    model = nn.Transformer(16, 2, 2, 2, 32, dropout=0.0, batch_first=True)
    source, target = tt.randint(0, 11, (1, 6)), tt.randint(0, 11, (1, 5))

    def loss() -> tt.Tensor:
        logits = out(model(embed(source), embed(target)))  # (1, 5, 11)
        return F.cross_entropy(logits.reshape(-1, 11), tt.randint(0, 11, (5,)))

    return loss


@needs_graphviz
def test_a_toy_transformer_fits_into_600_kb(tmp_path: Path) -> None:
    page = explore(toy_transformer(), tmp_path / "page.html")
    assert page.path == tmp_path / "page.html"
    text = page.path.read_text(encoding="utf-8")
    assert text == page.html
    assert len(text.encode()) < 600_000
    addresses = set(re.findall(r"https?://[^\s\"'`<>)]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of SVG's elements


@needs_graphviz
def test_names_are_escaped() -> None:
    x = tt.ones(2, requires_grad=True)
    graph = tg.trace((x * 2).sum())
    graph.nodes[0].name = "</script><script>alert(1)</script>"
    assert "<script>alert" not in explore(graph).html
    assert "<b>bold" not in explore(graph, title="<b>bold").html


@needs_graphviz
@pytest.mark.parametrize("kind", ["tensor", "function", "recording", "graph"])
def test_sources(kind: str) -> None:
    x = tt.ones(2, requires_grad=True)
    with tg.record() as recording:
        loss = (x * 2).sum()
    sources = {
        "tensor": loss,
        "function": lambda: (x * 2).sum(),
        "recording": recording,
        "graph": tg.trace(loss),
    }
    page = explore(sources[kind])
    assert page.path is None
    assert [node.name for node in page.graph.nodes if node.kind == "op"] == ["mul", "sum"]
    block = re.search(r'id="data-graph">(.*?)</script>', page.html)
    assert block is not None
    data = json.loads(block[1])
    assert (data["wrong"] is not None) == (kind in ("tensor", "function"))


@needs_graphviz
def test_a_notebook_gets_text_picture_and_page() -> None:
    x = tt.ones(2, requires_grad=True)
    page = explore((x * 2).sum())
    bundle = page._repr_mimebundle_()
    assert bundle["text/plain"].startswith("GraphPage(Graph(2 ops, 1 leaves")
    assert bundle["text/html"].startswith('<iframe srcdoc="&lt;!doctype html')
    assert "<svg" in bundle["image/svg+xml"]


@needs_graphviz
def test_a_loss_that_is_a_leaf() -> None:
    page = explore(tt.tensor(3.0, requires_grad=True))
    assert [node.kind for node in page.graph.nodes] == ["leaf"]


@needs_graphviz
def test_errors_name_the_file(tmp_path: Path) -> None:
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(OSError, match="no/such/folder"):
        explore((x * 2).sum(), tmp_path / "no/such/folder/page.html")
    with pytest.raises(TypeError, match="expected a tensor"):
        explore(3)


class Head(nn.Module):
    """One head of attention, from single ops."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, size, bias=False) for _ in range(3))

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        tokens = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        masked = scores.masked_fill(tt.ones(tokens, tokens).tril() == 0, float("-inf"))
        return masked.softmax(dim=-1) @ v


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Head(width, width // heads) for _ in range(heads)])
        self.project = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        h = self.norm1(x)
        x = x + self.project(tt.cat([head(h) for head in self.heads], dim=-1))
        return x + self.mlp(self.norm2(x))


@needs_graphviz
@pytest.mark.slow
def test_a_gpt_of_5000_nodes_fits_into_5_mb() -> None:
    model = nn.Sequential(*[Layer(64, 32) for _ in range(12)])
    page = explore(lambda: model(tt.randn(1, 12, 64)).square().mean())
    assert len(page.graph.nodes) >= 5000
    assert len(page.html.encode()) < 5_000_000
    rooms = build(page.graph)
    layouts, which = lay_out(pictures(page.graph, rooms))
    assert len(which) > 390 and len(layouts) < 12  # 12 · 32 heads share one
