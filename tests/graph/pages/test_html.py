"""The one-file page: nothing from outside, nothing from data becomes code, whole files."""

from __future__ import annotations

import json
import math
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tinytensor.graph.drawing import palette
from tinytensor.graph.files import write_text
from tinytensor.graph.pages.html import page, to_json, write_page

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 & \" '"


class Scripts(HTMLParser):
    """The attributes and texts of a page's <script> elements."""

    def __init__(self, html: str):
        super().__init__()
        self.found: list[tuple[dict, str]] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.inside = tag == "script"
        if self.inside:
            self.found.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.inside:
            attributes, text = self.found[-1]
            self.found[-1] = attributes, text + data

    def handle_endtag(self, tag: str) -> None:
        self.inside = False


def test_hostile_data_and_title_stay_text() -> None:
    html = page(HOSTILE, "<main></main>", {"labels": [HOSTILE]})
    blocks = {a["id"]: text for a, text in Scripts(html).found if "id" in a}
    assert json.loads(blocks["data-labels"]) == [HOSTILE]
    assert "alert(1)" not in "".join(text for a, text in Scripts(html).found if "id" not in a)
    assert "<script>alert" not in html


def test_nothing_is_fetched() -> None:
    html = page("Title", "<main></main>")
    addresses = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'\s>]+)""", html)
    assert set(addresses) == {"data:,"}
    assert "default-src 'none'" in html and "unsafe-inline'; script" not in html
    assert "@import" not in html and "url(" not in html


def test_the_policy_allows_the_scripts_that_are_there() -> None:
    import base64
    import hashlib

    html = page("Title", "")
    codes = [text for attributes, text in Scripts(html).found if "id" not in attributes]
    assert len(codes) == 1
    digest = base64.b64encode(hashlib.sha256(codes[0].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in html


def test_numbers_that_json_does_not_know() -> None:
    value = {"a": [math.nan, math.inf, -math.inf, 1.5], 2: (True, None)}
    assert json.loads(to_json(value)) == {"a": ["nan", "inf", "-inf", 1.5], "2": [True, None]}


def test_writing_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert write_page(path, "first") == path and path.read_text() == "first"
    write_page(str(path), "café \ud800")
    assert path.read_text() == "café ?"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none" / "page.html"
    with pytest.raises(FileNotFoundError, match=r"graph: cannot write .*page\.html \(No such"):
        write_text(path, "text")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["SEQUENTIAL", "DIVERGING"])
def test_ramps_change_evenly_in_lightness(name: str, theme: str) -> None:
    """Each step darker or lighter than the last: the ramp reads in grey, whatever eyes see it."""
    ramp = getattr(palette, name)[theme]
    greys = [sum(w * palette._linear(c / 255) for w, c in zip((0.21, 0.72, 0.07), rgb))
             for rgb in map(palette._channels, ramp)]  # fmt: skip
    steps = [b - a for a, b in zip(greys, greys[1:])]
    half = steps if name == "SEQUENTIAL" else steps[:4]
    other = half if name == "SEQUENTIAL" else [-step for step in steps[4:]]
    sign = 1 if half[0] > 0 else -1
    assert all(sign * step > 0.002 for step in half + other)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "#000000"), (1.0, "#ffffff"), (0.5, "#808080"), (-3.0, "#000000"), (9.0, "#ffffff"),
     (math.nan, "#888888")],
    ids=str,
)  # fmt: skip
def test_colours_between_the_stops(share: float, expected: str) -> None:
    assert palette.colour(("#000000", "#808080", "#ffffff"), share) == expected


def test_ink_reads_on_its_background() -> None:
    assert palette.ink_on("#ffffff") == palette.ink_on("#90d498") == "#000000"
    assert palette.ink_on("#000000") == palette.ink_on("#0048a0") == "#ffffff"
