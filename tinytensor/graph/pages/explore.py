"""`explore`: one page that shows every number of backpropagation through a graph.

    graph.explore(loss, "page.html")

The page has the graph room by room (a room is one call of a module), the forward and backward
walk, the same walk in a naive order, and all values that are small enough to read. It needs no
network.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ...autograd.variable import Variable
from ...autograd.walk import collect
from ..data.graph import Graph
from ..data.record import Recording, record
from ..data.trace import trace
from ..data.wrong_order import WrongWalk, naive_walk
from ..drawing.dot import dot_source
from ..drawing.graphviz import GraphvizMissing, run_dot
from . import html
from .pack import pack

STYLES = ("explore.css",)
SCRIPTS = tuple(  # each uses those before it
    f"explore-{room}.js"
    for room in (
        "data", "walk", "matrix", "indices", "cells", "formula", "order", "draw", "view", "panel",
        "save", "search", "main",
    )
)  # fmt: skip
LARGE = 1000  # graphs of more nodes show smaller matrices
SHOWN, SHOWN_IN_LARGE = 256, 48  # most elements of a matrix that is shown cell by cell


class GraphPage(html.Page):
    """The result of `explore`: a page and the `graph` on it. Notebooks display it."""

    def __init__(self, graph: Graph, text: str, path: str | os.PathLike[str] | None):
        self.graph = graph
        super().__init__(text, path)

    def summary(self) -> str:
        return f"{self.graph!r}, {super().summary()}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Text, the page, and a still picture for viewers that cannot show the page."""
        bundle = super()._repr_mimebundle_()
        with contextlib.suppress(GraphvizMissing):
            bundle["image/svg+xml"] = run_dot(dot_source(self.graph), "svg").decode()
        return bundle


def explore(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    model: Any = None,
    gradient: Any = None,
    max_values: int | None = None,
    title: str | None = None,
) -> GraphPage:
    """Write the page of a graph to `path`; notebooks display the GraphPage returned.

    source      a loss; a function without arguments that returns one, which is run under
                `record`; a Recording; or a Graph
    path        the file of the page; None: it is not written
    model       the nn.Module with the parameters' names; not needed if it has been called
    gradient    dL/dsource, for a tensor that is not a scalar
    max_values  show matrices of up to this many elements cell by cell, larger ones as summaries;
                None: as many as keep the page small

        page = graph.explore(lambda: model(x).square().mean(), "page.html")
    """
    if callable(source) and not isinstance(source, Variable):
        with record(SHOWN if max_values is None else max_values):
            source = source()
    if max_values is None:
        max_values = SHOWN_IN_LARGE if _node_count(source) > LARGE else SHOWN
    graph = trace(source, model=model, gradient=gradient, max_values=max_values)
    wrong: WrongWalk | None = None
    if isinstance(source, Variable) and graph.steps and gradient is None:
        wrong = naive_walk(source, graph, max_values)
    text = _page_text(graph, wrong, title or _title(graph))
    return GraphPage(graph, text, path)


def _node_count(source: Any) -> int:
    if isinstance(source, Variable):
        return len(collect([source._node])) if source._node is not None else 1
    return len(source.nodes) if isinstance(source, (Graph, Recording)) else 0


def _title(graph: Graph) -> str:
    """The outermost modules of the graph."""
    roots = [module.class_name for module in graph.modules.values() if not module.parent]
    return ", ".join(dict.fromkeys(roots[:3])) or "Computation graph"


def _page_text(graph: Graph, wrong: WrongWalk | None, title: str) -> str:
    data, numbers = pack(graph, wrong)
    blocks = {"graph": data, "numbers": numbers}
    return html.page(title, html.asset("explore.html"), blocks, STYLES, SCRIPTS)


__all__ = ["GraphPage", "explore"]
