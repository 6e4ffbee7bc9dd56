"""The links between nodes under PyTorch's names: next_functions, and AccumulateGrad for a leaf."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .hooks import AfterNode, BeforeAccumulation, add_hook
from .mode import outside
from .op import Node
from .variable import Variable


class AccumulateGrad:
    """Represents a leaf in `next_functions`."""

    next_functions: tuple = ()
    _known: weakref.WeakValueDictionary[int, AccumulateGrad] = weakref.WeakValueDictionary()

    def __init__(self, variable: Variable):
        self.variable = variable

    @classmethod
    def of(cls, variable: Variable) -> AccumulateGrad:
        """The AccumulateGrad of a leaf: the same object while there is a reference to it."""
        found = cls._known.get(id(variable))
        if found is None:
            found = cls._known[id(variable)] = cls(variable)
        return found

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def metadata(self) -> dict:
        """A dict for the user's notes."""
        return self.__dict__.setdefault("_metadata", {})

    def register_prehook(self, hook: Callable) -> Any:
        """Call hook((gradient,)) before it is added to `.grad`; it may return another."""
        return add_hook(self.variable, BeforeAccumulation(hook))

    def register_hook(self, hook: Callable) -> Any:
        """Call hook((), (gradient,)) after it was added to `.grad`."""
        return add_hook(self.variable, AfterNode(hook))

    def __repr__(self) -> str:
        return "<AccumulateGrad>"


def next_functions(node: Node) -> tuple:
    """See Node.next_functions."""
    links: list[tuple[Any, int]] = []
    for edge in node._edges or ():
        if isinstance(edge, Variable):
            links.append((AccumulateGrad.of(edge), 0))
        else:
            links.append((None, 0) if edge is None else edge.function_and_index())
    return tuple(links)


outside.next_functions = next_functions
