"""Write SVG as text: elements, documents, and axes with round ticks.

    parts = [svg.background(200, 100), svg.text("a < b", x=10, y=20, font_weight="bold")]
    svg.document(parts, viewBox="0 0 200 100", width=200, height=100, font_family=svg.FONTS)

All SVG in this package is written here, so that no user's name can break a picture: the values of
attributes and the content of `text` and `title` are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from .text import escape

FONTS = "DejaVu Sans, Helvetica, Arial, sans-serif"
INK, FRAME, GRID = "#334155", "#64748b", "#e2e8f0"  # of text, axes and grid lines
LOG_SCALE_FROM = 50.0  # axes whose largest/smallest value exceeds this are logarithmic


def element(tag: str, inner: str = "", /, **attributes: object) -> str:
    """<tag attributes>inner</tag>; inner is markup.

    stroke_width=2 is written stroke-width="2", and class_="head" class="head".
    """
    head = opening(tag, **attributes)
    return f"{head}{inner}</{tag}>" if inner else f"{head[:-1]}/>"


def opening(tag: str, /, **attributes: object) -> str:
    """The opening tag of an element."""
    names = (name.rstrip("_").replace("_", "-") for name in attributes)
    values = map(escape, attributes.values())
    return " ".join([f"<{tag}", *map('{}="{}"'.format, names, values)]) + ">"


def text(content: object, /, **attributes: object) -> str:
    """A text element with escaped content, which may be empty."""
    return f"{opening('text', **attributes)}{escape(content)}</text>"


def title(content: object) -> str:
    """The title of a picture or an element: browsers show it as a tooltip."""
    return f"<title>{escape(content)}</title>"


def background(width: object, height: object) -> str:
    """A white rectangle of the picture's size."""
    return element("rect", width=width, height=height, fill="#ffffff")


def document(parts: Iterable[str], /, **attributes: object) -> str:
    """The text of an SVG file, one part to a line."""
    head = opening("svg", xmlns="http://www.w3.org/2000/svg", **attributes)
    return "\n".join([head, *parts, "</svg>"]) + "\n"


# ------------------------------------------------------------------------------------------
# Axes
# ------------------------------------------------------------------------------------------


class Axis:
    """Maps values to pixels from `begin` to `end`, and finds round values for the ticks."""

    def __init__(
        self, values: list[float], begin: float, end: float, logarithmic: bool | None = None
    ):
        low, high = min(values), max(values)
        if logarithmic is None:
            logarithmic = low > 0 and high / low > LOG_SCALE_FROM
        self.logarithmic = logarithmic
        self.low, self.high = self._scaled(low), self._scaled(high)
        if self.high - self.low < 1e-9 * max(1.0, abs(self.high)):  # a single value: centre it
            half = max(0.5 * abs(self.high), 0.5)
            self.low, self.high = self.low - half, self.high + half
        space = 0.03 * (self.high - self.low)  # keeps curves off the frame
        self.low, self.high = self.low - space, self.high + space
        self.begin, self.end = begin, end

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        share = (self._scaled(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """About five round values between low and high.

        On a logarithmic axis they are powers of ten; over less than three decades, also 2 and 5
        times these.
        """
        if self.logarithmic:
            decades = self.high - self.low
            every = math.ceil(decades / 10)  # decades from one tick to the next
            exponents = range(math.floor(self.low / every) * every, math.ceil(self.high) + 1, every)
            digits = (1, 2, 5) if decades < 3 else (1,)
            found = [digit * 10.0**exponent for exponent in exponents for digit in digits]
            return [v for v in found if self.low <= math.log10(v) <= self.high]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= max(m for m in (1, 2, 5) if m * step <= (self.high - self.low) / 4 or m == 1)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [i * step for i in range(first, last + 1)]


def vertical_grid(axis: Axis, values: Iterable[float], top: float, bottom: float) -> list[str]:
    """A grid line at each value of a horizontal axis, and the number below it."""
    parts = []
    for value in values:
        x = f"{axis(value):.1f}"
        parts.append(element("path", d=f"M{x} {top}V{bottom}", stroke=GRID))
        parts.append(text(f"{value:.6g}", x=x, y=bottom + 18, text_anchor="middle"))
    return parts


def horizontal_grid(axis: Axis, left: float, right: float) -> list[str]:
    """A grid line at each tick of a vertical axis, and the number to its left."""
    parts = []
    for value in axis.ticks():
        y = axis(value)
        parts.append(element("path", d=f"M{left} {y:.1f}H{right}", stroke=GRID))
        parts.append(text(f"{value:.4g}", x=left - 8, y=f"{y + 4:.1f}", text_anchor="end"))
    return parts


# ------------------------------------------------------------------------------------------
# PNG
# ------------------------------------------------------------------------------------------


def svg_to_png(svg: str, scale: float = 2.0) -> bytes:
    """Convert SVG text to the bytes of a PNG image, `scale` times its size."""
    try:
        import resvg_py
    except ImportError:
        raise ImportError(
            "svg_to_png: the resvg_py package is not installed; run `pip install resvg_py`, or "
            "write the picture as SVG"
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale))


# fmt: off
__all__ = [
    "Axis", "background", "document", "element", "horizontal_grid", "opening", "svg_to_png",
    "text", "title", "vertical_grid",
]
# fmt: on
