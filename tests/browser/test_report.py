"""The training report in a real browser: curves, heat maps, read-outs, keys, dark, print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tinytensor.graph import training_report

NAMES = [f"blocks.{n}.<i>mlp</i>" for n in range(4)]


def record(step: int) -> dict[str, Any]:
    layers = {
        "grad_norm": {name: 10.0 ** -(4 - n) for n, name in enumerate(NAMES)},
        "update_ratio": {name: 1e-3 * (n + 1) for n, name in enumerate(NAMES)},
        "dead_relu": {name: n / 4 for n, name in enumerate(NAMES)},
    }
    loss = math.exp(-step / 20) + 0.1 * (step % 3)
    return {"step": step, "loss": loss, "lr": 0.1, "layers": layers, "time": step / 10}


RECORDS = [*map(record, range(1, 101)), {"step": 100, "val_loss": 0.25, "val_accuracy": 0.5}]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("pages") / "report.html"
    training_report(RECORDS, path, "Run <1>")
    return path.resolve().as_uri()


def test_curves_and_heat_maps_are_drawn(page: Any, written: str) -> None:
    page.goto(written)
    assert page.locator("h1").inner_text() == "Run <1>"
    titles = ["Loss", "Accuracy", "Learning rate"]
    assert page.locator(".charts h2").all_inner_texts() == titles
    assert page.locator(".heat").count() == 3
    assert page.locator(".heat i").count() == 0  # names are text
    summary = page.locator(".summary").inner_text()
    assert "Best validation loss\n0.25 at step 100" in summary and "Time\n10 s" in summary
    assert page.locator(".charts path[d^=M]").count() > 20


def test_a_curve_goes_through_its_points(page: Any, written: str) -> None:
    """Without smoothing: the height of each point follows from its loss."""
    page.goto(written)
    page.evaluate(
        """() => { const s = document.getElementById("smoothing"); s.value = 0;
                   s.dispatchEvent(new Event("input")); }"""
    )
    curve = page.locator(".chart").first.locator("path[stroke-width='2']").first
    points = [tuple(map(float, p.split())) for p in curve.get_attribute("d")[1:].split("L")]
    losses = [r["loss"] for r in RECORDS if "loss" in r]
    assert len(points) == len(losses) == 100
    low, high = min(losses), max(losses)
    for (_, y), loss in zip(points, losses):
        assert y == pytest.approx(216 - (loss - low) / (high - low) * 206, abs=0.1)


def test_pointing_at_a_chart_reads_out_values(page: Any, written: str) -> None:
    page.goto(written)
    box = page.locator(".chart").first.bounding_box()
    page.mouse.move(box["x"] + 64, box["y"] + 100)
    legend = page.locator(".charts .legend").first
    assert f"{RECORDS[0]['loss']:.3f} at 1" in legend.inner_text()
    page.mouse.move(2, 2)
    assert " at " not in legend.inner_text()


def test_pointing_at_a_heat_map_and_keys(page: Any, written: str) -> None:
    page.goto(written)
    canvas = page.locator(".heat canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 8)
    assert page.locator(".tip").inner_text() == f"{NAMES[0]}, step 100: 0.0001 (log₁₀ −4)"
    canvas.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    readout = page.locator(".readout").first
    assert readout.inner_text() == f"{NAMES[1]}, step 99: 0.001 (log₁₀ −3)"
    assert page.locator("#live").inner_text() == readout.inner_text()


def test_the_scale_can_be_logarithmic(page: Any, written: str) -> None:
    page.goto(written)
    chart = page.locator(".chart").first
    before = chart.inner_html()
    page.click("#log")
    assert page.locator("#log").get_attribute("aria-pressed") == "true"
    assert chart.inner_html() != before


def test_numbers_are_there_as_a_table(page: Any, written: str) -> None:
    page.goto(written)
    page.locator(".heat summary").last.click()
    rows = page.locator(".heat table").last.locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[-1] for row in rows] == ["0", "0.25", "0.5", "0.75"]


def test_dark_narrow_and_printed(page: Any, written: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 420, "height": 700})
    page.goto(written)
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(20, 22, 27)"
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) == 0
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not page.locator("#tools").is_visible()


def test_one_record_and_notes(page: Any, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "lo')
    training_report(tmp_path, tmp_path / "report.html")
    page.goto((tmp_path / "report.html").as_uri())
    notes = page.locator(".note").all_inner_texts()
    assert len(notes) == 2 and notes[0].startswith("The last line is cut off")
    assert page.locator(".chart circle").count() == 1
