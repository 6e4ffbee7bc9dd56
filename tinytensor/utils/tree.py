"""Flatten nested tuples, lists and dicts of values, and rebuild them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(tree: Any) -> tuple[list, Rebuild]:
    """The values in `tree`, and a function that builds the same structure from new values."""
    if isinstance(tree, dict):
        values, inner = flatten(list(tree.values()))
        return values, lambda new: type(tree)(zip(tree.keys(), inner(new)))
    if isinstance(tree, (tuple, list)):
        parts = [flatten(item) for item in tree]
        values = [value for part, _ in parts for value in part]

        def rebuild(new: Sequence[Any]) -> Any:
            items, start = [], 0
            for part, put_together in parts:
                items.append(put_together(new[start : start + len(part)]))
                start += len(part)
            # A named tuple takes its fields as separate arguments.
            return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)

        return values, rebuild
    return [tree], lambda new: new[0]


def tree_map(function: Callable, tree: Any) -> Any:
    """`tree` with function(value) in place of each value."""
    values, rebuild = flatten(tree)
    return rebuild([function(value) for value in values])
