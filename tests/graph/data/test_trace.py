"""trace: the graph of a tensor as plain data, with the engine's own numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn import functional as F
from tinytensor import graph
from tinytensor.autograd import scope
from tinytensor.errors import GradientError
from tinytensor.graph import Graph, Node
from tinytensor.utils.checkpoint import checkpoint


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


def find(g: Graph, name: str) -> Node:
    (node,) = (n for n in g.nodes if n.name == name)
    return node


def small() -> tuple[Graph, tt.Tensor]:
    a = leaf([[1.0, 2.0], [3.0, 4.0]])
    b = tt.tensor([[1.0], [-1.0]], dtype=tt.float64)
    with graph.record():
        h = a @ b
        loss = h.tanh().sum()
    return graph.trace(loss), a


def test_nodes_of_a_small_graph() -> None:
    g, _ = small()
    assert [(n.id, n.kind, n.name, n.op, n.variable) for n in g.nodes] == [
        (0, "leaf", "a", "", ""),
        (1, "constant", "b", "", ""),
        (2, "op", "matmul", "Matmul", "h"),
        (3, "op", "tanh", "Tanh", ""),
        (4, "op", "sum", "Sum", "loss"),
    ]
    matmul = g.nodes[2]
    assert matmul.inputs == [0, 1] and matmul.parents == [0, 1]
    assert matmul.argument_names == ["a", "b"]
    assert matmul.shape == (2, 1) and matmul.dtype == "float64"
    assert matmul.source is not None and matmul.source.file == __file__
    assert matmul.source.text == "h = a @ b"
    assert matmul.value is not None and matmul.value.data == [[-1.0], [-1.0]]
    assert g.loss == 4 and g.nodes[4].parents == [3]
    assert g.consumers() == [[2], [2], [3], [4], []]
    assert repr(g) == "Graph(3 ops, 2 leaves, 0 modules)"


def test_steps_of_a_small_graph() -> None:
    g, a = small()
    assert g.steps is not None
    assert [g.nodes[s.node].name for s in g.steps] == ["sum", "tanh", "matmul", "a"]
    slope = 1 - np.tanh(-1) ** 2
    step = g.steps[2]
    assert step.gradient is not None
    np.testing.assert_allclose(step.gradient.array(), [[slope], [slope]])
    (c,) = step.contributions
    assert (c.position, c.target, c.rule, c.before) == (0, 0, "da = g·bᵀ", None)
    assert c.value is c.after  # the first contribution is the sum so far
    np.testing.assert_allclose(c.value.array(), [[slope, -slope], [slope, -slope]])
    assert g.nodes[0].grad == c.after and g.nodes[1].grad is None
    assert a.grad is None


def test_accumulation_is_seen() -> None:
    x = leaf(2.0)
    g = graph.trace(x * x)
    (first, second) = (c for s in g.steps or [] for c in s.contributions)
    assert (first.position, first.before, first.after.data) == (0, None, 2.0)
    assert second.position == 1 and second.before is first.after
    assert (second.value.data, second.after.data) == (2.0, 4.0)


def test_nothing_of_the_users_is_touched() -> None:
    x = leaf([1.0, 2.0])
    (x * 3).sum().backward()
    calls: list[int] = []
    x.register_post_accumulate_grad_hook(lambda p: calls.append(1))
    h = x * x
    h.retain_grad()
    loss = h.sum()
    graph.trace(loss)
    assert x.grad.tolist() == [3.0, 3.0] and h.grad is None and not calls
    loss.backward()  # the graph is still there
    assert x.grad.tolist() == [5.0, 7.0] and h.grad.tolist() == [1.0, 1.0]


def test_hooks_change_the_gradient_that_is_shown() -> None:
    x = leaf([1.0, 2.0])
    h = x * 2
    h.register_hook(lambda g: g * 10)
    g = graph.trace(h.sum())
    shown = [node.grad.data for node in g.nodes[:2] if node.grad is not None]
    assert shown == [[20.0, 20.0], [10.0, 10.0]]  # of x, and of h


def test_a_freed_graph_is_refused_with_advice() -> None:
    x = leaf([1.0, 2.0])
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(GradientError, match="trace: backward.. has freed .* retain_graph=True"):
        graph.trace(loss)
    g = graph.trace(loss, backward=False)
    assert g.steps is None and [n.name for n in g.nodes] == ["x", "mul", "sum"]


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: tt.ones(2), GradientError, "trace: .* does not require grad"),
        (lambda: leaf([1.0, 2.0]) * 2, GradientError, "scalar"),
        (lambda: 3.0, TypeError, "trace: got float, expected a tensor"),
    ],
    ids=["constant", "vector", "number"],
)
def test_errors(make: Any, error: type[Exception], match: str) -> None:
    source = make()
    with pytest.raises(error, match=match):
        graph.trace(source)


def test_sources() -> None:
    x = leaf([1.0, 2.0])
    from_function = graph.trace(lambda: (x * 2).sum())
    assert find(from_function, "mul").value is not None
    assert graph.trace(from_function) is from_function
    vector = graph.trace(x * 2, gradient=tt.tensor([1.0, 10.0], dtype=tt.float64))
    assert vector.nodes[0].grad is not None and vector.nodes[0].grad.data == [2.0, 20.0]
    alone = graph.trace(leaf(1.0))
    assert [n.kind for n in alone.nodes] == ["leaf"] and alone.nodes[0].grad is not None


def test_without_a_record_saved_values_are_shown() -> None:
    x = leaf([1.0, 2.0])
    loss = (x * 2).tanh().sum()
    g = graph.trace(loss)
    assert find(g, "mul").value is None  # tanh saves its output only
    tanh = find(g, "tanh").value
    assert tanh is not None and tanh.data == np.tanh([2.0, 4.0]).tolist()
    assert g.nodes[-1].value is not None and g.nodes[0].value is not None


def test_max_values() -> None:
    x = leaf(np.ones((3, 4)))
    with graph.record():
        loss = (x * 2).sum()
    assert find(graph.trace(loss), "mul").value.data is not None  # type: ignore[union-attr]
    g = graph.trace(loss, max_values=11)
    for value in (find(g, "mul").value, find(g, "mul").grad, find(g, "x").value):
        assert value is not None and value.data is None and value.shape == (3, 4)


def test_several_outputs() -> None:
    x = leaf([[1.0, 2.0, 3.0, 4.0]])
    with graph.record():
        _, right = x.split([1, 3], dim=1)
        loss = (right * 2).sum()
    g = graph.trace(loss)
    assert [n.name for n in g.nodes] == ["x", "split", "split[1]", "mul", "sum"]
    output = g.nodes[2]
    assert output.op == "Output" and output.inputs == [1] and output.variable == "right"
    assert output.value is not None and output.value.data == [[2.0, 3.0, 4.0]]
    assert g.steps is not None
    parent = next(s for s in g.steps if s.node == 1)
    assert parent.gradient is None and len(parent.slots) == 2
    assert parent.slots[0] is None and parent.slots[1] is not None
    assert g.nodes[0].grad is not None and g.nodes[0].grad.data == [[0.0, 2.0, 2.0, 2.0]]


def test_checkpointed_functions() -> None:
    x = leaf([1.0, 2.0])
    with graph.record():
        loss = checkpoint(lambda t: (t * t).tanh(), x, use_reentrant=False).sum()
    g = graph.trace(loss)
    loss.backward()
    assert g.nodes[0].grad is not None and g.nodes[0].grad.data == x.grad.tolist()


# ------------------------------------------------------------------------------------------
# Modules and names
# ------------------------------------------------------------------------------------------


class Pair(nn.Module):
    """Two layers, the first of which runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList([nn.Linear(2, 2)])
        self.out = nn.Linear(2, 1)
        self.register_buffer("offset", tt.ones(2))

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.out(self.inner[0](self.inner[0](x)) + self.offset)


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not recorded"])
def test_modules_and_parameter_names(recorded: bool) -> None:
    model = Pair()
    data = tt.ones(3, 2)
    if recorded:
        with graph.record():
            loss = model(data).sum()
    else:
        loss = model(data).sum()
    g = graph.trace(loss)
    modules = [(m.path, m.class_name, m.parent, m.children) for m in g.modules.values()]
    assert modules == [
        ("Pair", "Pair", "", ["Pair.inner.0", "Pair.out"]),
        ("Pair.inner.0", "Linear", "Pair", []),
        ("Pair.out", "Linear", "Pair", []),
    ]
    assert g.modules["Pair.inner.0"].name == "inner.0"
    assert g.modules["Pair.inner.0"].calls == (2 if recorded else 1)
    weight = find(g, "inner.0.weight")
    assert weight.kind == "parameter" and weight.module == "Pair.inner.0"
    assert len(g.consumers()[weight.id]) == 2
    assert [n.name for n in g.within("Pair.out")] == ["out.weight", "out.bias", "linear"]
    if recorded:
        assert find(g, "data").module == "" and find(g, "offset").kind == "constant"


@pytest.mark.parametrize("passed", [False, True])
def test_a_model_need_not_be_a_variable(passed: bool) -> None:
    models = [Pair(), Pair()]  # two of one class, in a list
    losses = [model(tt.ones(3, 2)).sum() for model in models]
    for model, loss in zip(models, losses):
        g = graph.trace(loss, model=model if passed else None)
        assert find(g, "out.bias").module == "Pair.out"
        assert g.modules["Pair.out"].class_name == "Linear"


def test_the_parameters_of_a_model_that_is_gone_have_shapes_for_names() -> None:
    loss = Pair()(tt.ones(3, 2)).sum()
    assert {n.name for n in graph.trace(loss).nodes if n.kind == "parameter"} == {
        "weight (2, 2)", "weight (2,)", "weight (1, 2)", "weight (1,)",
    }  # fmt: skip


def test_unknown_models_have_paths_all_the_same() -> None:
    class Gone(nn.Sequential):  # a class of its own: others' modules may still exist
        pass

    def run() -> tt.Tensor:
        return Gone(nn.Sequential(nn.Linear(2, 2)), nn.Tanh())(tt.ones(1, 2)).sum()

    g = graph.trace(run())
    assert list(g.modules) == ["Gone", "Gone.0.0", "Gone.1"]
    assert g.modules["Gone.0.0"].parent == "Gone"


def test_scopes_without_modules() -> None:
    x = leaf(1.0)
    with scope("outer"):
        with scope("0"), scope("0"):
            y = x * 2
        with scope("0"):
            y = y * 2
    g = graph.trace(y)
    assert [(m.path, m.parent) for m in g.modules.values()] == [
        ("outer", ""), ("outer.0", "outer"), ("outer.0.0", "outer.0"),
    ]  # fmt: skip


def test_tied_weights_are_one_node() -> None:
    config = nn.GPTConfig(vocab_size=5, block_size=4, n_layer=1, n_head=1, n_embd=4)
    model = nn.GPT(config)
    tokens = tt.tensor([[1, 2, 3]])
    with graph.record():
        _, loss = model(tokens, tokens)
    g = graph.trace(loss)
    table = find(g, "tokens.weight")
    assert [g.nodes[i].name for i in g.consumers()[table.id]] == ["embedding", "linear"]


def test_five_thousand_nodes() -> None:
    x = leaf(np.ones((2, 2)))

    def chain() -> tt.Tensor:
        y = x
        for _ in range(2500):
            y = (y * 0.999).tanh()
        return y.sum()

    with graph.record():
        loss = chain()
    g = graph.trace(loss)
    assert len(g.nodes) == 5002 and g.steps is not None and len(g.steps) == 5002
    assert all(node.inputs[0] == node.id - 1 for node in g.nodes[1:])
    assert [s.node for s in g.steps] == list(range(5001, -1, -1))


# ------------------------------------------------------------------------------------------
# JSON
# ------------------------------------------------------------------------------------------


def same(a: Graph, b: Graph) -> bool:
    """Equal, as to numbers too: float32 are written in fewer digits than float64 would need."""
    return a.to_dict() == b.to_dict()


def test_json_round_trip(tmp_path: Path) -> None:
    model = Pair()
    with graph.record():
        loss = F.mse_loss(model(tt.ones(3, 2)), tt.zeros(3, 1))
    g = graph.trace(loss)
    g.save(tmp_path / "graph.json")
    again = Graph.load(tmp_path / "graph.json")
    assert same(g, again) and again.modules == g.modules
    for node, twin in zip(g.nodes, again.nodes):
        assert (node.source, node.formula, node.shape) == (twin.source, twin.formula, twin.shape)
        if node.grad is not None:
            assert twin.grad is not None
            assert (node.grad.array() == twin.grad.array()).all()


def test_float64_round_trips_exactly() -> None:
    g, _ = small()
    assert Graph.from_json(g.to_json()) == g


def test_nan_and_infinities_are_valid_json() -> None:
    x = leaf([np.inf, np.nan, 1.0])
    g = graph.trace((x * 1).sum())
    text = g.to_json()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    value = Graph.from_json(text).nodes[0].value
    assert value is not None and np.isnan(value.data[1]) and value.data[0] == np.inf


def test_other_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="format 99, expected 1"):
        Graph.from_json('{"format": 99}')


def test_the_package_is_loaded_on_first_use() -> None:
    program = (
        "import sys, tinytensor as tt\n"
        "assert 'tinytensor.graph' not in sys.modules\n"
        "assert tt.graph.trace and tt.graph is sys.modules['tinytensor.graph']\n"
        "assert not {'nn', 'graphviz', 'pygraphviz'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
