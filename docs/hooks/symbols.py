"""Finds the lines of classes, functions and constants in a source file, for excerpts and links."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def symbols(path: str) -> dict[str, tuple[int, int]]:
    """{"Op.apply": (first line, last line), …} of a Python file, lines counted from 1."""
    found: dict[str, tuple[int, int]] = {}
    _collect(ast.parse((ROOT / path).read_text("utf-8")), "", found)
    return found


def _collect(parent: ast.AST, prefix: str, found: dict[str, tuple[int, int]]) -> None:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[prefix + node.name] = first, node.end_lineno or first
            if isinstance(node, ast.ClassDef):
                _collect(node, f"{prefix}{node.name}.", found)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found[prefix + target.id] = node.lineno, node.end_lineno or node.lineno


def lines_of(path: str, name: str) -> tuple[int, int]:
    """The first and last line of a symbol, or an error that lists the known ones."""
    known = symbols(path)
    if name not in known:
        near = ", ".join(list(known)[:12])
        raise LookupError(f"docs: {path} has no {name!r}, expected one of {near} …")
    return known[name]
