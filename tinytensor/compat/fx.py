"""torch.fx, in name only: there is no symbolic tracing.

To see the ops that a module runs, use `tinytensor.graph.trace`.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


def wrap(fn_or_name: Any) -> Any:
    """Return the argument: there is no tracer to hide a function from."""
    if not isinstance(fn_or_name, str) and not callable(fn_or_name):
        raise RuntimeError(f"fx.wrap: got {fn_or_name!r}, expected a function or its name")
    return fn_or_name


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"fx.{name}: symbolic tracing does not exist here; tinytensor.graph.trace shows the ops "
        "that a module runs"
    )


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Raise NotImplementedError: symbolic tracing does not exist here."""
    _missing("symbolic_trace")


class Proxy:
    """The traced value of torch.fx. There are no instances, so isinstance(x, Proxy) is False."""

    def __init__(self, *args: Any, **kwargs: Any):
        _missing("Proxy")


class Tracer:
    """The tracer of torch.fx. Code may subclass it; making one raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any):
        _missing("Tracer")


class GraphModule:
    """The traced module of torch.fx. There are no instances, so isinstance(…) is False."""

    def __init__(self, *args: Any, **kwargs: Any):
        _missing("GraphModule")


class Graph:
    """The graph of torch.fx. There are no instances, so isinstance(…) is False."""

    def __init__(self, *args: Any, **kwargs: Any):
        _missing("Graph")


class Node(Graph):
    """A node of torch.fx. There are no instances, so isinstance(…) is False."""


# Private names of torch.fx.graph_module and torch.fx.node that torchvision imports
_CodeOnlyModule = GraphModule
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
Target = Any


def _copy_attr(from_module: Any, to_module: Any, target: str) -> NoReturn:
    """Raise NotImplementedError: there are no graph modules to copy between."""
    _missing("graph_module._copy_attr")


def __getattr__(name: str) -> Any:
    """fx.node, fx.proxy …: this module, which has the names of all of them."""
    if name in ("graph", "graph_module", "node", "proxy"):
        return sys.modules[__name__]
    raise AttributeError(f"module 'tinytensor.fx' has no attribute {name!r}")


__all__ = ["Graph", "GraphModule", "Node", "Proxy", "Tracer", "symbolic_trace", "wrap"]
