"""render and dot: files of every kind, hostile names, and no Graphviz at all."""

from __future__ import annotations

import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import nn
import tinytensor as tt
from tinytensor import graph
from tinytensor.graph import GraphvizMissing
from tinytensor.graph.drawing import graphviz
from tinytensor.graph.drawing.labels import escape, quote

needs_graphviz = pytest.mark.skipif(
    not graphviz.is_there(), reason="Graphviz is not installed: pip install pygraphviz"
)


def small_loss() -> tt.Tensor:
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    return (x * 2).tanh().sum()


@needs_graphviz
@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".SVG", b"<?xml")],
    ids=["svg", "png", "pdf", "upper case"],
)
def test_pictures(tmp_path: Path, suffix: str, start: bytes) -> None:
    path = graph.render(small_loss(), str(tmp_path / f"graph{suffix}"))
    assert path == tmp_path / f"graph{suffix}" and path.read_bytes().startswith(start)


def test_dot_text_needs_no_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_graphviz(monkeypatch)
    loss = small_loss()
    path = graph.render(loss, tmp_path / "graph.dot")
    assert path.read_text(encoding="utf-8") == graph.dot_source(loss)


def without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphviz.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "pygraphviz", None)


def test_without_graphviz_the_text_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_graphviz(monkeypatch)
    assert not graphviz.is_there()
    with pytest.raises(GraphvizMissing, match=r"pip install pygraphviz; .*graph\.dot"):
        graph.render(small_loss(), tmp_path / "graph.svg")
    assert (tmp_path / "graph.dot").read_text(encoding="utf-8").startswith("digraph {")
    assert not (tmp_path / "graph.svg").exists()


@pytest.mark.parametrize("name", ["graph.jpeg", "graph", "graph.html.txt"])
def test_unknown_suffixes(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"render: got the suffix .* expected .svg, .png, .pdf"):
        graph.render(small_loss(), tmp_path / name)


def test_folders_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="graph: cannot write .*nowhere.graph.dot"):
        graph.render(small_loss(), tmp_path / "nowhere" / "graph.dot")

    def refuse(*args: Any) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "graph.dot"
    path.write_text("what was there")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match=r"graph: cannot write .* \(Permission denied\)"):
        graph.render(small_loss(), path)
    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_formats_of_the_engine() -> None:
    with pytest.raises(ValueError, match="run_dot: got the format 'bmp', expected one of svg"):
        graphviz.run_dot("digraph {}", "bmp")


@needs_graphviz
def test_a_digraph_shows_itself() -> None:
    graphviz = pytest.importorskip("graphviz")
    loss = small_loss()
    picture = graph.dot(loss)
    assert isinstance(picture, graphviz.Digraph)
    assert picture.source.count("->") == graph.dot_source(loss).count("->")
    bundle = picture._repr_mimebundle_()
    assert "<svg" in bundle["image/svg+xml"]


# ------------------------------------------------------------------------------------------
# Hostile names
# ------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    '"]',
    "a -> b; c [label=x]",
    "&amp; & &lt;",
    "back\\slash \\N \\G",
    "</TABLE>>",
    "two\nlines",
    "bell\x07 and nul\x00",
    "ünïcödé 层 🙂",
]


def hostile_loss(name: str) -> tt.Tensor:
    inner = nn.Linear(2, 2)
    model = nn.Module()
    model.add_module(name.replace(".", " "), inner)
    class_name = name.replace("\x00", "")  # Python's own limit
    model.__class__ = type(class_name, (nn.Module,), {"forward": lambda self, x: inner(x)})
    return model(tt.ones(1, 2)).sum()


def texts(svg: bytes) -> str:
    root = ElementTree.fromstring(svg)
    assert not [e for e in root.iter() if e.tag.endswith("}script")]
    return "".join("".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text"))


@needs_graphviz
@pytest.mark.parametrize("how", ["none", 0, 1], ids=["open", "closed", "inner"])
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_drawn_as_text(tmp_path: Path, name: str, how: Any) -> None:
    path = graph.render(hostile_loss(name), tmp_path / "graph.svg", collapse=how)
    visible = re.sub(r"[\s\u200b]", "", texts(path.read_bytes()))
    shown = name.replace("\x00", "") if how == 0 else name  # the class, or the inner module
    expected = re.sub(r"\s", "", re.sub("[\x00\x07]", "�", shown))
    assert expected in visible


def test_escapes() -> None:
    assert escape("<a & 'b'>") == "&lt;a &amp; &#x27;b&#x27;&gt;"
    assert quote('say "hi" \\N') == '"say \\"hi\\" \\\\N"'
    assert escape("\x00\ud800\\N") == "��\\&#8203;N"
