"""Hostile names through every picture, page and table: they parse, and names stay text.

What a writer makes of hostile names has no element or attribute that it does not also make of
ordinary ones, has no character that its format cannot hold, and shows the beginning of each name.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import nn
from tinytensor.graph.drawing.graphviz import is_there

from .names import NAMES, beginning, is_replaced, squeezed
from .writers import NEEDS_GRAPHVIZ, WRITERS

USABLE = [name for name in NAMES if not hasattr(nn.Module, name)]  # as the name of a module, too
PLAIN = [f"name {number}" for number in range(30)]
VOID = {"meta", "link", "br", "wbr", "img", "input"}


def test_there_are_many_names() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 220
    assert len(USABLE) > len(NAMES) - 3


@pytest.mark.parametrize("name", WRITERS)
def test_names_stay_text(name: str, tmp_path: Path) -> None:
    if name in NEEDS_GRAPHVIZ and not is_there():
        pytest.skip("needs Graphviz")
    if name == "spreadsheet":
        pytest.importorskip("openpyxl")
    write = WRITERS[name]
    (tmp_path / "plain").mkdir()
    (tmp_path / "hostile").mkdir()
    known: set[tuple] = set()
    for kind, output in write(PLAIN, tmp_path / "plain"):
        known |= read(kind, output)[0]
    for number, (kind, output) in enumerate(write(USABLE, tmp_path / "hostile")):
        structure, text = read(kind, output)
        assert structure <= known, f"output {number}, {kind}: {sorted(structure - known)}"
        wrong = sorted({c for c in text if is_replaced(c)})
        assert not wrong or kind == "jsonl", f"output {number}, {kind}: {wrong!r}"
        if kind.startswith("part"):
            continue
        shown = squeezed(text).replace("·", ".")
        missing = [n[:50] for n in USABLE if beginning(n).replace("·", ".") not in shown]
        assert not missing, f"output {number}, {kind}: {missing}"
        assert len(text) < 1_000_000 or kind == "jsonl"  # nothing is cut from a log


# ------------------------------------------------------------------------------------------
# Readers: (elements with the names of their attributes, all text)
# ------------------------------------------------------------------------------------------


def read(kind: str, output: Any) -> tuple[set[tuple], str]:
    if kind in ("svg", "part-svg"):
        return read_svg(output)
    if kind in ("html", "part"):
        return read_html(output)
    if kind == "dot":
        return set(), read_dot(output)
    if kind in ("xlsx", "part-xlsx"):
        return set(), read_xlsx(output)
    if kind == "jsonl":
        assert output.endswith("\n") and output.isascii()
        records = [json.loads(line, parse_constant=refused) for line in output.splitlines()]
        layers = [name for record in records if "layers" in record
                  for name in record["layers"]["grad_norm"]]  # fmt: skip
        names = [name for record in records for name in record]
        return set(), "\n".join(as_shown(name) for name in [*names, *layers])
    output.encode("utf-8")
    return set(), output


def as_shown(name: str) -> str:
    return "".join("�" if is_replaced(c) else c for c in name)


def refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def read_svg(text: str) -> tuple[set[tuple], str]:
    root = ElementTree.fromstring(text.encode("utf-8"))
    found = {(e.tag, *sorted(e.attrib)) for e in root.iter()}
    values = [value for e in root.iter() for value in e.attrib.values()]
    return found, "\n".join([*root.itertext(), *values])


class Reader(HTMLParser):
    """Elements, balanced; text, attributes and what is in blocks of JSON."""

    def __init__(self, text: str):
        super().__init__()
        self.found: set[tuple] = set()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.is_data = False
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.add((tag, *sorted(name for name, _ in attrs)))
        self.is_data = dict(attrs).get("type") == "application/json"
        self.texts += [value or "" for name, value in attrs if name not in ("content", "style")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            if self.is_data:
                self.texts += strings(json.loads(data, parse_constant=refused))
        elif self.open[-1:] != ["style"]:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in strings(part)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def read_html(text: str) -> tuple[set[tuple], str]:
    text.encode("utf-8")
    reader = Reader(text)
    return reader.found, "\n".join(reader.texts)


def read_dot(text: str) -> str:
    """The labels, each of which is balanced HTML; Graphviz itself reads them for `render`."""
    labels = re.findall(r"label=<(.*?)>(?:, tooltip|; style)", text)
    assert len(labels) == text.count("label=<") >= 30
    return "\n".join(read_html(label)[1] for label in labels)


def read_xlsx(path: Path) -> str:
    from openpyxl import load_workbook

    cells = [row[0] for row in load_workbook(path)["Answers"].iter_rows()]
    assert all(cell.data_type != "f" for cell in cells)
    return "\n".join(str(cell.value) for cell in cells)
