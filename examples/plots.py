"""Small SVG plots for the examples: lines, bars, points, a heat map, a grid of images.

The colours are those of the graph pages, which colour-blind readers can tell apart; lines also
differ in dashes and points in shape. Values may be tensors, arrays or lists.
"""

from __future__ import annotations

import base64
import math
import os
import re
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor import svg
from tinytensor.graph.drawing.attention_picture import attention_svg
from tinytensor.graph.drawing.palette import CURVES
from tinytensor.graph.files import write_text
from tinytensor.svg import Axis
from tinytensor.text import one_line

Path = str | os.PathLike[str]

COLOURS = CURVES["light"]
DASHES = ("none", "7 3", "2 3")  # the second six lines are dashed, the third dotted
SHAPES = (  # of points, about 8 pixels wide around (0, 0)
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.5 -3.5h7v7h-7z",
    "M0 -4.5L4.5 3.5H-4.5z",
    "M0 -5L5 0L0 5L-5 0z",
    "M0 4.5L-4.5 -3.5H4.5z",
    "M-4 -1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
)
LONGEST = 40  # characters of a name
LETTER = 7.0  # about the width of a letter, in pixels
TOP, BOTTOM, LEFT = 44, 52, 72  # margins around a plot, in pixels


def lines(
    path: Path,
    curves: Mapping[str, tuple[Any, Any]],
    title: str,
    x_label: str,
    y_label: str,
    log_y: bool = False,
) -> None:
    """One line for each name: (xs, ys). Skips ys that are not finite, or not positive if log_y.

    lines("loss.svg", {"training": (steps, losses)}, "Loss", "step", "loss", log_y=True)
    """
    points = {name: _points(xs, ys, log_y) for name, (xs, ys) in curves.items()}
    everything = [point for curve in points.values() for point in curve]
    if not everything:
        raise ValueError(f"plots.lines: {path} has no point to draw, expected at least one")
    names = _shown(curves)
    legend = _legend_width(names)
    width, height = 640 + legend, 400
    x_axis = Axis([x for x, _ in everything], LEFT, 610, logarithmic=False)
    y_axis = Axis([y for _, y in everything], height - BOTTOM, TOP, logarithmic=log_y)
    parts = _frame(x_axis, y_axis, x_label, y_label)
    for number, (name, curve) in enumerate(zip(names, points.values())):
        ink, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        style: dict[str, Any] = {"stroke": ink, "stroke_width": 2, "stroke_dasharray": dash}
        places = [f"{x_axis(x):.1f},{y_axis(y):.1f}" for x, y in curve]
        parts.append(svg.element("polyline", points=" ".join(places), fill="none", **style))
        if len(curve) <= 20:
            dots = (place.split(",") for place in places)
            parts += [svg.element("circle", cx=x, cy=y, r=3, fill=ink) for x, y in dots]
        if legend:
            y = TOP + 12 + 20 * number
            parts.append(svg.element("path", d=f"M626 {y - 4}h24", **style))
            parts.append(svg.text(name, x=656, y=y))
    _write(path, width, height, title, parts)


def bars(path: Path, values: Mapping[str, float], title: str, y_label: str) -> None:
    """One bar from zero for each name, drawn sideways so that long names can be read."""
    names = _shown(values)
    left = 24 + LETTER * max(map(len, names))
    width, height = left + 520, TOP + 34 * len(values) + BOTTOM
    axis = Axis([0.0, *map(float, values.values())], left, width - 70, logarithmic=False)
    parts = _grid_down(axis, height - BOTTOM, y_label)
    for number, (name, value) in enumerate(zip(names, values.values())):
        y, (begin, end) = TOP + 34 * number + 6, sorted((axis(0.0), axis(float(value))))
        ink = COLOURS[number % len(COLOURS)]
        length = f"{max(end - begin, 1):.1f}"
        parts += [
            svg.text(name, x=f"{left - 10:.1f}", y=y + 15, text_anchor="end"),
            svg.element("rect", x=f"{begin:.1f}", y=y, width=length, height=22, fill=ink),
            svg.text(f"{float(value):.4g}", x=f"{end + 6:.1f}", y=y + 15),
        ]
    _write(path, width, height, title, parts)


def scatter(
    path: Path,
    points: Any,
    classes: Any,
    title: str,
    predict: Callable[[tt.Tensor], Any] | None = None,
    edges: Sequence[Sequence[int]] = (),
) -> None:
    """Points (N, 2), coloured by class (N), on axes with the same scale.

    classes: numbers or names. predict: points (M, 2) → class numbers (M); tints the background.
    edges: pairs of point indices to join by a thin line.
    """
    places, names = _array(points), [str(name) for name in _array(classes)]
    known = sorted(set(names), key=lambda name: (len(name), name))  # 2 before 10
    size, low, high = 480, places.min(axis=0), places.max(axis=0)
    middle, half = (low + high) / 2, 0.55 * (high - low).max() or 1.0
    x_axis, y_axis = (
        Axis([centre - half, centre + half], begin, end, logarithmic=False)
        for centre, begin, end in zip(middle, (LEFT, size - BOTTOM), (LEFT + size - 96, TOP))
    )
    parts = _frame(x_axis, y_axis, "", "")
    if predict is not None:
        parts += _regions(predict, x_axis, y_axis)
    for begin, end in edges:
        (x, y), (to_x, to_y) = places[begin], places[end]
        line = f"M{x_axis(x):.1f} {y_axis(y):.1f}L{x_axis(to_x):.1f} {y_axis(to_y):.1f}"
        parts.append(svg.element("path", d=line, stroke="#94a3b8", stroke_opacity=0.5))
    for name, (x, y) in zip(names, places):
        number, place = known.index(name), f"{x_axis(x):.1f} {y_axis(y):.1f}"
        edge: dict[str, Any] = {"stroke": "#ffffff", "stroke_width": 0.7}
        parts.append(_point(number, place, **edge))
    shown = _shown(known)
    legend = _legend_width(shown) if len(known) <= 16 else 0.0
    for number, name in enumerate(shown if legend else []):
        y = TOP + 12 + 20 * number
        parts.append(_point(number, f"{size} {y - 4}"))
        parts.append(svg.text(name, x=size + 14, y=y))
    _write(path, size + 10 + legend, size, title, parts)


def heat_map(
    path: Path, matrix: Any, row_names: Sequence[str], column_names: Sequence[str], title: str
) -> None:
    """A matrix (rows, columns) as coloured cells; if it goes below zero, zero is white."""
    picture = attention_svg(matrix, (list(row_names), list(column_names)))
    width, height = map(float, re.findall(r"[\d.]+", picture.split('viewBox="0 0 ')[1])[:2])
    parts = [svg.opening("g", transform="translate(14 30)"), picture, "</g>"]
    _write(path, width + 14, height + 30, title, parts)


def images(
    path: Path,
    arrays: Sequence[Any],
    columns: int,
    titles: Sequence[str] | None = None,
    title: str = "",
    row_names: Sequence[str] = (),
) -> None:
    """Images side by side, `columns` in a row.

    arrays: each (H, W), (1, H, W) or (3, H, W), from 0, black, to 1, white. titles: one below each
    image. row_names: one to the left of each row.
    """
    pictures = [_array(array) for array in arrays]
    titles, row_names = _shown(titles or []), _shown(row_names)
    longest = max((len(text) for text in titles), default=0)
    size, gap = 88, 10
    step_x = max(size, longest * LETTER) + gap
    step_y = size + gap + (18 if titles else 0)
    top = TOP if title else gap
    begin = gap + (gap + LETTER * max(map(len, row_names)) if row_names else 0)
    parts = []
    for row, name in enumerate(row_names):
        place = {"x": f"{begin - gap:.1f}", "y": top + step_y * row + size // 2}
        parts.append(svg.text(name, **place, text_anchor="end"))
    for number, picture in enumerate(pictures):
        x, y = begin + step_x * (number % columns), top + step_y * (number // columns)
        left = x + (step_x - gap - size) / 2
        data = base64.b64encode(_png(picture)).decode()
        parts.append(
            svg.element(
                "image", x=f"{left:.1f}", y=y, width=size, height=size,
                style="image-rendering: pixelated", href=f"data:image/png;base64,{data}",
            )
        )  # fmt: skip
        if titles:
            middle = f"{left + size / 2:.1f}"
            parts.append(svg.text(titles[number], x=middle, y=y + size + 15, text_anchor="middle"))
    rows = math.ceil(len(pictures) / columns)
    width = begin + step_x * min(columns, len(pictures))
    _write(path, width, top + step_y * rows, title, parts)


# ------------------------------------------------------------------------------------------
# Parts of pictures
# ------------------------------------------------------------------------------------------


def _array(value: Any) -> np.ndarray:
    return value.numpy(force=True) if isinstance(value, tt.Tensor) else np.asarray(value)


def _shown(names: Any) -> list[str]:
    """Names as shown: on one line, truncated."""
    return [one_line(name, LONGEST) for name in names]


def _points(xs: Any, ys: Any, log_y: bool) -> list[tuple[float, float]]:
    pairs = zip(_array(xs).tolist(), _array(ys).tolist(), strict=True)
    return [(x, y) for x, y in pairs if math.isfinite(y) and (y > 0 or not log_y)]


def _legend_width(names: Any) -> float:
    """The width of the legend, in pixels; 0 for a single name."""
    return 0.0 if len(names) < 2 else 40 + LETTER * max(map(len, names))


def _frame(x_axis: Axis, y_axis: Axis, x_label: str, y_label: str) -> list[str]:
    """Grid lines, tick labels and names of two axes."""
    bottom, right = y_axis.begin, x_axis.end
    turned = f"translate(18 {(TOP + bottom) / 2}) rotate(-90)"
    return [
        *_grid_down(x_axis, bottom, x_label),
        *svg.horizontal_grid(y_axis, LEFT, right),
        svg.text(one_line(y_label, LONGEST), transform=turned, text_anchor="middle"),
        svg.element("path", d=f"M{LEFT} {TOP}V{bottom}H{right}", stroke=svg.FRAME, fill="none"),
    ]


def _grid_down(axis: Axis, bottom: float, label: str) -> list[str]:
    """A vertical line for each tick of a horizontal axis, and the axis label."""
    middle = f"{(axis.begin + axis.end) / 2:.1f}"
    name = svg.text(one_line(label, LONGEST), x=middle, y=bottom + 40, text_anchor="middle")
    return [*svg.vertical_grid(axis, axis.ticks(), TOP, bottom), name]


def _point(number: int, place: str, **attributes: Any) -> str:
    """The marker of a class, in its colour."""
    shape, ink = SHAPES[number % len(SHAPES)], COLOURS[number % len(COLOURS)]
    where = f"translate({place})"
    return svg.element("path", transform=where, d=shape, fill=ink, **attributes)


def _regions(predict: Callable[[tt.Tensor], Any], x_axis: Axis, y_axis: Axis) -> list[str]:
    """The background in the colours of predicted classes: runs of equal cells, row by row."""
    cells = 96
    xs = np.linspace(x_axis.low, x_axis.high, cells, dtype=np.float32)
    ys = np.linspace(y_axis.low, y_axis.high, cells, dtype=np.float32)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)  # (cells, cells, 2) → (cells², 2)
    with tt.no_grad():
        classes = _array(predict(tt.from_numpy(grid))).reshape(cells, cells)
    wide = (x_axis.end - x_axis.begin) / cells
    high = (y_axis.end - y_axis.begin) / cells  # negative: upwards
    runs: dict[int, list[str]] = {}
    for i, row in enumerate(classes):
        starts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), cells]
        for start, stop in zip(starts, starts[1:]):
            x, y, length = x_axis.begin + start * wide, y_axis.begin + i * high, stop - start
            run = f"M{x:.1f} {y:.2f}h{length * wide:.1f}v{high:.2f}h{-length * wide:.1f}z"
            runs.setdefault(int(row[start]), []).append(run)
    inks = {number: COLOURS[number % len(COLOURS)] for number in runs}
    return [
        svg.element("path", fill=inks[number], opacity=0.16, d="".join(paths))
        for number, paths in runs.items()
    ]


def _png(picture: np.ndarray) -> bytes:
    """The bytes of a PNG file: (H, W), (1, H, W) or (3, H, W), from 0 to 1."""
    if picture.ndim == 2:
        picture = picture[None]
    if picture.ndim != 3 or picture.shape[0] not in (1, 3):
        raise ValueError(
            f"plots.images: got shape {picture.shape}, expected (H, W), (1, H, W) or (3, H, W)"
        )
    channels, height, width = picture.shape
    levels = np.nan_to_num(255 * picture.astype(float)).clip(0, 255).round().astype(np.uint8)
    rows = levels.transpose(1, 2, 0).reshape(height, width * channels)  # (C, H, W) → (H, W·C)
    scanlines = np.pad(rows, ((0, 0), (1, 0))).tobytes()  # each starts with its filter, 0: none
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    blocks = {b"IHDR": header, b"IDAT": zlib.compress(scanlines, 9), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in blocks.items()
    )


def _write(path: Path, width: float, height: float, title: str, parts: list[str]) -> None:
    title = one_line(title)
    width = max(width, 24 + 1.3 * LETTER * len(title))  # make room for a long title
    wide, high = f"{width:.0f}", f"{height:.0f}"
    head = [
        svg.background(wide, high),
        svg.text(title, x=14, y=25, font_size=15, font_weight="bold"),
    ]
    picture = svg.document(
        head + parts, viewBox=f"0 0 {wide} {high}", width=wide, height=high,
        font_family=svg.FONTS, font_size=12, fill=svg.INK,
    )  # fmt: skip
    write_text(path, picture)


__all__ = ["bars", "heat_map", "images", "lines", "scatter"]
