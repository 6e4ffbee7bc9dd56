"""The text on the boxes of a picture, in Graphviz's HTML-like labels.

A small tensor is written as a matrix whose cells are tinted by value, blue below zero and orange
above; a larger one as a line of statistics with a small histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import text as texts
from ...text import TEXT, clean, cut, one_line
from ..data.graph import Graph, TracedNode
from ..data.values import Value, bars, norm_of, number, trouble
from .collapse import Box
from .palette import DIVERGING, colour

MATRIX = 6  # most rows and columns of a matrix that is written out
SIDE_BY_SIDE = 3  # most columns of a matrix with its gradient beside it
INK, FAINT, ALARM, GRADIENT = "#1d2733", "#5d6b7a", "#b3261e", "#b04d08"
SHADES = DIVERGING["light"]
WIDEST = 160  # characters of a line
LONGEST = 60  # of a name
TINT = 0.15  # of the ramp, from white to the largest number of a matrix


def escape(text: str) -> str:
    """Text escaped for an HTML-like label: a module called `<script>` is drawn as such."""
    # Graphviz replaces \N by the node's name; a zero-width space in between prevents it.
    return texts.escape(text).replace("\\", "\\&#8203;")


def quote(text: str) -> str:
    """Text as a quoted string of the DOT language, shown verbatim."""
    text = clean(text).replace("\\", "\\\\").replace('"', '\\"')
    return '"{}"'.format(text.replace("&", "&amp;").replace("\n", "\\n"))


def font(text: str, size: int, ink: str = INK, bold: bool = False, italic: bool = False) -> str:
    """Escaped text, cut, in a size and colour. Graphviz rejects empty text, so it is a space."""
    inner = escape(one_line(text, WIDEST)) or " "
    inner = f"<B>{inner}</B>" if bold else inner
    inner = f"<I>{inner}</I>" if italic else inner
    return f'<FONT POINT-SIZE="{size}" COLOR="{ink}">{inner}</FONT>'


def table(rows: Iterable[str], padding: int = 1) -> str:
    """Rows below one another."""
    cells = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
    return (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">{cells}</TABLE>'
    )


# ------------------------------------------------------------------------------------------
# Values
# ------------------------------------------------------------------------------------------


def as_matrix(value: Value) -> np.ndarray | None:
    """A small value as a matrix; None if it is too large or has more dimensions."""
    if value.data is None or 0 in value.shape:
        return None
    shape = list(value.shape)
    while len(shape) > 2 and shape[0] == 1:
        shape.pop(0)  # a batch of one
    if len(shape) > 2 or max(shape, default=1) > MATRIX:
        return None
    rows = [1] * (2 - len(shape)) + shape  # a vector is one row, a number one cell
    return value.array().reshape(rows)


def matrix(values: np.ndarray) -> str:
    """A matrix, each cell tinted by its ratio to the largest."""
    finite = np.abs(values[np.isfinite(values)]) if values.dtype.kind == "f" else np.abs(values)
    top = float(finite.max()) if finite.size and values.dtype != bool else 0.0
    rows = "".join(
        "<TR>" + "".join(_cell(x, top) for x in row) + "</TR>" for row in values.tolist()
    )
    return (
        '<TABLE BORDER="1" COLOR="#c3ccd6" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2">'
        f"{rows}</TABLE>"
    )


def _cell(x: Any, top: float) -> str:
    trouble_here = isinstance(x, float) and not math.isfinite(x)
    share = 0.0 if trouble_here or not top else float(x) / top
    # Only the middle of the ramp, so that black text is legible on it.
    background = "#f7d4d0" if trouble_here else colour(SHADES, 0.5 + TINT * share)
    ink = ALARM if trouble_here else INK
    return f'<TD ALIGN="RIGHT" BGCOLOR="{background}">{font(number(x), 9, ink)}</TD>'


def statistics(value: Value) -> str:
    """One line: range, mean, standard deviation, histogram, and a mark for NaN and infinities."""
    s = value.summary()
    if 0 in s.shape:
        return font("empty", 9, FAINT)
    if s.dtype == "bool":
        return font(f"{s.mean:.0%} true", 9, FAINT)
    line = ""
    if s.histogram and s.low == s.high:
        line = font(f"all {number(s.low)}", 9, FAINT)
    elif s.histogram:
        # A mean that is only rounding error is shown as zero.
        mean = 0.0 if abs(s.mean) < 1e-6 * max(abs(s.low), abs(s.high)) else s.mean
        line = f"{number(s.low)} … {number(s.high)}  μ {number(mean)}  σ {number(s.std)}  "
        line = font(line + bars(s.histogram), 9, FAINT)
    marks = "  ".join(trouble(s))
    return line + (font(f"  {marks}", 9, ALARM, bold=True) if marks else "")


def value_rows(value: Value | None, grad: Value | None) -> list[str]:
    """Rows for a value and its gradient, marked by ∇; narrow matrices share a row."""
    small = None if value is None else as_matrix(value)
    small_grad = None if grad is None else as_matrix(grad)
    shown = "" if value is None else _described(value, small)
    mark = font("∇ ", 10, GRADIENT, bold=True)
    if small_grad is not None and grad is not None and grad.shape:
        marked = _beside(mark, matrix(small_grad))
    else:
        marked = "" if grad is None else mark + _described(grad, small_grad)
    if small is not None and marked and small.shape[1] <= SIDE_BY_SIDE:
        matrices = value is not None and value.shape
        return [_beside(shown, marked) if matrices else shown + font("    ", 9) + marked]
    return [row for row in (shown, marked) if row]


def _described(value: Value, small: np.ndarray | None) -> str:
    """A value: a matrix if it is small, a number, or a line of statistics."""
    if small is None:
        return statistics(value)
    if value.shape:
        return matrix(small)
    x = small.item()
    bad = isinstance(x, float) and not math.isfinite(x)
    return font(number(x), 10, ALARM if bad else INK)


def _beside(left: str, right: str) -> str:
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2">'
        f"<TR><TD>{left}</TD><TD>{right}</TD></TR></TABLE>"
    )


# ------------------------------------------------------------------------------------------
# Boxes
# ------------------------------------------------------------------------------------------


def shape_text(shape: tuple[int, ...]) -> str:
    """(3, 4) as 3 × 4; a scalar as nothing."""
    return " × ".join(map(str, shape))


def node_label(box: Box, show: frozenset[str], error: str = "") -> str:
    """The label of a node: name, shape, value, gradient."""
    node = box.node
    assert node is not None
    name = short_name(node) if node.kind == "parameter" else node.name
    name = one_line(name, LONGEST)
    if node.kind == "parameter" and box.uses > 1:
        name += f"  ×{box.uses}"
    title = font(name, 12, ALARM if node.failed else INK, bold=node.kind == "op")
    if node.variable:
        title = font(f"{one_line(node.variable, LONGEST)} = ", 12) + title
    details = [shape_text(node.shape)] if "shapes" in show and node.shape else []
    if node.kind == "op" and node.arguments:
        details += [f"{key}={text}" for key, text in node.arguments.items() if text != "False"]
    if details:
        title += font("  " + "  ".join(details)[:60], 9, FAINT)
    rows = [title]
    if "formulas" in show and node.formula is not None and node.formula.forward:
        rows.append(font(node.formula.forward, 10, FAINT, italic=True))
    if node.failed and error:
        rows += [font(line, 9, ALARM) for line in _wrapped(error)]
    value = node.value if "values" in show else None
    grad = node.grad if "grads" in show else None
    return table(rows + value_rows(value, grad))


def module_label(box: Box, show: frozenset[str]) -> str:
    """The label of a closed module: class, name, content and output."""
    info = box.module
    if info is None:
        return table([font(f"+{box.ops:,} more ops", 13, bold=True)])
    if box.more:
        title = font(f"+{box.more} more", 13, bold=True)
        rows = [title, font(f"like {one_line(info.name, LONGEST)}", 10, FAINT)]
    else:
        calls = f"  ×{info.calls}" if info.calls > 1 else ""
        name = one_line(info.name, LONGEST)
        kind = one_line(info.class_name, LONGEST)
        title = font((kind or name) + calls, 13, bold=True)
        rows = [title] if info.name == info.class_name else [title, font(name, 10, FAINT)]
    inside = [f"{box.ops:,} op{'s' * (box.ops != 1)}"]
    if box.weights:
        inside.append(f"{box.weights:,} weights")
    rows.append(font(" · ".join(inside), 9, FAINT))
    if box.output is not None:
        node = box.output
        if "shapes" in show and node.shape:
            rows.append(font(f"→ {shape_text(node.shape)}", 10))
        if "values" in show and node.value is not None:
            rows.append(statistics(node.value))
        if "grads" in show and node.grad is not None:
            rows.append(font(f"∇ norm {number(norm_of(node.grad))}", 9, GRADIENT))
    return table(rows)


def room_label(class_name: str, name: str, calls: int) -> str:
    """The title of an open module."""
    text = font(one_line(name, LONGEST), 11, bold=True)
    if class_name and class_name != name:
        text += font(f"  {one_line(class_name, LONGEST)}", 10, FAINT)
    return text + (font(f"  ×{calls}", 10, FAINT) if calls > 1 else "")


def short_name(node: TracedNode) -> str:
    """The name of a parameter inside its module: "weight"."""
    prefix = node.name.rpartition(".")[0]
    return node.name[len(prefix) + 1 :] if prefix and node.module.endswith(prefix) else node.name


def tooltip(node: TracedNode, graph: Graph) -> str:
    """The tooltip of a node: its formulas, its place in the source."""
    lines = [f"{one_line(node.name)} {shape_text(node.shape)} {node.dtype}".strip()]
    if node.formula is not None:
        rules = [node.formula.forward, *node.formula.gradients.values()]
        lines += [line for line in [*rules, *node.formula.definitions] if line]
    if node.module:
        lines.append(f"in {one_line(node.module)}")
    if node.source is not None:
        file = node.source.file.replace("\\", "/").rpartition("/")[2]
        lines.append(f"{file}:{node.source.line}  {node.source.text}")
    if node.failed:
        lines.append(graph.error)
    return "\n".join(one_line(line, TEXT) for line in lines)


def _wrapped(text: str, width: int = 46) -> list[str]:
    """Text in lines of about `width` characters."""
    lines = [""]
    for word in cut(text, TEXT).split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
