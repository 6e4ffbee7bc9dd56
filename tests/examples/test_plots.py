"""The pictures of the examples: what is drawn where, odd values, and files that cannot be drawn."""

from __future__ import annotations

import base64
import importlib.util
import re
import zlib
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

import tinytensor as tt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> ModuleType:
    """A module of the examples, which are scripts beside each other and not a package."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plots, digits = load("plots"), load("digits").digits

SVG = "{http://www.w3.org/2000/svg}"


def elements(path: Path, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.parse(path).getroot().iter(SVG + tag))


def texts(path: Path) -> list[str]:
    return [element.text or "" for element in elements(path, "text")]


def test_lines_have_names_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "lines.svg"
    steps = range(4)
    curves = {"a < b": (steps, tt.arange(4)), "falling": (steps, [3.0, 2.0, 1.0, 0.0])}
    plots.lines(path, curves, "Two & two", "step", "loss")
    assert {"a < b", "falling", "Two & two", "step", "loss"} <= set(texts(path))
    rising, falling = (_heights(line) for line in elements(path, "polyline"))
    assert rising == sorted(rising, reverse=True) and falling == sorted(falling)  # y goes down
    assert rising == falling[::-1]


def _heights(line: ElementTree.Element) -> list[float]:
    return [float(place.split(",")[1]) for place in line.attrib["points"].split()]


def test_lines_leave_out_what_cannot_be_drawn(tmp_path: Path) -> None:
    path = tmp_path / "lines.svg"
    values = [1.0, float("nan"), float("inf"), 0.0, 100.0]
    plots.lines(path, {"one": (range(5), values)}, "", "", "", log_y=True)
    assert len(_heights(elements(path, "polyline")[0])) == 2
    with pytest.raises(ValueError, match=r"plots.lines: .*none.svg has no point to draw"):
        plots.lines(tmp_path / "none.svg", {"one": ([1], [float("nan")])}, "", "", "")


def test_bars_are_as_long_as_their_values(tmp_path: Path) -> None:
    path = tmp_path / "bars.svg"
    plots.bars(path, {"one": 1.0, "two": 2.0, "minus": -1.0}, "Bars", "value")
    one, two, minus = (float(r.attrib["width"]) for r in elements(path, "rect")[1:])
    assert two == pytest.approx(2 * one, abs=0.2) and minus == pytest.approx(one, abs=0.2)


def test_scatter_tints_the_plane_by_prediction(tmp_path: Path) -> None:
    path = tmp_path / "points.svg"
    points = tt.tensor([[-1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    plots.scatter(path, points, [0, 1, 1], "Points", predict=lambda p: (p[:, 0] > 0).int())
    tints = [e for e in elements(path, "path") if "opacity" in e.attrib]
    drawn = [e.attrib["fill"] for e in elements(path, "path") if "stroke-width" in e.attrib]
    assert len(tints) == 2
    assert drawn == [plots.COLOURS[0], plots.COLOURS[1], plots.COLOURS[1]]


def test_a_heat_map_has_its_names(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    plots.heat_map(path, tt.eye(2), ["the", "cat"], ["le", "chat"], "A title longer than the map")
    assert {"the", "cat", "le", "chat", "A title longer than the map"} <= set(texts(path))


@pytest.mark.parametrize("shape", [(2, 3), (1, 2, 3), (3, 2, 3)], ids=str)
def test_images_keep_their_pixels(shape: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "images.svg"
    levels = np.arange(np.prod(shape)).reshape(shape)  # n / 255 is level n, whatever the format
    plots.images(path, [levels / 255, levels / 255], 2, ["first", "second"])
    assert len(elements(path, "image")) == 2 and "second" in texts(path)
    data = base64.b64decode(elements(path, "image")[0].attrib["href"].split(",")[1])
    block = re.search(rb"IDAT(.*).{4}....IEND", data, re.DOTALL)
    assert block is not None
    rows = np.frombuffer(zlib.decompress(block[1]), np.uint8).reshape(2, -1)[:, 1:]
    expected = levels.reshape(-1, 2, 3).transpose(1, 2, 0).reshape(2, -1)
    assert rows.tolist() == expected.tolist()


def test_rows_of_images_have_names(tmp_path: Path) -> None:
    path = tmp_path / "images.svg"
    plots.images(path, [np.zeros((2, 2))] * 4, 2, row_names=["one", "the second"])
    places = {e.text: float(e.attrib["x"]) for e in elements(path, "text")}
    assert places["one"] == places["the second"] >= plots.LETTER * len("the second")
    lefts = [float(e.attrib["x"]) for e in elements(path, "image")]
    assert lefts[0] == lefts[2] > places["one"] and lefts[1] == lefts[3] > lefts[0]


def test_images_of_a_wrong_shape(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"plots.images: got shape \(4, 2, 2\), expected \(H, W\)"):
        plots.images(tmp_path / "images.svg", [np.zeros((4, 2, 2))], 1)


def test_digits_are_seeded_and_differ() -> None:
    tt.manual_seed(3)
    pictures, labels = digits(50, size=12)
    others, _ = digits(50, size=12)
    tt.manual_seed(3)
    again, same = digits(50, size=12)
    assert pictures.shape == (50, 1, 12, 12) and set(labels.tolist()) <= set(range(10))
    assert tt.equal(pictures, again) and tt.equal(labels, same)
    assert not tt.equal(pictures, others)
    ink = digits(50, noise=0.0)[0]
    assert ink.min() == 0 and ink.max() == 1
    assert 0.05 < ink.mean() < 0.4


@pytest.mark.parametrize("decades", [1, 5, 12, 30])
def test_logarithmic_ticks_leave_room(decades: int, tmp_path: Path) -> None:
    path = tmp_path / "lines.svg"
    plots.lines(path, {"one": ([0, 1], [1.0, 10.0**decades])}, "", "", "", log_y=True)
    numbers = [e for e in elements(path, "text") if e.attrib.get("text-anchor") == "end"]
    heights = sorted(float(number.attrib["y"]) for number in numbers)
    assert 3 <= len(heights) <= 12
    assert min(b - a for a, b in zip(heights, heights[1:])) > 12
