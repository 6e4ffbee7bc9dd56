"""Pictures of computation graphs, of attention and of training.

    with graph.record():                    # keeps values; leave it out for shapes only
        loss = model(x, targets)
    graph.trace(loss)                       # plain data: nodes, modules, the steps of backward

record    values kept during forward        trace     the graph of a tensor, as plain data
model     Graph, Node, Step …               values    small arrays, statistics of large ones
formula   equations, from docstrings        names     of variables, parameters and modules
engine    Graphviz                          modules   the tree of modules
"""

from .engine import GraphvizMissing, run_dot
from .formula import Formula, formula_of
from .model import Contribution, Graph, ModuleInfo, Node, Step
from .record import Recording, record
from .trace import trace
from .values import Value, value_of

__all__ = [
    "Contribution",
    "Formula",
    "Graph",
    "GraphvizMissing",
    "ModuleInfo",
    "Node",
    "Recording",
    "Step",
    "Value",
    "formula_of",
    "record",
    "run_dot",
    "trace",
    "value_of",
]
