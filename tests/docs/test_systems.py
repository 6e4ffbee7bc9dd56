"""docs/systems.md: what its links lead to is there, and nothing that is there is left out."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from examples.byhand import sheet as sheets
from tests.examples.test_examples import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "systems.md"

LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)#?([^)]*)\)")

sheets.load()


class Link(NamedTuple):
    """[name](path#anchor); the path is that of a file."""

    name: str
    path: Path
    anchor: str


class Row(NamedTuple):
    """One line of a table: a system, and the links of the three columns behind it."""

    number: int
    system: str
    code: list[Link]
    examples: list[Link]
    sheets: list[Link]


def links(text: str) -> list[Link]:
    found = LINK.findall(text)
    return [Link(name, (PAGE.parent / path).resolve(), anchor) for name, path, anchor in found]


def rows() -> list[Row]:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| \d+ \|", line)]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [Row(int(n), system, *map(links, others)) for n, system, *others in cells]


ROWS = rows()
CODE = {link.name: link for row in ROWS for link in row.code}


def find(name: str) -> Any:
    """What a dotted name stands for; a module only where the package has nothing of that name."""
    first, *others = name.split(".")
    found, path = importlib.import_module(first), first
    for other in others:
        path = f"{path}.{other}"
        found = getattr(found, other, None) or importlib.import_module(path)
    return found


def test_the_rows_are_numbered_and_none_is_lost() -> None:
    assert [row.number for row in ROWS] == list(range(1, 73))
    assert len({row.system for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[str(row.number) for row in ROWS])
def test_each_system_has_an_example_or_a_sheet(row: Row) -> None:
    assert row.examples or row.sheets
    missing = [link.path for link in row.code + row.examples + row.sheets if not link.path.exists()]
    assert not missing


@pytest.mark.parametrize("name", CODE)
def test_code_is_where_the_link_says(name: str) -> None:
    found = inspect.unwrap(find(name))
    assert CODE[name].path == Path(inspect.getsourcefile(found) or "").resolve()
    assert CODE[name].anchor == found.__qualname__


def test_one_name_has_one_link() -> None:
    every = {link for row in ROWS for link in row.code}
    assert len(every) == len(CODE)


def test_every_example_is_named() -> None:
    named = {link for row in ROWS for link in row.examples}
    assert {link.name for link in named} == set(EXAMPLES)
    assert all(link.path == ROOT / "examples" / f"{link.name}.py" for link in named)


def test_every_sheet_is_named() -> None:
    named = {link for row in ROWS for link in row.sheets}
    expected = set()
    for id, worksheet in sheets.WORKSHEETS.items():
        file = Path(inspect.getsourcefile(worksheet.work) or "").resolve()
        expected.add(Link(id, file, worksheet.work.__name__))
    assert named == expected
