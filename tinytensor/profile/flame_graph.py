"""A flame graph as one SVG file: boxes as wide as their time, callees below callers."""

from __future__ import annotations

from .. import svg
from ..text import one_line

Stack = tuple[str, ...]

WIDTH, ROW, MARGIN, HEAD = 1200, 22, 12, 44  # in pixels
NARROWEST = 0.4  # boxes below this width are left out
LETTER = 6.6  # approximate width of a letter
# Forward, backward and optimiser steps differ in hue and in lightness, for any colour vision.
COLOURS = {"forward": "#9ecae9", "backward": "#f2b27a", "step": "#a8d5a2", "": "#d9d9d9"}
STYLE = """
text { font: 11px ui-monospace, monospace; fill: #1a1a1a; pointer-events: none; }
.head { font: 14px system-ui, sans-serif; }
rect { stroke: #fff; stroke-width: 0.5; }
g:hover > rect { stroke: #1a1a1a; stroke-width: 1.5; }
.page { fill: #fff; stroke: none; }
@media (prefers-color-scheme: dark) { .page { fill: #161616; } .head { fill: #eee; } }
"""


class Box:
    """The seconds of one frame, with the frames below it included."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.inside: dict[str, Box] = {}


def flame_graph(stacks: dict[Stack, float], total: float) -> str:
    """The SVG for stacks {(forward, module, …, op): seconds}; total: seconds of the whole run.

    Pointing at a box shows its milliseconds and its share.
    """
    root = _tree(stacks, total)
    rows = 1 + max((len(stack) for stack in stacks), default=0)
    height = HEAD + ROW * rows + MARGIN
    legend = "forward blue, backward orange, optimiser green, outside of ops grey"
    parts = [
        svg.title("time by module and op") + svg.element("style", STYLE),
        svg.element("rect", class_="page", width=WIDTH, height=height),
        svg.text(f"{1e3 * total:,.1f} ms: {legend}", class_="head", x=MARGIN, y=28),
    ]
    scale = (WIDTH - 2 * MARGIN) / total if total else 0.0
    # An explicit stack: (name, box, left edge, row, colour)
    left_to_draw = [("all", root, float(MARGIN), 0, COLOURS[""])]
    while left_to_draw:
        name, box, left, row, colour = left_to_draw.pop()
        if box.seconds * scale < NARROWEST:
            continue
        parts.append(_drawn(name, box.seconds, total, left, row, scale, colour))
        for inner_name, inner in sorted(box.inside.items(), key=lambda item: -item[1].seconds):
            shade = COLOURS.get(inner_name, COLOURS[""]) if row == 0 else colour
            left_to_draw.append((inner_name, inner, left, row + 1, shade))
            left += inner.seconds * scale
    viewed = f"0 0 {WIDTH} {height}"
    return svg.document(parts, width=WIDTH, height=height, viewBox=viewed, role="img")


def _tree(stacks: dict[Stack, float], total: float) -> Box:
    root = Box()
    root.seconds = total
    for stack, seconds in stacks.items():
        box = root
        for name in stack:
            box = box.inside.setdefault(name, Box())
            box.seconds += seconds
    return root


def _drawn(
    name: str, seconds: float, total: float, left: float, row: int, scale: float, colour: str
) -> str:
    """One box, with its name shortened to fit."""
    name = one_line(name)
    width, top = seconds * scale, HEAD + ROW * row
    room = int((width - 6) / LETTER)
    shown = name if len(name) <= room else name[: room - 1] + "…" if room > 2 else ""
    about = f"{name}: {1e3 * seconds:,.2f} ms, {100 * seconds / total:.1f} %"
    text = svg.text(shown, x=f"{left + 4:.1f}", y=top + 15) if shown else ""
    place: dict[str, object] = {"x": f"{left:.1f}", "y": top, "width": f"{width:.1f}"}
    box = svg.element("rect", **place, height=ROW - 1, fill=colour)
    return svg.element("g", svg.title(about) + box + text)
