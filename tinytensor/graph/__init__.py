"""Pictures of computation graphs, of attention and of training.

    with graph.record():                    # keeps values; without it, shapes and gradients only
        loss = model(x, targets)
    graph.render(loss, "graph.svg")         # a picture, drawn by Graphviz
    graph.trace(loss)                       # plain data: nodes, modules, the steps of backward

data/      the graph as plain data: traced, recorded, saved as JSON
drawing/   still pictures: DOT text, Graphviz, heat maps, bars
pages/     interactive pages in one file: explore, attention, training report
render     a picture or a page, by the suffix of the file
files      writes each file whole or not at all

Imports go from pages to drawing to data. Worksheets are in `tinytensor.worksheet`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .data.formula import Formula, formula_of
from .data.graph import Graph, ModuleInfo, TracedContribution, TracedNode, TracedStep
from .data.record import Recording, record
from .data.trace import trace
from .data.values import Value, value_of
from .drawing.attention_picture import attention_svg, attention_text
from .drawing.depth import DepthComparison, compare_depth
from .drawing.dot import dot, dot_source
from .drawing.graphviz import GraphvizMissing, run_dot
from .pages.attention import AttentionPage, attention
from .pages.explore import explore
from .pages.report import training_report
from .render import render

if TYPE_CHECKING:
    from ..worksheet import Worksheet, worksheet, worksheets

# Their shorter public names.
Node, Step, Contribution = TracedNode, TracedStep, TracedContribution

WORKSHEETS = ("Worksheet", "worksheet", "worksheets")


def __getattr__(name: str) -> Any:
    """Find the names of `tinytensor.worksheet` on first use: it builds on this package."""
    if name in WORKSHEETS:
        return getattr(importlib.import_module("tinytensor.worksheet"), name)
    raise AttributeError(f"module 'tinytensor.graph' has no attribute {name!r}")


# fmt: off
__all__ = [
    "AttentionPage", "Contribution", "DepthComparison", "Formula", "Graph", "GraphvizMissing",
    "ModuleInfo", "Node", "Recording", "Step", "Value", "Worksheet", "attention", "attention_svg",
    "attention_text", "compare_depth", "dot", "dot_source", "explore", "formula_of", "record",
    "render", "run_dot", "trace", "training_report", "value_of", "worksheet", "worksheets",
]
# fmt: on
