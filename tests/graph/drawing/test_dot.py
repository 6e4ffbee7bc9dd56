"""The DOT text of small graphs, compared with files in golden/.

After an intended change, `python -m tests.graph.drawing.test_dot` writes the files anew; read the
difference before committing it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nn
import tinytensor as tt
from tinytensor import graph
from tinytensor.graph.drawing.collapse import collapse

GOLDEN = Path(__file__).parent / "golden"


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


def linear(weight: list, bias: list) -> nn.Linear:
    """A layer with given numbers, so that the text is the same everywhere."""
    layer = nn.Linear(len(weight[0]), len(weight))
    with tt.no_grad():
        layer.weight.copy_(tt.tensor(weight))
        layer.bias.copy_(tt.tensor(bias))
    return layer


def product() -> str:
    a, b = leaf(2.0), leaf(-3.0)
    with graph.record():
        c = a * b
        loss = c + a
    return graph.dot_source(loss)


def network() -> str:
    model = nn.Sequential(
        linear([[1.0, -1.0], [0.5, 2.0]], [0.0, 1.0]), nn.ReLU(), linear([[2.0, -1.0]], [0.5])
    )
    x = tt.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 1.0]])
    with graph.record():
        loss = model(x).sum()
    return graph.dot_source(loss, show=["shapes", "values", "grads", "formulas"])


class Tower(nn.Module):
    """Alike layers, and one weight that all of them share."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([linear([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]) for _ in "abcde"])
        self.scale = nn.Parameter(tt.tensor([2.0, 0.5]))

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        for layer in self.layers:
            x = layer(x) * self.scale
        return x


def tower() -> str:
    model = Tower()
    x = tt.tensor([[1.0, 2.0]])
    loss = model(x).sum()
    return graph.dot_source(loss, collapse=1, show=["shapes"], direction="LR")


def failure() -> str:
    a = leaf([[1.0, 2.0]])
    try:
        with graph.record() as recording:
            b = a.exp()
            b @ a
    except tt.ShapeError:
        pass
    return graph.dot_source(recording, show=["shapes"])


GRAPHS: dict[str, Callable[[], str]] = {
    "product": product, "network": network, "tower": tower, "failure": failure,
}  # fmt: skip


def without_lines(text: str) -> str:
    """The text without the numbers of source lines, which change with every edit of this file."""
    return re.sub(r"(test_dot\.py):\d+", r"\1:…", text)


@pytest.mark.parametrize("name", list(GRAPHS))
def test_golden(name: str) -> None:
    expected = (GOLDEN / f"{name}.dot").read_text(encoding="utf-8")
    assert without_lines(GRAPHS[name]()) == expected


# ------------------------------------------------------------------------------------------
# What is seen
# ------------------------------------------------------------------------------------------


def transformer() -> graph.Graph:
    tt.manual_seed(0)
    model = nn.Seq2SeqTransformer(
        7, 9, d_model=4, nhead=2, num_encoder_layers=2, num_decoder_layers=4,
        dim_feedforward=8, dropout=0.0, max_len=8,
    )  # fmt: skip
    source, target = tt.tensor([[1, 2, 3]]), tt.tensor([[1, 2]])
    with graph.record():
        loss = model(source, target).sum()
    return graph.trace(loss)


@pytest.fixture(scope="module")
def large() -> graph.Graph:
    return transformer()


def seen(g: graph.Graph, how: Any, **options: Any) -> set[str]:
    """Closed modules and "+N more" boxes."""
    boxes = collapse(g, how, **options).boxes.values()
    return {f"+{b.more} {b.module.path}" if b.more else b.module.path for b in boxes if b.module}


def test_depths(large: graph.Graph) -> None:
    root = "Seq2SeqTransformer"
    assert seen(large, 0) == {root}
    assert seen(large, 1) == {
        f"{root}.{name}"
        for name in ("src_tokens", "tgt_tokens", "positions", "transformer", "head")
    }
    below = {path for path in seen(large, 3) if "layers" in path}
    assert below == {
        f"{root}.transformer.encoder.layers.0", f"{root}.transformer.encoder.layers.1",
        f"{root}.transformer.decoder.layers.0", f"+3 {root}.transformer.decoder.layers.0",
    }  # fmt: skip


def test_everything(large: graph.Graph) -> None:
    scene = collapse(large, "none")
    assert len(scene.boxes) == len(large.nodes)
    assert [room.path for room in scene.rooms] == list(large.modules)
    assert sum(link.count for link in scene.links) == sum(len(n.parents) for n in large.nodes)


def test_auto_aims_at_forty_boxes(large: graph.Graph) -> None:
    scene = collapse(large)
    assert 10 <= len(scene.boxes) <= 40
    assert "Seq2SeqTransformer" not in seen(large, "auto")


def test_alike_modules_are_opened_together_or_not_at_all() -> None:
    layers = [nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)) for _ in "ab"]
    wide = nn.Sequential(*layers, nn.Sequential(*[nn.Linear(2, 2) for _ in "abcdefghij"]))
    loss = wide(tt.ones(1, 2)).sum()
    closed = seen(graph.trace(loss), "auto")
    assert ("Sequential.0.0" in closed) == ("Sequential.1.0" in closed)


def test_a_function_decides(large: graph.Graph) -> None:
    closed = seen(large, lambda module: module.class_name == "MultiheadAttention")
    assert closed and all(path.endswith(("_attn", "layers.0")) for path in closed)


def test_every_box_stands_where_its_module_is(large: graph.Graph) -> None:
    for how in ("auto", "none", 0, 1, 2, 3):
        scene = collapse(large, how)
        rooms = {room.path for room in scene.rooms} | {""}
        assert all(box.room in rooms for box in scene.boxes.values())
        assert all(room.parent in rooms for room in scene.rooms)
        ends = {end for link in scene.links for end in (link.source, link.target)}
        assert ends <= set(scene.boxes)
        assert sum(box.ops for box in scene.boxes.values()) <= len(large.nodes)


def test_hidden_ops_and_constants() -> None:
    x, c = leaf([1.0, 2.0]), tt.tensor([1.0, 2.0], dtype=tt.float64)
    with graph.record():
        loss = (x.reshape(2, 1).reshape(2) * c).sum()
    g = graph.trace(loss)

    def names(**options: Any) -> list[str]:
        return [b.node.name for b in collapse(g, **options).boxes.values() if b.node]

    assert names() == ["x", "c", "mul", "sum"]
    assert names(hide_constants=True) == ["x", "mul", "sum"]
    assert names(how="none") == names(hide_shape_ops=False)
    assert len(names(how="none")) == 6
    # The arrow goes from x to mul, and so does the gradient.
    (link,) = (link for link in collapse(g, hide_constants=True).links if link.source == "n0")
    assert link.target == f"n{[n.name for n in g.nodes].index('mul')}"
    assert link.gradient == pytest.approx(5**0.5)


def test_a_crowd_is_cut_in_the_middle() -> None:
    x = leaf(1.0)

    def chain() -> tt.Tensor:
        y = x
        for _ in range(200):
            y = y * 1.0
        return y

    text = graph.dot_source(chain)
    assert "+161 more ops" in text
    assert text.count("shape=box3d") == 1
    assert "more ops" not in graph.dot_source(chain, collapse="none")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"collapse": "all"}, "collapse: got 'all', expected 'auto', 'none', a depth"),
        ({"collapse": True}, "collapse: got True"),
        ({"show": ["value"]}, r"got show=\['value'\], expected any of shapes, values"),
        ({"direction": "up"}, "got direction 'up', expected one of TB, LR"),
    ],
    ids=["collapse", "bool", "show", "direction"],
)
def test_errors(options: dict, match: str) -> None:
    x = leaf(1.0)
    loss = x * 2
    with pytest.raises(ValueError, match=match):
        graph.dot_source(loss, **options)


def test_what_is_shown() -> None:
    x = leaf([[1.25, 7.5]])
    with graph.record():
        loss = (x * 2).sum()
    assert ">1.25<" in graph.dot_source(loss, show="values")
    bare = graph.dot_source(loss, show=[])
    assert ">1.25<" not in bare and "dashed" not in bare and "1 × 2<" not in bare
    assert ">1 × 2<" not in bare and "∇" not in bare
    with_gradients = graph.dot_source(loss, show="grads")
    assert "∇" in with_gradients and with_gradients.count("style=dashed") == 2


def test_wider_arrows_for_larger_gradients() -> None:
    x, y = leaf(1.0), leaf(1.0)
    text = graph.dot_source(lambda: x * 0.01 + y * 100.0)
    widths = [float(w) for w in re.findall(r"penwidth=([\d.]+), arrowsize", text)]
    assert max(widths) == 2.5 and min(widths) < 1.1


def test_nan_is_marked() -> None:
    x = leaf([float("nan")] * 9 + [1.0])
    with graph.record():
        loss = (x * 2).sum()
    assert "⚠ 9 NaN" in graph.dot_source(loss)


if __name__ == "__main__":
    for each, make in GRAPHS.items():
        (GOLDEN / f"{each}.dot").write_text(without_lines(make()), encoding="utf-8")
