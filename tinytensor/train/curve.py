"""Draw the loss curve of a training run as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import svg
from ..svg import Axis
from ..text import one_line

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 30, 40, 50  # margins around the plot, in pixels
TRAINING, VALIDATION = "#2563eb", "#ea580c"
TITLE = 44  # the most characters of a title, so that it ends before the legend
MOST_POINTS = 400  # more are averaged in groups

Points = list[tuple[float, float]]


def loss_curve(records: Iterable[dict[str, Any]], title: str = "Loss") -> str:
    """Plot the losses of a Trainer's log over the steps; returns SVG text.

    records: "loss" gives the training curve, "val_loss" the validation curve.
    The vertical axis is logarithmic if the losses are positive and span a wide range.
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
    parts = [
        svg.background(WIDTH, HEIGHT),
        svg.text(one_line(title, TITLE), x=LEFT, y=24, font_size=15, font_weight="bold"),
        *_grid(x_axis, y_axis),
    ]
    for number, (name, (colour, curve)) in enumerate(curves.items()):
        parts += _line(curve, colour, x_axis, y_axis, dots=name == "validation")
        parts += _legend(name, colour, number)
    return svg.document(
        parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT,
        font_family=svg.FONTS, font_size=12, fill=svg.INK,
    )  # fmt: skip


def _points(records: list[dict[str, Any]], name: str) -> Points:
    """(step, value) of the records that have a finite value."""
    return [(r["step"], float(r[name])) for r in records if _is_finite(r.get(name))]


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _averaged(points: Points) -> Points:
    """At most MOST_POINTS points, each the mean of a group of neighbours."""
    size = math.ceil(len(points) / MOST_POINTS)
    groups = [points[i : i + size] for i in range(0, len(points), size or 1)]
    return [(sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups]


def _grid(x_axis: Axis, y_axis: Axis) -> list[str]:
    """The frame, a line and a number for each tick, and the axis labels."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    middle_x, middle_y = (LEFT + right) / 2, (TOP + bottom) / 2
    turned = f"translate(18 {middle_y}) rotate(-90)"
    return [
        *svg.vertical_grid(x_axis, x_axis.ticks(), TOP, bottom),
        *svg.horizontal_grid(y_axis, LEFT, right),
        svg.element("path", d=f"M{LEFT} {TOP}V{bottom}H{right}", stroke=svg.FRAME, fill="none"),
        svg.text("step", x=middle_x, y=HEIGHT - 12, text_anchor="middle"),
        svg.text("loss", transform=turned, text_anchor="middle"),
    ]


def _line(points: Points, colour: str, x_axis: Axis, y_axis: Axis, dots: bool) -> list[str]:
    places = [f"{x_axis(x):.1f},{y_axis(y):.1f}" for x, y in points]
    line = svg.element(
        "polyline", points=" ".join(places),
        fill="none", stroke=colour, stroke_width=1.8, stroke_linejoin="round",
    )  # fmt: skip
    if (dots and len(points) <= 50) or len(points) == 1:
        centres = (place.split(",") for place in places)
        return [line, *(svg.element("circle", cx=x, cy=y, r=3, fill=colour) for x, y in centres)]
    return [line]


def _legend(name: str, colour: str, number: int) -> list[str]:
    x, y = WIDTH - RIGHT - 200 + 110 * number, 24
    return [
        svg.element("path", d=f"M{x} {y - 4}h22", stroke=colour, stroke_width=3),
        svg.text(name, x=x + 28, y=y),
    ]
