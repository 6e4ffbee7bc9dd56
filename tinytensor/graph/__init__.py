"""Pictures of computation graphs, of attention and of training.

    with graph.record():                    # keeps values; without it, shapes and gradients only
        loss = model(x, targets)
    graph.render(loss, "graph.svg")         # a picture, drawn by Graphviz
    graph.trace(loss)                       # plain data: nodes, modules, the steps of backward

record    values kept during forward        trace     the graph of a tensor, as plain data
model     Graph, Node, Step …               values    small arrays, statistics of large ones
formula   equations, from docstrings        names     of variables, parameters and modules
modules   the tree of modules               collapse  what is seen of a graph, what is a box
dot       the DOT language                  labels    the text on boxes, little matrices
engine    Graphviz                          render    a picture in a file
explore   the step-through page             attention every head, with its gradients
report    curves of a training              depth     plain against residual networks
html      pages in one file                 palette   colours
worksheet sheets to be computed by hand
"""

from .attention import AttentionPage, attention
from .attention_picture import attention_svg, attention_text
from .depth import DepthComparison, compare_depth
from .dot import dot, dot_source
from .engine import GraphvizMissing, run_dot
from .explore import explore
from .formula import Formula, formula_of
from .model import Contribution, Graph, ModuleInfo, Node, Step
from .record import Recording, record
from .render import render
from .report import training_report
from .trace import trace
from .values import Value, value_of
from .worksheet import Worksheet, worksheet, worksheets

__all__ = [
    "AttentionPage",
    "Contribution",
    "DepthComparison",
    "Formula",
    "Graph",
    "GraphvizMissing",
    "ModuleInfo",
    "Node",
    "Recording",
    "Step",
    "Value",
    "Worksheet",
    "attention",
    "attention_svg",
    "attention_text",
    "compare_depth",
    "dot",
    "dot_source",
    "explore",
    "formula_of",
    "record",
    "render",
    "run_dot",
    "trace",
    "training_report",
    "value_of",
    "worksheet",
    "worksheets",
]
