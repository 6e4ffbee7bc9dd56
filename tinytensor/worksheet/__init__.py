"""Worksheets: forward and backward passes to compute by hand, checked as they are filled in.

    graph.worksheet("attention-backward", "sheet.html", seed=7)     # and sheet-key.html

sheet       Sheet: cells, matrices and the steps between them
numbers     numbers as they are written by hand: 3, −0.25, 1/3
rules       the rules of one step: products, sums, functions
named       all rules, under their names
kinds       the registry of kinds; draws numbers until all answers are clean
layers      kinds: products, networks, skip connections
attention   kinds: attention heads and transformer blocks
norms       kinds: batch norm, layer norm
choices     kinds: cross-entropy, sampling, experts
nets        kinds: recurrent networks, graph convolution
stack       where matrices stand on the sheet
page        the sheet as HTML
data        the sheet as JSON
xlsx        the sheet as a spreadsheet
assets/     the style and scripts of the page
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..graph.files import write_text
from ..graph.pages.html import Page, write_page
from ..text import one_line
from . import attention, choices, layers, nets, norms
from .data import as_json
from .kinds import KINDS, SIZES, find, make
from .page import html
from .sheet import Sheet

FAMILIES = (attention, choices, layers, nets, norms)  # importing them fills KINDS
LONGEST = 40  # characters of a student's name in a file name, which may have 255 bytes
SUFFIXES = (".html", ".json", ".xlsx")


class Worksheet(Page):
    """A worksheet: the page with blanks, `html`, and the page with the answers, `key`."""

    def __init__(self, sheet: Sheet, about: dict[str, Any]):
        self.about = about
        self.sheet = sheet
        line = f"Worksheet: {about['kind']}, {about['size']}, seed {about['seed']}"
        line += ", e = 3" if about["e"] == 3 else ""
        super().__init__(html(sheet, about["title"], line))
        self.key = html(sheet, about["title"], line, key=True)
        self.key_path: Path | None = None

    def summary(self) -> str:
        return f"{self.about['title']}, {sum(1 for _ in self.sheet.blanks)} blanks"

    def write(self, path: str | os.PathLike, key: bool = True) -> None:
        """Write the sheet as .html, .json or .xlsx, and its answers beside it, as NAME-key."""
        path = _checked(path)
        self.path = self._write(path, False)
        if key:
            self.key_path = self._write(path.with_name(f"{path.stem}-key{path.suffix}"), True)

    def _write(self, path: Path, key: bool) -> Path:
        suffix = path.suffix.lower()
        if suffix == ".html":
            return write_page(path, self.key if key else self.html)
        if suffix == ".json":
            return write_text(path, as_json(self.sheet, self.about, key))
        from .xlsx import write_xlsx

        return write_xlsx(path, self.sheet, self.about, key)


def worksheet(
    kind: str,
    path: str | os.PathLike | None = "worksheet.html",
    *,
    size: str = "small",
    seed: int = 0,
    e_is_3: bool = False,
    student: str = "",
) -> Worksheet:
    """Write a worksheet to fill in by hand, and a second file with its answers.

    kind: one of KINDS, such as "backprop" or "attention-backward".
    path: the sheet's file, .html, .json or .xlsx; answers go to NAME-key; None writes nothing.
    size: "small", "medium" or "large". seed: equal seeds give equal sheets, byte for byte.
    e_is_3: softmax uses 3 for e, so that its answers are fractions.
    student: the name printed on the sheet.

    Pages and spreadsheets contain the answers, to check what is typed; a printed sheet does not.

        graph.worksheet("attention-backward", "sheet.html", seed=7, e_is_3=True)
    """
    found = find(kind, size, seed, e_is_3)
    if path is not None:
        _checked(path)
    student = one_line(student)
    title = f"{found.title}, for {student}" if student else found.title
    about = {
        "title": title,
        "kind": kind,
        "size": size,
        "seed": seed,
        "e": 3 if e_is_3 else "e",
        "student": student,
    }
    made = Worksheet(make(kind, size, seed, e_is_3), about)
    if path is not None:
        made.write(path)
    return made


def worksheets(
    kind: str,
    path: str | os.PathLike,
    students: int | Sequence[str],
    *,
    size: str = "small",
    seed: int = 0,
    e_is_3: bool = False,
) -> list[Worksheet]:
    """One worksheet for each student, each with its own seed: seed, seed + 1 …

    students: how many, or their names. sheet.html becomes sheet-01.html or sheet-ada.html.
    """
    path = _checked(path)
    if isinstance(students, int):
        if students < 1:
            raise ValueError(f"worksheet: got {students} students, expected at least 1")
        digits = max(2, len(str(students)))
        people = [("", f"{number:0{digits}}") for number in range(1, students + 1)]
    else:
        people = [(name, _file_name(name)) for name in students]
        marks = [mark for _, mark in people]
        if not people or "" in marks or len(set(marks)) < len(marks):
            raise ValueError(
                f"worksheet: got the students {one_line(', '.join(students))!r}, expected names "
                "that give each a file of its own"
            )
    return [
        worksheet(
            kind, path.with_name(f"{path.stem}-{mark}{path.suffix}"),
            size=size, seed=seed + number, e_is_3=e_is_3, student=name,
        )
        for number, (name, mark) in enumerate(people)
    ]  # fmt: skip


def _file_name(student: str) -> str:
    """A student's name in a file name: at most LONGEST letters, digits and dashes."""
    return re.sub(r"[^\w]+", "-", student.strip().lower()).strip("-")[:LONGEST]


def _checked(path: str | os.PathLike) -> Path:
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"worksheet: got the file {path}, expected a name that ends in {', '.join(SUFFIXES)}"
        )
    return path


__all__ = ["KINDS", "SIZES", "SUFFIXES", "Worksheet", "worksheet", "worksheets"]
