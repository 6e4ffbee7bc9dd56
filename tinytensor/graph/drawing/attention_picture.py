"""Attention weights as an SVG picture, for papers, and as plain text, for terminals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import svg
from ...errors import ShapeError
from ...tensor import Tensor
from ...text import clean, cut, one_line
from ..files import write_text
from .palette import DIVERGING, SEQUENTIAL, colour, ink_on

Tokens = Sequence[str] | tuple[Sequence[str], Sequence[str]] | None

CELL, GAP, FONT = 24, 28, 11  # pixels: a cell, the space around each head, the height of letters
LETTER = 0.62 * FONT  # about the width of a letter
LEVELS = 64  # colours of a ramp; the cells of one colour are one path
LONGEST = 40  # characters of a token
MOST_NUMBERS = 10  # with up to this many columns, cells show their numbers
SHADES = " ░▒▓█"
LINE = "#9aa3b0"
HATCHING = svg.element(  # of cells that are NaN
    "defs",
    svg.element(
        "pattern", svg.element("path", d="M0 5L5 0", stroke=LINE),
        id="none", width=5, height=5, patternUnits="userSpaceOnUse",
    ),
)  # fmt: skip


def attention_svg(
    weights: Any,
    tokens: Tokens = None,
    path: str | os.PathLike | None = None,
    title: str = "",
) -> str:
    """A heat map of attention as SVG text; with a path, it is also written to that file.

    weights: (L, S), a row for each query, or (heads, L, S): heads side by side. Values that go
    below zero, such as gradients, get a palette with zero in its middle. NaN is hatched.
    tokens: names of the positions, or a pair (of the rows, of the columns).

        graph.attention_svg(A[0], list("hello"), "attention.svg")
    """
    heads, rows, columns = _checked("attention_svg", weights, tokens)
    title = one_line(title)
    left = GAP / 2 + LETTER * max(map(len, rows), default=0)
    upright = max(map(len, columns), default=0) * LETTER < CELL - 4
    above = FONT + 6 if upright else LETTER * max(map(len, columns)) + 8
    top = GAP / 2 + (FONT * 1.8 if title or len(heads) > 1 else 0) + above
    step = left + CELL * len(columns) + GAP
    width, height = step * len(heads), top + CELL * len(rows) + GAP
    size = f"{width:.0f}", f"{height:.0f}"
    parts = [svg.title(title or "Attention"), HATCHING, svg.background(*size)]
    for number, head in enumerate(heads):
        name = " ".join(
            part for part in (title, f"head {number}" if len(heads) > 1 else "") if part
        )
        place = f"translate({number * step + left:.1f} {top:.1f})"
        parts.append(svg.opening("g", transform=place))
        parts += _head(head, rows, columns, name, above, upright)
        parts.append("</g>")
    text = svg.document(
        parts, viewBox=f"0 0 {size[0]} {size[1]}", width=size[0], height=size[1],
        font_family=svg.FONTS, font_size=FONT,
    )  # fmt: skip
    if path is not None:
        write_text(path, text)
    return text


def _head(
    head: np.ndarray, rows: list[str], columns: list[str], name: str, above: float, upright: bool
) -> list[str]:
    """One head, its first cell at (0, 0)."""
    ramp, shares = _colours(head)
    cells: dict[str, list[str]] = {}
    for (i, j), share in np.ndenumerate(shares):
        fill = "url(#none)" if np.isnan(share) else colour(ramp, round(share * LEVELS) / LEVELS)
        cells.setdefault(fill, []).append(f"M{j * CELL} {i * CELL}h{CELL}v{CELL}h-{CELL}z")
    parts = [svg.element("path", fill=fill, d="".join(paths)) for fill, paths in cells.items()]
    wide, high = CELL * len(columns), CELL * len(rows)
    parts.append(svg.element("rect", width=wide, height=high, fill="none", stroke=LINE))
    if name:
        parts.append(svg.text(name, y=f"{-above - 4:.1f}", font_weight="bold"))
    for i, token in enumerate(rows):
        y = (i + 0.5) * CELL + FONT * 0.35
        parts.append(svg.text(token, x=-5, y=f"{y:.1f}", text_anchor="end"))
    for j, token in enumerate(columns):
        x = (j + 0.5) * CELL
        if upright:
            parts.append(svg.text(token, x=f"{x:.1f}", y=-5, text_anchor="middle"))
        else:
            turned = f"translate({x + FONT * 0.35:.1f} -5) rotate(-90)"
            parts.append(svg.text(token, transform=turned))
    if len(columns) <= MOST_NUMBERS:
        parts += _numbers(head, ramp, shares)
    return parts


def _numbers(head: np.ndarray, ramp: Any, shares: np.ndarray) -> list[str]:
    """The values, written in their cells without the 0 before the point."""
    parts = []
    digits = 1 if (head <= -0.995).any() else 2  # a cell has room for four characters
    for (i, j), value in np.ndenumerate(head):
        if np.isnan(value):
            continue
        size = abs(value)
        text = f"{value:.{digits}f}" if size < 9.95 else f"{value:.0e}".replace("e+0", "e")
        text = text.replace("0.", ".", 1).replace("-", "−") if value else "0"
        ink = ink_on(colour(ramp, float(shares[i, j])))
        x, y = f"{(j + 0.5) * CELL:.1f}", f"{(i + 0.5) * CELL + 3:.1f}"
        parts.append(svg.text(text, x=x, y=y, font_size=8, text_anchor="middle", fill=ink))
    return parts


def _colours(head: np.ndarray) -> tuple[Any, np.ndarray]:
    """The ramp, and the place of each value on it, 0 … 1; NaN for values that are not finite."""
    finite = np.where(np.isfinite(head), head, np.nan)
    largest = float(np.nanmax(abs(finite), initial=0.0)) if np.isfinite(head).any() else 0.0
    if (head < 0).any():
        return DIVERGING["light"], 0.5 + finite / (2 * largest or 1.0)
    return SEQUENTIAL["light"], finite / (largest or 1.0)


def attention_text(weights: Any, tokens: Tokens = None) -> str:
    """A heat map of attention in plain text: shades for weights, and a sign if there are two.

    weights and tokens as in `attention_svg`; heads are one below the other.

        print(graph.attention_text(A[0, 0], list("hello")))
    """
    heads, rows, columns = _checked("attention_text", weights, tokens)
    margin = max(map(len, rows), default=0)
    lines = []
    for number, head in enumerate(heads):
        if len(heads) > 1:
            lines += ["", f"head {number}"] if number else [f"head {number}"]
        lines += _header(columns, margin)
        _, shares = _colours(head)
        diverging = bool((head < 0).any())
        for token, row in zip(rows, shares):
            cells = "".join(_shade(share, diverging) for share in row)
            lines.append(f"{token:>{margin}} │{cells}│")
        finite = head[np.isfinite(head)]
        largest = float(abs(finite).max()) if finite.size else 0.0
        scale = f"{SHADES[1]} … {SHADES[-1]}: up to {largest:.3g}"
        lines.append(f"{'':>{margin}}  {scale}" + (", − below zero" if diverging else ""))
    return "\n".join(lines) + "\n"


def _header(columns: list[str], margin: int) -> list[str]:
    """The names of the columns, written downwards, with their last letters on one line."""
    tall = max(map(len, columns), default=0)
    padded = [token.rjust(tall) for token in columns]
    return [
        f"{'':>{margin}}  {''.join(token[line] + ' ' for token in padded)}".rstrip()
        for line in range(tall)
    ]


def _shade(share: float, diverging: bool) -> str:
    """Two characters for one cell."""
    if np.isnan(share):
        return "××"
    size = abs(2 * share - 1) if diverging else share
    shade = SHADES[round(size * (len(SHADES) - 1))]
    if not diverging:
        return shade * 2
    return ("−" if share < 0.5 and shade != " " else " " if shade == " " else "+") + shade


def _checked(name: str, weights: Any, tokens: Tokens) -> tuple[np.ndarray, list[str], list[str]]:
    """Heads (H, L, S), and the names of rows and columns."""
    array = weights.numpy(force=True) if isinstance(weights, Tensor) else np.asarray(weights)
    if array.ndim not in (2, 3) or array.dtype.kind not in "fiub":
        raise ShapeError(
            f"{name}: weights have shape {array.shape} and dtype {array.dtype}, expected numbers "
            "(L, S) or (heads, L, S); select one sample of a batch with weights[0]"
        )
    heads = array.astype(float).reshape(-1, *array.shape[-2:])  # (L, S) → (1, L, S)
    of_rows, of_columns = _pair(tokens)
    return heads, _names(name, of_rows, heads.shape[1]), _names(name, of_columns, heads.shape[2])


def _pair(tokens: Tokens) -> tuple[Any, Any]:
    if isinstance(tokens, tuple) and len(tokens) == 2 and not isinstance(tokens[0], str):
        return tokens
    return tokens, tokens


def _names(name: str, tokens: Sequence[str] | None, count: int) -> list[str]:
    if tokens is None:
        return [str(i) for i in range(count)]
    if len(tokens) != count:
        raise ValueError(
            f"{name}: got {len(tokens)} tokens, expected {count}; pass (row tokens, column tokens) "
            "if they differ"
        )
    # One line each, without space around it.
    return [cut(" ".join(clean(token).split()), LONGEST) or "␣" for token in tokens]


__all__ = ["attention_svg", "attention_text"]
