"""`render`: draw a graph to a file, in the format of its suffix."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .drawing.dot import dot_source
from .drawing.graphviz import GraphvizMissing, run_dot
from .files import write_bytes

DRAWN = (".svg", ".png", ".pdf")
WRITTEN = (".dot", ".gv")


def render(source: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Draw a loss, a Recording, a Graph, or a function that returns a loss; returns the path.

    path      .svg, .png or .pdf: a picture; .dot: its text; .html: the page of `explore`
    options   those of `dot_source`: collapse, show, hide_constants, hide_shape_ops, direction …

        graph.render(loss, "graph.svg", collapse=1, show=["shapes"])
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".html":
        from .pages.explore import explore

        explore(source, path, **options)
        return path
    if suffix not in DRAWN + WRITTEN:
        known = ", ".join((*DRAWN, ".dot", ".html"))
        raise ValueError(f"render: got the suffix {suffix!r} ({path.name}), expected {known}")
    text = dot_source(source, **options)
    if suffix in WRITTEN:
        write_bytes(path, text.encode())
        return path
    try:
        # A higher resolution than Graphviz's default of 96 dpi.
        fine = text.replace("digraph {", "digraph {\n  graph [dpi=144];", 1)
        drawn = run_dot(fine if suffix == ".png" else text, suffix[1:])
    except GraphvizMissing as missing:
        instead = path.with_suffix(".dot")
        write_bytes(instead, text.encode())
        raise GraphvizMissing(f"{missing}; the graph is in {instead} as text") from None
    write_bytes(path, drawn)
    return path
