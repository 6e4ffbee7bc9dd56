"""A bar chart as one SVG file: a group of horizontal bars for each row, scaled within the group."""

from __future__ import annotations

from tinytensor import svg

# Okabe and Ito's palette, distinguishable with any kind of colour vision
COLOURS = ("#d55e00", "#0072b2", "#56b4e9", "#e69f00", "#009e73", "#999999", "#cc79a7")
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1a1a1a; }
.title { font-weight: 600; }
.value { font-size: 12px; fill: #555; }
.page { fill: #fff; }
@media (prefers-color-scheme: dark) {
  text { fill: #eee; } .value { fill: #aaa; } .page { fill: #161616; }
}
"""
WIDTH, MARGIN, NAMES, BARS = 860, 24, 180, 500  # in pixels; the bars start after the names
BAR, GROUP = 18, 46  # the height of a bar, and the extra height of a group


def bar_chart(rows: dict[str, dict[str, float]], names: list[str], caption: str) -> str:
    """The SVG of rows {title: {name: value}}; a name has the same colour in all rows."""
    colours = dict(zip(names, COLOURS))
    height = MARGIN + 20 + sum(GROUP + BAR * len(row) for row in rows.values()) + MARGIN
    parts = [
        svg.title(caption) + svg.element("style", STYLE),
        svg.element("rect", class_="page", width=WIDTH, height=height),
        svg.text(caption, class_="value", x=MARGIN, y=MARGIN + 4),
    ]
    top = MARGIN + 20
    for title, row in rows.items():
        parts.append(svg.text(title, class_="title", x=MARGIN, y=top + 22))
        parts += _bars(row, colours, top + 32)
        top += GROUP + BAR * len(row)
    viewed = f"0 0 {WIDTH} {height}"
    return svg.document(parts, width=WIDTH, height=height, viewBox=viewed, role="img")


def _bars(row: dict[str, float], colours: dict[str, str], top: int) -> list[str]:
    parts, longest = [], max(row.values())
    first = next(iter(row.values()))
    for i, (name, value) in enumerate(row.items()):
        y, length = top + BAR * i, max(1.0, BARS * value / longest)
        measured = f"{value:.4g} ms · {value / first:.2f}×"
        parts += [
            svg.text(name, x=MARGIN + 8, y=y + 13),
            svg.element(
                "rect", x=MARGIN + NAMES, y=y + 2, width=f"{length:.1f}", height=BAR - 5,
                rx=2, fill=colours[name],
            ),
            svg.text(measured, class_="value", x=f"{MARGIN + NAMES + length + 8:.1f}", y=y + 13),
        ]  # fmt: skip
    return parts
