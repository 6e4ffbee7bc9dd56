"""The loss curve of a training, drawn as SVG text; PNG is made from that."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..text import escape, one_line

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 30, 40, 50  # margins around the plot, in pixels
TRAINING, VALIDATION = "#2563eb", "#ea580c"
TITLE = 44  # characters of a title, which ends where the legend begins
MOST_POINTS = 400  # more are averaged in groups
LOG_SCALE_FROM = 50.0  # the ratio of largest to smallest loss from which the axis is logarithmic

Points = list[tuple[float, float]]


def loss_curve(records: Iterable[dict[str, Any]], title: str = "Loss") -> str:
    """The losses of a Trainer's log, over the steps, as the text of an SVG picture.

    records: those with "loss" make the training curve, those with "val_loss" that of validation.
    The vertical axis is logarithmic if the losses are positive and far apart.
    """
    records = list(records)
    curves = {
        "training": (TRAINING, _averaged(_points(records, "loss"))),
        "validation": (VALIDATION, _points(records, "val_loss")),
    }
    curves = {name: curve for name, curve in curves.items() if curve[1]}
    points = [point for _, curve in curves.values() for point in curve]
    if not points:
        raise ValueError("loss_curve: got no record with a loss, expected at least one")
    x_axis = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, logarithmic=False)
    y_axis = Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    heading = escape(one_line(title, TITLE))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" '
        'font-size="12" fill="#334155">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold">{heading}</text>',
        *_grid(x_axis, y_axis),
    ]
    for number, (name, (colour, curve)) in enumerate(curves.items()):
        parts += _line(curve, colour, x_axis, y_axis, dots=name == "validation")
        parts += _legend(name, colour, number)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _points(records: list[dict[str, Any]], name: str) -> Points:
    """(step, value) of the records that have a finite value."""
    return [(r["step"], float(r[name])) for r in records if _is_finite(r.get(name))]


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _averaged(points: Points) -> Points:
    """At most MOST_POINTS points, each the mean of as many neighbours as that takes."""
    size = math.ceil(len(points) / MOST_POINTS)
    groups = [points[i : i + size] for i in range(0, len(points), size or 1)]
    return [(sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups]


class Axis:
    """From values to pixels, with round values for the ticks."""

    def __init__(
        self, values: list[float], begin: float, end: float, logarithmic: bool | None = None
    ):
        low, high = min(values), max(values)
        if logarithmic is None:
            logarithmic = low > 0 and high / low > LOG_SCALE_FROM
        self.logarithmic = logarithmic
        self.low, self.high = self._scaled(low), self._scaled(high)
        if self.high - self.low < 1e-9 * max(1.0, abs(self.high)):  # one value: around it
            half = max(0.5 * abs(self.high), 0.5)
            self.low, self.high = self.low - half, self.high + half
        space = 0.03 * (self.high - self.low)  # so that no curve lies on the frame
        self.low, self.high = self.low - space, self.high + space
        self.begin, self.end = begin, end

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        share = (self._scaled(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Round values between low and high: about five, or powers of ten, times 1, 2 and 5 too."""
        if self.logarithmic:
            decades = self.high - self.low
            every = math.ceil(decades / 10)  # so many decades have a tick
            exponents = range(math.floor(self.low / every) * every, math.ceil(self.high) + 1, every)
            digits = (1, 2, 5) if decades < 3 else (1,)
            found = [digit * 10.0**exponent for exponent in exponents for digit in digits]
            return [v for v in found if self.low <= math.log10(v) <= self.high]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= max(m for m in (1, 2, 5) if m * step <= (self.high - self.low) / 4 or m == 1)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [i * step for i in range(first, last + 1)]


def _grid(x_axis: Axis, y_axis: Axis) -> list[str]:
    """The frame, a line and a number for each tick, and the names of the axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value in x_axis.ticks():
        x = x_axis(value)
        parts.append(f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{value:.6g}</text>')
    for value in y_axis.ticks():
        y = y_axis(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    middle_x, middle_y = (LEFT + right) / 2, (TOP + bottom) / 2
    return [
        *parts,
        f'<path d="M{LEFT} {TOP}V{bottom}H{right}" stroke="#64748b" fill="none"/>',
        f'<text x="{middle_x}" y="{HEIGHT - 12}" text-anchor="middle">step</text>',
        f'<text transform="translate(18 {middle_y}) rotate(-90)" text-anchor="middle">loss</text>',
    ]


def _line(points: Points, colour: str, x_axis: Axis, y_axis: Axis, dots: bool) -> list[str]:
    places = [f"{x_axis(x):.1f},{y_axis(y):.1f}" for x, y in points]
    style = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round"'
    parts = [f'<polyline points="{" ".join(places)}" {style}/>']
    if (dots and len(points) <= 50) or len(points) == 1:
        for x, y in (place.split(",") for place in places):
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
    return parts


def _legend(name: str, colour: str, number: int) -> list[str]:
    x, y = WIDTH - RIGHT - 200 + 110 * number, 24
    return [
        f'<path d="M{x} {y - 4}h22" stroke="{colour}" stroke-width="3"/>',
        f'<text x="{x + 28}" y="{y}">{name}</text>',
    ]


def svg_to_png(svg: str, scale: float = 2.0) -> bytes:
    """The text of an SVG picture as the bytes of a PNG picture, `scale` times its size."""
    try:
        import resvg_py
    except ImportError:
        raise ImportError(
            "svg_to_png: the resvg_py package is not installed; run `pip install resvg_py`, or "
            "write the picture as SVG"
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale))
