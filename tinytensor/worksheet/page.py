"""A worksheet as a page: matrices on a grid, blanks to type into, or the answers in their place.

Each row of the grid has a name, a matrix on the left, a matrix of the stack that grows downwards,
and the equation. A product finds its left factor beside it, its right factor on top.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..graph.pages.html import page
from ..text import escape
from .numbers import written
from .rules import Relu
from .sheet import Cell, Grid, Section, Sheet
from .stack import Row, rows

ASSETS = Path(__file__).parent / "assets"
STYLES = [ASSETS / "worksheet.css"]
SCRIPTS = [ASSETS / "worksheet-check.js", ASSETS / "worksheet.js"]

INTRODUCTION = (
    "Fill in the boxes: whole numbers, decimals or fractions such as 1/3. "
    "Each is checked when you leave it; <kbd>Enter</kbd> and the arrow keys lead on. "
    "Numbers that you have found stand wherever they are needed again."
)


def html(sheet: Sheet, title: str, about: str, key: bool = False) -> str:
    """The text of the page. about: kind, size and seed, in one line. key: with all answers."""
    body = "".join(
        [
            '<main class="worksheet">',
            '<p class="who">Name <span></span> Date <span></span></p>',
            "<p>All answers.</p>" if key else f'<p class="no-print">{INTRODUCTION}</p>',
            *(_Room(section, key).html() for section in _numbered(sheet)),
            f'<p class="about quiet">{escape(about)}</p></main>',
        ]
    )
    if key:
        return page(f"{title}: answers", body, {}, STYLES)
    return page(title, body, {"worksheet": {"about": about, **data(sheet)}}, STYLES, SCRIPTS)


def data(sheet: Sheet) -> dict[str, Any]:
    """The data by which the page checks answers: blanks by number, steps in order."""
    blanks = {}
    strikes = {}
    for number, step in enumerate(sheet.steps):
        for i, row in enumerate(step.result.cells):
            for j, cell in enumerate(row):
                blanks[cell.number] = {
                    "step": number,
                    "row": i + 1,
                    "column": j + 1,
                    "answer": cell.value,
                    "text": written(cell.value),
                    "tolerance": cell.tolerance,
                    "mistakes": cell.mistakes,
                }
                above = step.top.cells[i][j] if isinstance(step.rule, Relu) else None
                if above is not None and above.value < 0:
                    strikes[cell.number] = above.number
    return {"blanks": blanks, "steps": [step.how for step in sheet.steps], "strikes": strikes}


def _numbered(sheet: Sheet) -> Iterator[tuple[int, Section]]:
    """Sections, each with the number of its first step."""
    first = 1
    for section in sheet.sections:
        yield first, section
        first += len(section.steps)


class _Room:
    """Writes one section of the page."""

    def __init__(self, numbered: tuple[int, Section], key: bool):
        self.first, self.section = numbered
        self.key = key
        self.struck = {
            id(cell)
            for step in self.section.steps
            if isinstance(step.rule, Relu)
            for row in step.top.cells
            for cell in row
            if cell.value < 0
        }

    def html(self) -> str:
        text = f"<p>{escape(self.section.text)}</p>" if self.section.text else ""
        paper = "".join(map(self._row, rows(self.section)))
        title = escape(self.section.title)
        return f'<section><h2>{title}</h2>{text}<div class="paper">{paper}</div></section>'

    def _row(self, row: Row) -> str:
        step = row.step
        if step is None:
            kind = " ones" if row.only_ones else ""
            return (
                f"<div></div><div></div><div class='stack{kind}'>{self._table(row.stack)}</div>"
                f"<div class='equation name'>{escape(row.stack.name)}</div>"
            )
        left = "" if step.left is None else self._table(step.left)
        number = self.first + self.section.steps.index(step)
        return (
            f"<div class='beside'>{escape(step.beside)}</div><div class='left'>{left}</div>"
            f"<div class='stack'>{self._table(step.result, home=True)}</div>"
            f"<div class='equation'><span class='count'>{number}</span> {escape(step.formula)}"
            f"<p class='hint' data-step='{number - 1}' hidden></p></div>"
        )

    def _table(self, grid: Grid, home: bool = False) -> str:
        lines = "".join(
            f"<tr>{''.join(self._cell(cell, home and label) for cell, label in row)}</tr>"
            for row in _labelled(grid)
        )
        bias = " bias" if grid.has_bias else ""
        label = f' aria-label="{escape(grid.name)}"' if grid.name else ""
        return f'<table class="grid {grid.role}{bias}"{label}>{lines}</table>'

    def _cell(self, cell: Cell, home: str | bool) -> str:
        """One cell. home: the label of a blank at the place where it is filled in."""
        text = written(cell.value)
        if cell.given:
            return f"<td class='one'>{text}</td>" if cell.is_one else f"<td>{text}</td>"
        if self.key:
            mark = " struck" if id(cell) in self.struck else ""
            return f"<td class='{'answer' if home else 'echo'}{mark}'>{text}</td>"
        if not home:
            return f"<td class='echo' data-echo='{cell.number}'></td>"
        label = escape(str(home))
        return (
            f"<td class='blank'><input type='text' id='blank-{cell.number}' aria-label='{label}'"
            " inputmode='text' autocomplete='off' spellcheck='false'></td>"
        )


def _labelled(grid: Grid) -> Iterator[list[tuple[Cell, str]]]:
    """The cells of a matrix, each with its label for screen readers."""
    for i, row in enumerate(grid.cells, 1):
        yield [(cell, f"{grid.name}, row {i}, column {j}") for j, cell in enumerate(row, 1)]


__all__ = ["data", "html"]
