"""The step-through page in a real browser: every number on it is the engine's."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn import functional as F
from tinytensor import graph as tg
from tinytensor.graph.drawing.graphviz import is_there
from tinytensor.graph.pages.explore import GraphPage, explore

from ..graph.pages.test_explore import Layer

pytestmark = pytest.mark.skipif(not is_there(), reason="no Graphviz: pip install pygraphviz")

VOCABULARY, WIDTH = 7, 8


class Toy(nn.Module):
    """Two encoder and two decoder layers, as small as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 2, 2, 2, 16, dropout=0.0, batch_first=True)
        self.out = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, source: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
        return self.out(self.transformer(self.embed(source), self.embed(target)))


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> GraphPage:
    tt.manual_seed(0)
    model = Toy()
    source, target = tt.tensor([[1, 2, 3, 4]]), tt.tensor([[5, 6, 1]])

    def loss() -> tt.Tensor:
        logits = model(source, target)
        return F.cross_entropy(logits.reshape(-1, VOCABULARY), tt.tensor([6, 1, 2]))

    return explore(loss, tmp_path_factory.mktemp("pages") / "toy.html")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> GraphPage:
    """x·w with a tanh that is used twice: the naive order gets it wrong."""
    rng = np.random.default_rng(0)
    x = tt.tensor(rng.normal(size=(4, 3)), dtype=tt.float32)
    w = tt.tensor(rng.normal(size=(3, 2)), dtype=tt.float32, requires_grad=True)

    def loss() -> tt.Tensor:
        h = (x @ w).tanh()
        return (h * h.softmax(-1)).sum() + h.mean()

    return explore(loss, tmp_path_factory.mktemp("pages") / "small.html")


def open_page(tab: Any, page: GraphPage, hash: str = "") -> None:
    assert page.path is not None
    tab.goto(page.path.as_uri() + hash)
    tab.wait_for_selector("#panel h2")


def state(tab: Any) -> dict[str, str]:
    """What the link says: {"walk": "backward", "step": "3", …}."""
    return tab.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")


def to_float(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


def cells(tab: Any, selector: str) -> dict[int, float]:
    """{place in row order: number} of the cells of the first table that is found."""
    found = (
        tab.locator(selector)
        .first.locator("td[data-cell]")
        .evaluate_all("cells => cells.map((cell) => [Number(cell.dataset.cell), cell.title])")
    )
    return {place: to_float(text) for place, text in found}


def assert_shown(shown: dict[int, float], value: Any) -> None:
    """The cells on the page are those of a Value, as far as it is shown cell by cell."""
    assert shown
    expected = value.array().ravel()
    for place, number in shown.items():
        assert number == pytest.approx(expected[place], rel=1e-5, abs=1e-30)


# Steps through the whole walk with the ▶ button, and records what the panel shows.
READ_ALL = """
() => {
  const read = (table) => [...table.querySelectorAll("td[data-cell]")]
    .map((cell) => [Number(cell.dataset.cell), cell.title]);
  const taken = [];
  const next = document.getElementById("next");
  while (!next.disabled) {
    next.click();
    const panel = document.getElementById("panel");
    const gradient = panel.querySelector('.incoming .tensor[data-slot="g"]');
    taken.push({
      title: panel.querySelector("h2").textContent,
      gradient: gradient === null ? null : read(gradient),
      contributions: [...panel.querySelectorAll(".contribution")].map((part) => {
        const tables = [...part.querySelectorAll(".equation .tensor")]
          .filter((table) => /^d\\d+$/.test(table.dataset.slot));
        return tables.length ? read(tables[0]) : null;
      }),
      after: [...panel.querySelectorAll('.accumulation .tensor[data-slot="after"]')].map(read),
      before: [...panel.querySelectorAll('.accumulation .tensor[data-slot="before"]')].map(read),
    });
  }
  return taken;
}
"""


def test_the_whole_backward_pass_shows_the_engines_numbers(page: Any, toy: GraphPage) -> None:
    open_page(page, toy)
    taken = page.evaluate(READ_ALL)
    steps = toy.graph.steps
    assert steps is not None and len(taken) == len(steps) > 100
    compared = accumulated = 0

    def same(shown: list, value: Any) -> None:
        nonlocal compared
        assert_shown({place: to_float(text) for place, text in shown}, value)
        compared += len(shown)

    for step, seen in zip(steps, taken):
        node = toy.graph.nodes[step.node]
        assert node.name in seen["title"]
        if step.gradient is not None:
            same(seen["gradient"], step.gradient)
        if node.op == "Output":
            continue
        assert len(seen["contributions"]) == len(step.contributions)
        for shown, contribution in zip(seen["contributions"], step.contributions):
            same(shown, contribution.value)
        added = [c for c in step.contributions if c.before is not None]
        assert len(added) == len(seen["after"]) == len(seen["before"])
        for before, after, contribution in zip(seen["before"], seen["after"], added):
            same(before, contribution.before)
            same(after, contribution.after)
            accumulated += 1
    assert compared > 5000 and accumulated > 10


def test_steps_back_to_the_start(page: Any, toy: GraphPage) -> None:
    open_page(page, toy)
    last = len(toy.graph.steps or ())
    page.keyboard.press("End")
    assert state(page)["step"] == str(last)
    seen = page.evaluate(
        """() => {
          const steps = [];
          const back = document.getElementById("back");
          const slider = document.getElementById("slider");
          while (!back.disabled) { back.click(); steps.push(slider.value); }
          return steps;
        }"""
    )
    assert seen == [str(i) for i in range(last - 1, -1, -1)]
    assert "Before the backward pass" in page.inner_text("#panel")


def test_keys_slider_and_live_region(page: Any, small: GraphPage) -> None:
    open_page(page, small)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert state(page)["step"] == "1"
    assert page.inner_text("#live").startswith("Step 1 of ")
    page.fill("#slider", "3")
    assert state(page)["step"] == "3"
    assert page.inner_text("#count").startswith("3 / ")
    page.keyboard.press("Home")
    assert page.is_disabled("#back") and not page.is_disabled("#next")


def test_forward_walk(page: Any, small: GraphPage) -> None:
    open_page(page, small)
    page.click("[data-tab=forward]")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert state(page) == {"walk": "forward", "step": "1", "room": "0"}
    matmul = next(node for node in small.graph.nodes if node.name == "matmul")
    assert "y = a·b" in page.inner_text("#panel .formula")
    assert_shown(cells(page, '#panel .tensor[data-slot="y"]'), matmul.value)
    first = small.graph.nodes[matmul.inputs[0]]
    assert_shown(cells(page, '#panel .tensor[data-slot="0"]'), first.value)


def marked(tab: Any, selector: str) -> list[int]:
    return sorted(
        tab.locator(selector).evaluate_all(
            "cells => cells.map((cell) => Number(cell.dataset.cell))"
        )
    )


def test_a_cell_lights_up_the_row_and_the_column_it_came_from(page: Any, small: GraphPage) -> None:
    open_page(page, small, "#walk=forward&step=1")
    page.click('#panel .tensor[data-slot="y"] td[data-cell="5"]')  # y[2, 1] of (4, 2)
    assert marked(page, '.tensor[data-slot="0"] td.source') == [6, 7, 8]  # row 2 of (4, 3)
    assert marked(page, '.tensor[data-slot="1"] td.source') == [1, 3, 5]  # column 1 of (3, 2)
    assert page.inner_text(".working").startswith("cell [2, 1]: ")
    page.click('#panel .tensor[data-slot="0"] td[data-cell="0"]')  # x[0, 0] goes to row 0 of y
    assert marked(page, '.tensor[data-slot="y"] td.target') == [0, 1]


def test_a_cell_of_a_gradient(page: Any, small: GraphPage) -> None:
    """dw = aᵀ·g: column of a, column of g."""
    open_page(page, small)
    steps = small.graph.steps or []
    step = next(i for i, s in enumerate(steps) if small.graph.nodes[s.node].name == "matmul")
    page.fill("#slider", str(step + 1))
    page.click('.contribution .tensor[data-slot="d1"] td[data-cell="3"]')  # dw[1, 1] of (3, 2)
    assert marked(page, '.contribution .tensor[data-slot="0"] td.source') == [1, 4, 7, 10]
    assert marked(page, '.contribution .tensor[data-slot="g"] td.source') == [1, 3, 5, 7]


def test_modules_open_and_close(page: Any, toy: GraphPage) -> None:
    open_page(page, toy)
    page.click('.entry.room:has-text("Toy")')
    page.click('.entry.room:has-text("transformer")')
    crumbs = page.inner_text("#crumbs")
    assert crumbs.replace("\n", " ").split("›")[0].strip() == "Graph" and "transformer" in crumbs
    assert page.locator(".entry.room").count() == 2  # encoder and decoder
    page.click("#crumbs button >> text=Toy")
    assert page.locator('.entry.room:has-text("transformer")').count() == 1
    page.keyboard.press("u")
    assert state(page)["room"] == "0"
    box = page.locator(".entry.room").first
    box.focus()
    page.keyboard.press("Enter")
    assert state(page)["room"] != "0"


def test_coming_back_finds_the_same_place(page: Any, toy: GraphPage) -> None:
    open_page(page, toy)
    page.click("#zoom-in")
    before = page.get_attribute(".canvas", "viewBox")
    page.click('.entry.room:has-text("Toy")')
    assert page.get_attribute(".canvas", "viewBox") != before
    page.keyboard.press("u")
    assert page.get_attribute(".canvas", "viewBox") == before
    page.click('.entry.node:has-text("cross_entropy")')  # a click selects, and moves nothing
    assert page.get_attribute(".canvas", "viewBox") == before


def test_pan_and_zoom(page: Any, small: GraphPage) -> None:
    open_page(page, small)

    def view_box() -> list[float]:
        return [float(part) for part in page.get_attribute(".canvas", "viewBox").split()]

    x, y, width, _ = view_box()
    page.mouse.move(60, 500)
    page.mouse.down()
    page.mouse.move(160, 560, steps=4)
    page.mouse.up()
    moved = view_box()
    assert moved[0] < x and moved[1] < y and moved[2] == width
    page.mouse.wheel(0, -300)
    assert view_box()[2] < width
    page.click("#fit")
    assert view_box() == pytest.approx([x, y, width, view_box()[3]])


def test_search_finds_nodes_and_modules(page: Any, toy: GraphPage) -> None:
    open_page(page, toy)
    page.keyboard.press("/")
    page.keyboard.type("decoder.layers.1.norm2")
    assert page.locator("#found button").count() >= 1
    page.fill("#search", "decoder.layers.1.norm2.weight")
    page.keyboard.press("Enter")
    assert "norm2.weight" in page.inner_text("#panel h2")
    assert "layers.1" in page.inner_text("#crumbs")
    page.fill("#search", "no such thing")
    assert "nothing found" in page.inner_text("#found")


def test_run_to_a_node_and_link_back(page: Any, small: GraphPage) -> None:
    open_page(page, small)
    tanh, w = (next(n.id for n in small.graph.nodes if n.name == name) for name in ("tanh", "w"))
    page.click(f'[data-entry="node:{tanh}"]')
    page.click("#run-to")
    order = [step.node for step in small.graph.steps or ()]
    assert state(page)["step"] == str(order.index(tanh) + 1)
    page.click(f'[data-entry="node:{w}"]')
    link = page.evaluate("location.hash")
    open_page(page, small)
    open_page(page, small, link)
    page.reload()
    assert page.evaluate("location.hash") == link
    assert page.locator(".entry.selected").count() == 1


def test_ready_and_waiting(page: Any, small: GraphPage) -> None:
    open_page(page, small)
    waiting = page.evaluate(
        """() => {
          const seen = [];
          const next = document.getElementById("next");
          while (!next.disabled) {
            next.click();
            seen.push(document.querySelector(".queues").textContent);
          }
          return seen;
        }"""
    )
    assert any("waits for 1 of 3 users" in text for text in waiting)
    assert page.locator(".badge text").count() == 0  # at the end nothing waits


def test_the_naive_order_is_shown_to_be_wrong(page: Any, small: GraphPage) -> None:
    open_page(page, small)
    page.click("#why")
    assert state(page)["walk"] == "wrong"
    assert "1 of 1 gradients come out wrong" in page.inner_text("#panel")
    page.keyboard.press("End")
    assert page.locator(".entry.wrong").count() >= 2  # the tanh, and w behind it
    page.click("#panel .verdict .link")
    assert "not passed on" in page.inner_text("#panel")
    page.click("#why")
    assert state(page)["walk"] == "backward"
    assert page.locator(".entry.wrong").count() == 0


def test_light_dark_and_print(page: Any, small: GraphPage, tmp_path: Path) -> None:
    page.emulate_media(color_scheme="light")
    open_page(page, small)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    page.keyboard.press("ArrowRight")
    page.emulate_media(media="print")
    assert not page.is_visible(".transport") and not page.is_visible(".bar")
    assert page.is_visible(".canvas") and page.is_visible("#panel .formula >> nth=0")
    paper = page.pdf(path=str(tmp_path / "page.pdf"), print_background=True)
    assert paper.startswith(b"%PDF")


def test_the_view_is_saved(page: Any, small: GraphPage, tmp_path: Path) -> None:
    open_page(page, small)
    for button, suffix, start in (("SVG", ".svg", b"<svg"), ("PNG", ".png", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.click(f"#tools >> text={button}")
        kept = tmp_path / f"view{suffix}"
        waiting.value.save_as(kept)
        assert waiting.value.suggested_filename.endswith(suffix)
        assert kept.read_bytes().startswith(start)
    drawn = ElementTree.parse(tmp_path / "view.svg").getroot()
    assert any(
        "tanh" in (text.text or "") for text in drawn.iter("{http://www.w3.org/2000/svg}text")
    )


def test_no_node_is_under_the_buttons(page: Any, small: GraphPage) -> None:
    page.set_viewport_size({"width": 1300, "height": 460})  # so low that the picture fills it
    open_page(page, small)
    lowest_button = page.evaluate(
        "document.querySelector('.view-tools').getBoundingClientRect().bottom"
    )
    highest_node = page.evaluate(
        "Math.min(...[...document.querySelectorAll('.entry')]"
        ".map((entry) => entry.getBoundingClientRect().top))"
    )
    assert highest_node >= lowest_button


def test_a_narrow_window(page: Any, toy: GraphPage) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    open_page(page, toy, "#walk=backward&step=20")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.click("#next")
    assert state(page)["step"] == "21"


def test_a_forward_that_failed(page: Any, tmp_path: Path) -> None:
    x = tt.ones(2, 3, requires_grad=True)
    with pytest.raises(Exception, match="matmul"), tg.record() as recording:
        (x * 2) @ tt.ones(2, 2)
    failed = explore(recording, tmp_path / "failed.html")
    open_page(page, failed)
    assert page.locator(".entry.failed").count() == 1
    page.keyboard.press("End")
    assert state(page)["walk"] == "forward"


def test_hostile_names_are_text(page: Any, tmp_path: Path) -> None:
    class Odd(nn.Module):
        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return (x * 2).tanh() * 3

    name = "<img src=x onerror=alert(1)></script>"
    box = nn.Sequential()
    box.add_module(name.replace(".", ""), Odd())
    odd = explore(lambda: box(tt.ones(2, requires_grad=True)).sum(), tmp_path / "odd.html")
    open_page(page, odd)
    assert page.locator("img").count() == 0
    page.click(".entry.room")
    assert "<img" in page.inner_text("#crumbs") or page.locator(".entry.room").count()


@pytest.mark.slow
def test_a_step_through_5000_nodes_is_quick(page: Any, tmp_path: Path) -> None:
    """Under 50 ms of the browser's own work for a step, by its processor clock, which other
    programs on the machine do not change."""
    model = nn.Sequential(*[Layer(64, 32) for _ in range(12)])
    gpt = explore(lambda: model(tt.randn(1, 12, 64)).square().mean(), tmp_path / "gpt.html")
    assert len(gpt.graph.nodes) >= 5000
    open_page(page, gpt)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def work() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    steps = 400
    before = work()
    page.evaluate(
        """(steps) => {
          const next = document.getElementById("next");
          for (let i = 0; i < steps; i++) { next.click(); document.body.offsetHeight; }
        }""",
        steps,
    )
    assert state(page)["step"] == str(steps)
    assert (work() - before) / steps < 0.05
