"""A graph as text in Graphviz's DOT language.

Boxes: ops are rounded, parameters have a folded corner, leaves have a double border, constants a
dashed one, closed modules are 3-d boxes, open ones are frames. Arrows: solid for values, dashed for
gradients, which point back and are wider for a larger norm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ...text import one_line
from ..data.graph import Graph, ModuleInfo
from ..data.trace import trace
from .collapse import Box, Collapse, Link, Scene
from .collapse import collapse as make_scene
from .graphviz import INSTALL, run_dot
from .labels import GRADIENT, module_label, node_label, quote, room_label, tooltip

SHOW = ("shapes", "values", "grads", "formulas")
DIRECTIONS = ("TB", "LR", "BT", "RL")
FONT = "Helvetica,Arial,DejaVu Sans,sans-serif"

# (fill, border) of each kind of box: light enough for black text, distinct in grey too.
COLOURS = {
    "op": ("#e8f1fa", "#2f6aa5"),
    "parameter": ("#fdf0d9", "#b9770e"),
    "leaf": ("#dff3ea", "#1d7f5f"),
    "constant": ("#f2f3f5", "#8793a0"),
    "module": ("#ede7f6", "#5b3f91"),
    "failed": ("#fde3e0", "#b3261e"),
}
SHAPES = {
    "op": 'shape=box, style="rounded,filled"',
    "parameter": 'shape=note, style="filled"',
    "leaf": 'shape=box, style="filled,bold", peripheries=2',
    "constant": 'shape=box, style="filled,dashed"',
    "module": 'shape=box3d, style="filled"',
}
FRAMES = ("#f8f9fb", "#ffffff")  # nested open modules alternate


def dot_source(
    source: Any,
    *,
    collapse: Collapse = "auto",
    show: Iterable[str] = ("shapes", "values", "grads"),
    hide_constants: bool = False,
    hide_shape_ops: bool | None = None,
    direction: str = "TB",
    **options: Any,
) -> str:
    """The DOT text of a loss, a Recording, a Graph, or a function that returns a loss.

    collapse         "auto" (about 40 boxes), "none", a depth, or a function of a ModuleInfo that
                     says whether the module is a closed box
    show             any of "shapes", "values", "grads" and "formulas"
    hide_constants   leave out tensors without a gradient
    hide_shape_ops   leave out reshapes and similar ops; None: unless collapse is "none"
    direction        "TB", "LR", "BT" or "RL": the direction of the values
    options          for `trace`: model, gradient, max_values …
    """
    shown = frozenset([show] if isinstance(show, str) else show)
    if not shown <= set(SHOW):
        odd = sorted(map(str, shown - set(SHOW)))
        raise ValueError(f"graph: got show={odd}, expected any of {', '.join(SHOW)}")
    if direction not in DIRECTIONS:
        raise ValueError(
            f"graph: got direction {direction!r}, expected one of {', '.join(DIRECTIONS)}"
        )
    graph = trace(source, **options)
    scene = make_scene(graph, collapse, hide_constants, hide_shape_ops)
    return _Writer(graph, scene, shown, direction).text()


class _Writer:
    """Writes one scene."""

    def __init__(self, graph: Graph, scene: Scene, show: frozenset[str], direction: str):
        self.graph, self.scene, self.show, self.direction = graph, scene, show, direction
        self.names = {key: f"b{i}" for i, key in enumerate(scene.boxes)}  # safe as identifiers

    def text(self) -> str:
        lines = [
            "digraph {",
            f"  graph [rankdir={self.direction}, fontname={quote(FONT)}, fontsize=11,"
            " nodesep=0.28, ranksep=0.38, labeljust=l, pad=0.2];",
            f'  node [fontname={quote(FONT)}, fontsize=11, margin="0.09,0.05", height=0.3];',
            f'  edge [fontname={quote(FONT)}, fontsize=9, color="#48586a", arrowsize=0.7];',
            *self._room("", 1),
            *self._links(),
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _room(self, path: str, depth: int) -> Iterator[str]:
        """The boxes of an open module, and the open modules in it."""
        indent = "  " * depth
        for key, box in self.scene.boxes.items():
            if box.room == path:
                yield f"{indent}{self.names[key]} [{self._box(box)}];"
        for i, room in enumerate(self.scene.rooms):
            if room.parent == path:
                yield f"{indent}subgraph cluster_{i} {{"
                yield f"{indent}  {self._frame(room, depth)}"
                yield from self._room(room.path, depth + 1)
                yield f"{indent}}}"

    def _frame(self, room: ModuleInfo, depth: int) -> str:
        label = room_label(room.class_name, room.name, room.calls)
        fill = FRAMES[depth % 2]
        return (
            f'label=<{label}>; style="rounded,filled"; color="#b5a7d3"; fillcolor="{fill}"; '
            f"tooltip={quote(one_line(room.path))};"
        )

    def _box(self, box: Box) -> str:
        if box.node is None:
            look, label = "module", module_label(box, self.show)
            tip = one_line(box.module.path) if box.module is not None else f"{box.ops:,} ops"
        else:
            look = box.node.kind
            label = node_label(box, self.show, self.graph.error)
            tip = tooltip(box.node, self.graph)
        failed = box.node is not None and box.node.failed
        fill, border = COLOURS["failed" if failed else look]
        wide = ", penwidth=2" if failed or (box.node and box.node.id == self.graph.loss) else ""
        return (
            f'{SHAPES[look]}, fillcolor="{fill}", color="{border}"{wide}, '
            f"label=<{label}>, tooltip={quote(tip)}"
        )

    def _links(self) -> Iterator[str]:
        largest = max((link.gradient or 0.0 for link in self.scene.links), default=0.0)
        for link in self.scene.links:
            ends = f"{self.names[link.source]} -> {self.names[link.target]}"
            times = f' [label=" ×{link.count}"]' if link.count > 1 else ""
            yield f"  {ends}{times};"
            if "grads" in self.show and link.gradient is not None:
                yield self._gradient(link, largest)

    def _gradient(self, link: Link, largest: float) -> str:
        """The dashed arrow back: 0.5 to 2.5 points wide, by the logarithm of the norm."""
        norm = link.gradient or 0.0
        share = 0.0
        if norm > 0 and math.isfinite(largest):
            share = max(0.0, 1 + math.log10(norm / largest) / 4)  # four decades, then thin
        # A forward edge with its arrow head at the back: it does not change the layout.
        return (
            f"  {self.names[link.source]} -> {self.names[link.target]} [dir=back, style=dashed, "
            f'color="{GRADIENT}", penwidth={0.5 + 2 * share:.2f}, arrowsize=0.6, weight=0, '
            f"tooltip={quote(f'gradient, norm {norm:.3g}')}];"
        )


def dot(source: Any, **options: Any) -> Any:
    """The graph as a `graphviz.Digraph`, which shows itself in notebooks; options of `render`."""
    try:
        import graphviz
    except ImportError:
        raise ImportError(f"graph.dot: needs the graphviz package; run {INSTALL}") from None

    class Picture(graphviz.Digraph):
        """A Digraph drawn by any installed Graphviz."""

        def pipe(self, format: str | None = None, **kwargs: Any) -> Any:
            drawn = run_dot(self.source, format or self.format)
            encoding = kwargs.get("encoding")
            return drawn.decode(encoding) if encoding else drawn

    lines = dot_source(source, **options).splitlines(keepends=True)
    picture = Picture(body=lines[1:-1])  # without "digraph {" and "}"
    picture.format = "svg"
    return picture
