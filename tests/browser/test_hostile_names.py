"""Hostile names in a real browser: no element, attribute or script comes of them.

Pages are opened without their policy, which would stop a script that a name has smuggled in. The
same page with ordinary names says which elements and attributes there may be.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import tinytensor as tt
from tinytensor import graph
from tinytensor.autograd import Function
from tinytensor.graph.drawing.graphviz import is_there
from tinytensor.graph.pages.html import frame

from ..injection.names import beginning, squeezed
from ..injection.test_writers import PLAIN, USABLE
from ..injection.writers import NEEDS_GRAPHVIZ, WRITERS

POLICY = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
# (element, attribute) of everything in the document, and all text of it, also of attributes.
PAIRS = """() => [...new Set([...document.querySelectorAll("*")].flatMap((e) =>
    ["", ...e.getAttributeNames()].map((name) => `${e.localName} ${name}`)))]"""
TEXT = """() => [...document.querySelectorAll("*")].flatMap((e) =>
    [...e.attributes].map((a) => a.value)).join("\\n") + document.documentElement.textContent"""
PANEL = "document.querySelector('#panel h2').textContent"
CRUMBS = "document.getElementById('crumbs').textContent"
DRAWN = "document.getElementById('graph').textContent"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def step_through(page: Any) -> str:
    """Walk, look at ops, open modules, search, save; all headings on the way."""
    for key in ("Home", *8 * ["ArrowRight"], "b", "End", "ArrowLeft", "w", "ArrowRight", "w"):
        page.keyboard.press(key)
    some = "Graph.nodes.filter((n) => n.id % 9 === 0 || n.id < 9)"  # pictures show the others
    nodes = page.evaluate(f"{some}.map((n) => (Search.actions.go(n.id), {PANEL}))")
    views = "Graph.rooms.filter((r) => !r.inline).map((r) => (Search.actions.enter(r.index), "
    rooms = page.evaluate(f"{views}{CRUMBS} + {DRAWN}))")
    for found in ("<", "a", "�"):
        page.fill("#search", found)
    page.evaluate("document.getElementById('found').hidden = true")
    ElementTree.fromstring(page.evaluate("Save.text(true)"))
    with page.expect_download():
        page.evaluate("Save.savePng()")
    return "\n".join([*nodes, *rooms])


def look_at_heads(page: Any) -> str:
    for key in ("ArrowRight", "ArrowDown", "End"):
        page.locator("#detail canvas").last.focus()
        page.keyboard.press(key)
    page.evaluate("document.querySelectorAll('.thumb').forEach((thumb) => thumb.click())")
    rows = "heads[0].rows.map((_, i) => (Detail.choose({ i, j: 0 }), "
    return "\n".join(page.evaluate(f"{rows}document.getElementById('readout').textContent))"))


def look_at_report(page: Any) -> str:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for canvas in page.locator(".heat canvas").all():
        canvas.focus()
        page.keyboard.press("ArrowDown")
    return ""


def read_data(page: Any) -> str:
    return "\n".join(page.evaluate("TT.data('names') || []"))


def nothing(page: Any) -> str:
    return ""


PAGES: dict[str, Callable[[Any], str]] = {
    "explore": step_through,
    "graph fields": step_through,
    "attention page": look_at_heads,
    "training": look_at_report,
    "any page": read_data,
    "worksheet": nothing,
}
SLOW = ("explore", "graph fields", "worksheet", "plots")
PICTURES = ("render", "attention picture", "loss curve", "profile", "plots")


@pytest.fixture(autouse=True)
def no_dialog(page: Any) -> Any:
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    yield
    assert not said


def some_slow(names: Any) -> list[Any]:
    return [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in names]


def opened(page: Any, path: Path, text: str, use: Callable[[Any], str]) -> tuple[set[str], str]:
    """What the document has, and its text together with what `use` has seen."""
    path.write_text(POLICY.sub("", text), encoding="utf-8")
    page.goto(path.as_uri())
    seen = use(page)
    assert page.evaluate("window.__pwned") is None
    assert page.locator("parsererror").count() == 0
    return set(page.evaluate(PAIRS)), squeezed(page.evaluate(TEXT) + seen).replace("·", ".")


def outputs(name: str, names: list[str], folder: Path, kind: str) -> list[str]:
    if name in NEEDS_GRAPHVIZ and not is_there():
        pytest.skip("needs Graphviz")
    folder.mkdir()
    found = WRITERS[name](names, folder)
    return [output for each, output in found if each in (kind, f"part-{kind}", "part")]


@pytest.mark.parametrize("name", some_slow(PAGES))
def test_pages(page: Any, name: str, tmp_path: Path) -> None:
    path, known = tmp_path / "page.html", set()
    for text in outputs(name, PLAIN, tmp_path / "plain", "html"):
        known |= opened(page, path, text, PAGES[name])[0]
    for text in outputs(name, USABLE, tmp_path / "hostile", "html"):
        found, shown = opened(page, path, text, PAGES[name])
        assert found <= known
        missing = [n[:50] for n in USABLE if beginning(n).replace("·", ".") not in shown]
        assert not missing or name == "worksheet"  # which has one name


@pytest.mark.parametrize("name", some_slow(PICTURES))
def test_pictures(page: Any, name: str, tmp_path: Path) -> None:
    path, known = tmp_path / "picture.svg", set()
    for text in outputs(name, PLAIN, tmp_path / "plain", "svg"):
        known |= opened(page, path, text, nothing)[0]
    for text in outputs(name, USABLE, tmp_path / "hostile", "svg"):
        assert opened(page, path, text, nothing)[0] <= known


def test_a_page_in_a_notebook(page: Any, tmp_path: Path) -> None:
    """The page is the value of an attribute there."""
    for text in outputs("training", USABLE, tmp_path / "hostile", "html"):
        opened(page, tmp_path / "page.html", f"<!doctype html>{frame(text)}", nothing)
        inside = page.frame_locator("iframe").locator("h1")
        inside.wait_for()
        tags = ["html", "head", "body", "iframe"]
        assert {pair.split(" ")[0] for pair in page.evaluate(PAIRS)} == set(tags)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["any page", "attention page", "explore", "training"])
def test_long_names_do_not_widen_the_page(page: Any, name: str, width: int, tmp_path: Path) -> None:
    names = [20_000 * "a", 20_000 * "<", "word " * 4000, "\0\x1b[31m\ud800", "second", "层" * 9000]
    page.set_viewport_size({"width": width, "height": 800})
    for text in outputs(name, [*names, "b"], tmp_path / "long", "html"):
        opened(page, tmp_path / "page.html", text, PAGES[name])
        assert page.evaluate(OVERFLOW) <= 0


class Scale(Function):
    """y = 2·x"""

    @staticmethod
    def forward(ctx: Any, constructor: Any, toString: Any) -> Any:
        return constructor * toString

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g


@pytest.mark.skipif(not is_there(), reason="needs Graphviz")
def test_arguments_called_as_what_every_object_has(page: Any, tmp_path: Path) -> None:
    x = tt.ones(2, requires_grad=True)
    made = graph.explore(Scale.apply(x, x * 1).sum(), None)
    opened(page, tmp_path / "page.html", made.html, step_through)
    scale = next(node.id for node in made.graph.nodes if node.argument_names[:1] == ["constructor"])
    page.evaluate(f"Search.actions.go({scale})")
    assert "dconstructor = rule of" in page.inner_text("#panel")


@pytest.mark.skipif(not is_there(), reason="needs Graphviz")
def test_a_cut_emoji_is_whole_in_a_saved_picture(page: Any, tmp_path: Path) -> None:
    """A name is cut after 21 characters; half of an emoji could not be saved."""
    traced = graph.trace(tt.ones(2, requires_grad=True).sum())
    for odd, node in enumerate(traced.nodes):
        node.name, node.variable = "a" * (odd % 2) + 30 * "🙂", ""
    text = graph.explore(traced, None).html
    opened(page, tmp_path / "page.html", text, step_through)
    saved = page.evaluate("Save.text(true)")
    assert f"a{20 * '🙂'}…" in saved and f">{21 * '🙂'}…" in saved
