"""A bar chart as one SVG file: a group of horizontal bars for each row, scaled within the group."""

from __future__ import annotations

from tinytensor.text import escape

# Okabe and Ito's colours, which are told apart with any kind of colour vision
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
BAR, GROUP = 18, 46  # the height of a bar, and what a group adds for its title


def bar_chart(rows: dict[str, dict[str, float]], names: list[str], caption: str) -> str:
    """rows {title: {name: value}}; a name has the same colour in all rows."""
    colours = dict(zip(names, COLOURS))
    height = MARGIN + 20 + sum(GROUP + BAR * len(row) for row in rows.values()) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(caption)}</title><style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text class="value" x="{MARGIN}" y="{MARGIN + 4}">{escape(caption)}</text>',
    ]
    top = MARGIN + 20
    for title, row in rows.items():
        parts.append(f'<text class="title" x="{MARGIN}" y="{top + 22}">{escape(title)}</text>')
        parts += _bars(row, colours, top + 32)
        top += GROUP + BAR * len(row)
    return "\n".join([*parts, "</svg>", ""])


def _bars(row: dict[str, float], colours: dict[str, str], top: int) -> list[str]:
    parts, longest = [], max(row.values())
    first = next(iter(row.values()))
    for i, (name, value) in enumerate(row.items()):
        y, length = top + BAR * i, max(1.0, BARS * value / longest)
        parts += [
            f'<text x="{MARGIN + 8}" y="{y + 13}">{escape(name)}</text>',
            f'<rect x="{MARGIN + NAMES}" y="{y + 2}" width="{length:.1f}" height="{BAR - 5}" '
            f'rx="2" fill="{colours[name]}"/>',
            f'<text class="value" x="{MARGIN + NAMES + length + 8:.1f}" y="{y + 13}">'
            f"{value:.4g} ms · {value / first:.2f}×</text>",
        ]
    return parts
