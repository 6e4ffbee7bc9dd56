"""The gallery, examples/README.md: a row for each example, with its picture and its result."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from .test_examples import EXAMPLES, FOLDER, assert_drawn

ROOT = FOLDER.parent
TARGET = re.compile(r"^    target: float = (\S+)$", re.MULTILINE)
RESULT = re.compile(r"<br>(\w+) (\S+), target (\S+); (\d+) s")


def load_gallery() -> ModuleType:
    """docs/gallery.py, a script."""
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "gallery.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery = load_gallery()
PAGE = (FOLDER / "README.md").read_text("utf-8")


def row(name: str) -> str:
    (found,) = [line for line in PAGE.splitlines() if f"**[{name}]({name}.py)**" in line]
    return found


def test_the_page_is_what_the_script_writes() -> None:
    assert gallery.page() == PAGE


def test_nothing_is_kept_of_examples_that_are_gone() -> None:
    known = {*EXAMPLES, *gallery.ALSO}
    assert set(gallery.kept_results()) <= known
    assert {path.stem for path in gallery.PICTURES.iterdir()} - {"results"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_picture(name: str) -> None:
    found = re.match(r"\| !\[\w+\]\(([^)]+)\) \|", row(name))
    assert found, f"{name} has no picture: python docs/gallery.py {name}"
    picture: Path = (FOLDER / found[1]).resolve()
    assert_drawn(picture)
    assert picture.stat().st_size < 1_000_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_result(name: str) -> None:
    """The row says what a run reached, and the target is still that of the script."""
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    found = RESULT.search(row(name))
    assert found, f"{name} has no result: python docs/gallery.py {name}"
    value, target = float(found[2]), float(found[3])
    (stated,) = TARGET.findall(text)
    assert target == float(stated)
    assert value <= target if "lower_is_better = True" in text else value >= target


@pytest.mark.parametrize("command", gallery.ALSO)
def test_second_runs(command: str) -> None:
    found = RESULT.match(row(command.split()[0]).split(f"{gallery.command_line(command)}`")[1])
    assert found, f"{command} has no result: python docs/gallery.py {command!r}"
