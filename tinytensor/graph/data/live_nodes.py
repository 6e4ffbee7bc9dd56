"""The engine's own nodes: read the values that they saved, keep `.grad` untouched by a walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...autograd.op import Op
from ...autograd.views import RETAIN
from ...backend import is_array


class NothingRetained:
    """A block in which a walk does not set the `.grad` of tensors that retain it."""

    def __init__(self, nodes: Iterable[Any]):
        self.hooks: list[tuple[Any, Callable]] = [
            (node, node._hooks[RETAIN])
            for node in nodes
            if isinstance(node, Op) and node._hooks and RETAIN in node._hooks
        ]

    def __enter__(self) -> None:
        for node, _ in self.hooks:
            del node._hooks[RETAIN]

    def __exit__(self, *exc_info: object) -> None:
        for node, hook in self.hooks:
            node._hooks[RETAIN] = hook


def saved_values(ops: list[Any]) -> dict[Any, Any]:
    """{node: saved output}, where there is one, and {(op, "constants"): {position: array}}."""
    values: dict[Any, Any] = {}
    for op in ops:
        constants: dict[int, Any] = {}
        for (value, writes, version), (place, name, _) in zip(op._saved or (), op._plan):
            if not is_array(value) or writes[0] != version:
                continue
            edge = op._edges[place] if place >= 0 else None
            if name == "out":
                values[op] = value
            elif edge is not None:
                values[edge] = value
            elif place >= 0:
                constants[place] = value
        values[op, "constants"] = constants
    return values
