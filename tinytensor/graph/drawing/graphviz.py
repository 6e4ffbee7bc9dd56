"""Run Graphviz: the `dot` program, or the library in pygraphviz's wheel."""

from __future__ import annotations

import shutil
import warnings

FORMATS = ("svg", "png", "pdf", "json", "plain")
INSTALL = "pip install pygraphviz"


class GraphvizMissing(RuntimeError):
    """Neither the `dot` program nor pygraphviz is installed."""


def run_dot(source: str, format: str) -> bytes:
    """Lay out a graph in the DOT language, as "svg", "png", "pdf", "json" or "plain"."""
    if format not in FORMATS:
        raise ValueError(
            f"run_dot: got the format {format!r}, expected one of {', '.join(FORMATS)}"
        )
    if shutil.which("dot"):
        try:
            import graphviz
        except ImportError:
            pass
        else:
            return graphviz.Source(source).pipe(format=format, quiet=True)
    try:
        import pygraphviz
    except ImportError:
        raise GraphvizMissing(
            f"graph: pictures need Graphviz, which is not installed; run {INSTALL}"
        ) from None
    drawing = pygraphviz.AGraph(string=source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are a little too wide for their boxes
        return drawing.draw(format=format, prog="dot")


def is_there() -> bool:
    """True if `run_dot` can draw."""
    try:
        run_dot("digraph {}", "plain")
    except GraphvizMissing:
        return False
    return True
