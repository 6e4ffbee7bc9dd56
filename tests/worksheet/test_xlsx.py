"""The spreadsheet of a worksheet: its formulas, worked out here, give the engine's answers."""

from __future__ import annotations

import builtins
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tinytensor import graph
from tinytensor.cli import main
from tinytensor.worksheet import KINDS

openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl: pip install openpyxl")


def choose(condition: Any, yes: Any, no: Any) -> Any:
    return yes if condition else no


class Book:
    """Works out the formulas of a workbook, those that worksheets use."""

    def __init__(self, path: Path):
        self.book = openpyxl.load_workbook(path)
        self.names = {
            "SUM": lambda *x: sum(x), "AVERAGE": lambda *x: sum(x) / len(x), "MAX": max, "ABS": abs,
            "SQRT": math.sqrt, "EXP": math.exp, "LN": math.log, "IF": choose,
            "ISBLANK": lambda x: x is None, "IFERROR": lambda x, other: x, "at": self.at,
        }  # fmt: skip

    def values(self, page: str, places: list[str]) -> list[Any]:
        self.known: dict[tuple[str, str], Any] = {}
        return [self.at(page, place) for place in places]

    def at(self, page: str, place: str) -> Any:
        if (page, place) not in self.known:
            self.known[page, place] = self.worked_out(page, place)
        return self.known[page, place]

    def worked_out(self, page: str, place: str) -> Any:
        value = self.book[page][place].value
        if not isinstance(value, str) or not value.startswith("="):
            return value
        if self.blank(page, value):
            return ""
        code = re.sub(
            r"(?:(\w+)!)?\b([A-Z]{1,2}\d+)\b",
            lambda m: f"at('{m[1] or page}','{m[2]}')",
            value[1:],
        )
        code = re.sub(r"(?<![<>=])=(?!=)", "==", code.replace("^", "**")).replace("<==", "<=")
        return eval(code, {"__builtins__": {}}, self.names)

    def blank(self, page: str, formula: str) -> bool:
        """IF(ISBLANK(…),"",…) of a blank: what comes after it cannot be worked out."""
        found = re.match(r"=IF\(ISBLANK\((?:(\w+)!)?([A-Z]+\d+)\),", formula)
        return found is not None and self.at(found[1] or page, found[2]) is None


def boxes(sheet: Any) -> list[str]:
    """Places of the blanks, which have the thick lines, in their order."""
    cells = (cell for row in sheet.iter_rows() for cell in row)
    return [cell.coordinate for cell in cells if cell.border.left.style == "medium"]


@pytest.mark.parametrize("name", KINDS)
def test_formulas_give_the_answers(name: str, tmp_path: Path) -> None:
    size = "small" if name in ("layers", "cross-entropy") else "medium"
    made = graph.worksheet(name, tmp_path / "sheet.xlsx", seed=1, size=size)
    for path, pages in (
        (made.path, ["Worksheet", "Check", "Answers"]),
        (made.key_path, ["Answers"]),
    ):
        assert path is not None
        book = Book(path)
        assert book.book.sheetnames == pages
        places = boxes(book.book["Answers"])
        answers = book.values("Answers", places)
        assert answers == pytest.approx([cell.value for cell in made.sheet.blanks])


def test_checks_say_right_wrong_or_nothing(tmp_path: Path) -> None:
    made = graph.worksheet("attention-backward", tmp_path / "sheet.xlsx", seed=1, e_is_3=True)
    assert made.path is not None
    book = Book(made.path)
    page = book.book["Worksheet"]
    places = boxes(page)
    cells = list(made.sheet.blanks)
    assert len(places) == len(cells) and all(page[place].value is None for place in places)
    assert set(book.values("Check", places)) == {""}
    for number, (place, cell) in enumerate(zip(places, cells)):
        page[place].value = cell.value + (number % 2)  # every second one is wrong
    verdicts = book.values("Check", places)
    assert verdicts == ["right", "wrong"] * (len(places) // 2)
    assert book.book["Answers"].sheet_state == "hidden"
    assert page["A2"].value.endswith(f'"right")&" of {len(places)} right"')
    assert page.conditional_formatting


def test_numbers_that_were_found_stand_again(tmp_path: Path) -> None:
    made = graph.worksheet("backprop", tmp_path / "sheet.xlsx", seed=1)
    assert made.path is not None
    book = Book(made.path)
    page = book.book["Worksheet"]
    places = boxes(page)
    copies = [
        cell.coordinate for row in page.iter_rows() for cell in row
        if isinstance(cell.value, str) and cell.value.startswith("=IF(ISBLANK(")
    ]  # fmt: skip
    assert copies and set(book.values("Worksheet", copies)) == {""}
    for place in places:
        page[place].value = 7
    assert set(book.values("Worksheet", copies)) == {7}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, monkeypatch: Any) -> None:
    import time

    graph.worksheet("rnn", tmp_path / "a.xlsx", seed=5)
    later = time.time() + 100_000
    monkeypatch.setattr(time, "time", lambda: later)
    graph.worksheet("rnn", tmp_path / "b.xlsx", seed=5)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    assert (tmp_path / "a-key.xlsx").read_bytes() == (tmp_path / "b-key.xlsx").read_bytes()


def test_without_openpyxl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert main(["worksheet", "matmul", "-o", str(tmp_path / "sheet.xlsx")]) == 1
    told = capsys.readouterr().err
    assert "pip install openpyxl" in told and told.count("\n") == 1
