"""What a graph shows of itself: PyTorch's view of a node, its edges and its hooks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .hooks import NodeHooks, RemovableHandle
from .variable import Variable


class Node:
    """A place in the graph; `Op` adds forward and backward."""

    __slots__ = ("_edges", "_hooks")

    _edges: Any  # for each argument: the Op that made it, the leaf that it is, or None
    _hooks: dict | None

    name_ = "node"  # the name in error messages

    def name(self) -> str:
        return f"{type(self).__name__}Backward"

    @property
    def next_functions(self) -> tuple:
        """((node, output number), …): AccumulateGrad for leaves, (None, 0) for constants."""
        links: list[tuple[Any, int]] = []
        for edge in self._edges or ():
            if isinstance(edge, Variable):
                links.append((AccumulateGrad.of(edge), 0))
            else:
                links.append((None, 0) if edge is None else edge.function_and_index())
        return tuple(links)

    def function_and_index(self) -> tuple[Any, int]:
        """The op at the end of an edge, and which of its outputs the edge leads to."""
        return self, 0

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(grad_inputs, grad_outputs), two tuples, when this node's rule has run.

        It may return other grad_inputs.
        """
        return NodeHooks.of(self).add(NodeHooks.of(self).after, hook)

    def register_prehook(self, hook: Callable) -> RemovableHandle:
        """Call hook(grad_outputs), a tuple, before this node's rule; it may return another."""
        return NodeHooks.of(self).add(NodeHooks.of(self).before, hook)

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class AccumulateGrad:
    """Stands for a leaf in `next_functions`."""

    next_functions: tuple = ()
    _known: weakref.WeakValueDictionary[int, AccumulateGrad] = weakref.WeakValueDictionary()

    def __init__(self, variable: Variable):
        self.variable = variable

    @classmethod
    def of(cls, variable: Variable) -> AccumulateGrad:
        """The same object for the same leaf, as long as anyone holds it."""
        found = cls._known.get(id(variable))
        if found is None:
            found = cls._known[id(variable)] = cls(variable)
        return found

    def name(self) -> str:
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return "<AccumulateGrad>"
