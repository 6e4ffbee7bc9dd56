"""The SVG module: escaped elements, documents and axes; and that no other file writes SVG tags."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tinytensor import svg

ROOT = Path(__file__).parent.parent
HOSTILE = "<script>\"&'\x00"


def test_elements() -> None:
    assert svg.element("rect", x=1, stroke_width=0.5) == '<rect x="1" stroke-width="0.5"/>'
    assert svg.element("g", "<a/>", class_="head") == '<g class="head"><a/></g>'
    assert svg.opening("g") == "<g>"
    assert svg.text("", x=1) == '<text x="1"></text>'


def test_text_and_attributes_are_escaped() -> None:
    parts = [svg.title(HOSTILE), svg.text(HOSTILE, id=HOSTILE)]
    picture = ElementTree.fromstring(svg.document(parts, width=3))
    shown = HOSTILE.replace("\x00", "�")
    assert [part.text for part in picture] == [shown, shown]
    assert picture[1].get("id") == shown and picture.get("width") == "3"


@pytest.mark.parametrize(
    ("values", "logarithmic", "ticks"),
    [
        ([0.0, 10.0], None, [0, 2, 4, 6, 8, 10]),
        ([1.0, 1000.0], None, [1, 10, 100, 1000]),
        ([1.0, 10.0], True, [1, 2, 5, 10]),
        ([3.0, 3.0], None, [1.5, 2, 2.5, 3, 3.5, 4, 4.5]),
    ],
    ids=["linear", "logarithmic by its range", "few decades", "one value"],
)
def test_ticks_are_round(values: list[float], logarithmic: bool | None, ticks: list[float]) -> None:
    axis = svg.Axis(values, 100, 0, logarithmic)
    assert axis.ticks() == pytest.approx(ticks)
    assert 0 < axis(values[1]) <= axis(values[0]) < 100


def test_grids_have_a_line_and_a_number_for_each_tick() -> None:
    axis = svg.Axis([0.0, 10.0], 0, 100)
    for parts in (svg.vertical_grid(axis, axis.ticks(), 5, 50), svg.horizontal_grid(axis, 5, 50)):
        numbers = re.findall(r">(\d+)</text>", "".join(parts))
        assert numbers == ["0", "2", "4", "6", "8", "10"]
        assert sum(part.startswith("<path") for part in parts) == 6


def test_one_module_writes_svg() -> None:
    folders = ("tinytensor", "nn", "examples", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    tags = re.compile(r"<(svg|rect|polyline|circle|text) ")
    assert [str(path) for path in files if tags.search(path.read_text("utf-8"))] == []
