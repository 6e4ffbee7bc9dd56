"""A worksheet as a spreadsheet that checks itself. Needs openpyxl.

The workbook has three pages of the same layout: `Worksheet` to fill in, `Check` with right or wrong
for each blank, and, hidden, `Answers`, whose formulas compute the answers from the given numbers.
The key has only the answers.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

from ..graph.files import write_bytes
from ..text import clean
from .sheet import Cell, Grid, Sheet, SheetStep
from .stack import Row, rows

FIRST_ROW = 5
COLOURS = {"weight": "FFE9C7", "input": "D9ECFF", "gradient": "FBE3D0", "value": "FFFFFF"}
RIGHT, WRONG, LINE, QUIET = "CDEFE2", "FBD9D3", "8B94A3", "566072"
TIME = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
HOW = "Fill in the boxes: green is right, red is wrong. Write fractions as =1/3."


def write_xlsx(path: str | os.PathLike, sheet: Sheet, about: dict[str, Any], key: bool) -> Path:
    """Write the workbook; the same sheet always gives the same bytes."""
    try:
        import openpyxl
    except ImportError:
        raise ImportError(
            "worksheet: .xlsx needs openpyxl; run `pip install openpyxl`, or write .html"
        ) from None
    book = openpyxl.Workbook()
    answers = book.active
    answers.title = "Answers"
    places = _Places(sheet)
    _Page(answers, sheet, places, about["title"]).write(places.answer)
    if not key:
        blank = book.create_sheet("Worksheet", 0)
        page = _Page(blank, sheet, places, about["title"])
        page.write(lambda cell, step, i, j: None)
        page.colour_verdicts()
        checks = book.create_sheet("Check", 1)
        _Page(checks, sheet, places, about["title"]).write(places.check)
        count = sum(1 for _ in sheet.blanks)
        blank["A2"] = f'=COUNTIF(Check!A{FIRST_ROW}:{places.corner},"right")&" of {count} right"'
        blank["A3"] = HOW
        answers.sheet_state = "hidden"
        book.active = 0
    return write_bytes(path, _timeless(book))


def _timeless(book: Any) -> bytes:
    """The bytes of the file, without the time of writing."""
    made, plain = io.BytesIO(), io.BytesIO()
    book.save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "docProps/core.xml":
                content = re.sub(
                    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2000-01-01T00:00:00Z", content
                )
            new.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return plain.getvalue()


class _Places:
    """The place of every cell, and the formulas that refer to it."""

    def __init__(self, sheet: Sheet):
        self.left_width = max([s.left.shape[1] for s in sheet.steps if s.left is not None] or [1])
        self.stack_at = 3 + self.left_width  # a column; the first has names, and one is empty
        self.stack_width = max(max(s.top.shape[1], s.result.shape[1]) for s in sheet.steps)
        self.text_at = self.stack_at + self.stack_width + 1
        self.rows: list[tuple[int, Row | str]] = []  # rows of the spreadsheet, with their contents
        self._of: dict[int, str] = {}  # id of a cell → its first place, such as D7
        at = FIRST_ROW
        for section in sheet.sections:
            self.rows.append((at, f"{section.title}. {section.text}".strip()))
            at += 2
            for row in rows(section):
                at -= row.only_ones  # right below its matrix
                self.rows.append((at, row))
                self._put(row, at)
                left = row.step.left if row.step is not None else None
                at += max(row.stack.shape[0], left.shape[0] if left is not None else 0) + 1
        self.corner = f"{_letter(self.text_at)}{at}"

    def _put(self, row: Row, at: int) -> None:
        grids = [(row.stack, self.stack_at)]
        if row.step is not None and row.step.left is not None:
            grids.append((row.step.left, self.left_at(row.step.left)))
        for grid, column in grids:
            for i, cells in enumerate(grid.cells):
                for j, cell in enumerate(cells):
                    self._of.setdefault(id(cell), f"{_letter(column + j)}{at + i}")

    def left_at(self, grid: Grid) -> int:
        """The column of a matrix on the left, so that it ends beside the stack."""
        return 2 + self.left_width - grid.shape[1]

    def of(self, cell: Cell) -> str:
        return self._of[id(cell)]

    def answer(self, cell: Cell, step: SheetStep, i: int, j: int) -> str:
        """The formula of an answer."""
        left, top = ([[self.of(c) for c in row] for row in grid.cells] if grid is not None else []
                     for grid in (step.left, step.top))  # fmt: skip
        return "=" + step.rule.formula(i, j, left, top)

    def check(self, cell: Cell, step: SheetStep, i: int, j: int) -> str:
        """right, wrong, or nothing yet."""
        at = self.of(cell)
        near = f"ABS(Worksheet!{at}-Answers!{at})<={cell.tolerance:.6g}"
        verdict = f'IFERROR(IF({near},"right","wrong"),"wrong")'
        return f'=IF(ISBLANK(Worksheet!{at}),"",{verdict})'


def _letter(column: int) -> str:
    from openpyxl.utils import get_column_letter

    return get_column_letter(column)


class _Page:
    """Writes one page of the workbook."""

    def __init__(self, page: Any, sheet: Sheet, places: _Places, title: str):
        from openpyxl.styles import Font

        self.page, self.sheet, self.places = page, sheet, places
        self.bold, self.quiet = Font(bold=True), Font(color=QUIET)
        self._text(1, 1, title).font = Font(bold=True, size=14)
        page.column_dimensions["A"].width = 16
        for column in range(2, places.text_at):
            page.column_dimensions[_letter(column)].width = 8
        page.column_dimensions[_letter(places.text_at)].width = 60

    def write(self, blank: Any) -> None:
        """Write all rows. blank: a function of (cell, step, i, j) for the content of a blank."""
        for at, row in self.places.rows:
            if isinstance(row, str):
                self._text(at, 1, row).font = self.bold
                continue
            column, step = self.places.stack_at, row.step
            if step is None:
                self._grid(row.stack, at, column)
                self._text(at, self.places.text_at, row.stack.name).font = self.quiet
                continue
            self._text(at, 1, step.beside)
            if step.left is not None:
                self._grid(step.left, at, self.places.left_at(step.left))
            self._text(at, self.places.text_at, step.formula)
            for i, cells in enumerate(step.result.cells):
                for j, cell in enumerate(cells):
                    self._box(at + i, column + j, blank(cell, step, i, j), "value", "medium")

    def _text(self, row: int, column: int, text: str) -> Any:
        """A text cell, even if the text begins like a formula."""
        cell = self.page.cell(row, column, clean(text))
        if cell.data_type == "f":
            cell.data_type, cell.quotePrefix = "s", True
        return cell

    def _grid(self, grid: Grid, at: int, column: int) -> None:
        """Numbers that are given, or copied from the blanks above."""
        for i, cells in enumerate(grid.cells):
            for j, cell in enumerate(cells):
                place = self.places.of(cell)
                here = f"{_letter(column + j)}{at + i}"
                given = cell.given or place == here
                copied = f'=IF(ISBLANK({place}),"",{place})'
                value = cell.value if given else copied
                self._box(at + i, column + j, value, grid.role if given else "value", "thin")

    def _box(self, row: int, column: int, value: Any, role: str, line: str) -> None:
        from openpyxl.styles import Alignment, Border, PatternFill, Side

        side = Side(style=line, color=LINE)
        box = self.page.cell(row, column, value)
        box.border = Border(side, side, side, side)
        box.fill = PatternFill("solid", start_color=COLOURS[role])
        box.alignment = Alignment(horizontal="center")

    def colour_verdicts(self) -> None:
        """Colour right answers green and wrong ones red."""
        from openpyxl.formatting.rule import FormulaRule
        from openpyxl.styles import PatternFill

        for step in self.sheet.steps:
            first, last = (self.places.of(step.result.cells[i][i]) for i in (0, -1))
            for word, colour in (("right", RIGHT), ("wrong", WRONG)):
                fill = PatternFill("solid", start_color=colour, end_color=colour)
                rule = FormulaRule(formula=[f'Check!{first}="{word}"'], fill=fill)
                self.page.conditional_formatting.add(f"{first}:{last}", rule)


__all__ = ["write_xlsx"]
