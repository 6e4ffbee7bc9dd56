"""A worksheet in a real browser: right and wrong answers, hints, keys, progress, print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tinytensor.graph import Worksheet, worksheet
from tinytensor.worksheet.numbers import written


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Worksheet:
    """Self-attention forward and backward, with its weights."""
    path = tmp_path_factory.mktemp("sheets") / "sheet.html"
    return worksheet("attention-backward", path, size="medium", seed=3, e_is_3=True)


@pytest.fixture(scope="module")
def backprop(tmp_path_factory: pytest.TempPathFactory) -> Worksheet:
    path = tmp_path_factory.mktemp("sheets") / "sheet.html"
    return worksheet("backprop", path, size="medium", seed=1)


def address(sheet: Worksheet) -> str:
    assert sheet.path is not None
    return sheet.path.resolve().as_uri()


def blanks_of(sheet: Worksheet, name: str) -> list[list[Any]]:
    """The cells of the matrix of that name."""
    return next(step.result.cells for step in sheet.sheet.steps if step.result.name == name)


def verdict(page: Any, cell: Any) -> str | None:
    return page.locator(f"td:has(> #blank-{cell.number})").get_attribute("data-verdict")


def type_in(page: Any, cell: Any, text: str) -> str | None:
    page.fill(f"#blank-{cell.number}", text)
    page.press(f"#blank-{cell.number}", "Enter")
    return verdict(page, cell)


FILL = """answers => Object.fromEntries(Object.entries(answers).map(([number, text]) => {
    const input = document.getElementById(`blank-${number}`);
    input.value = text;
    input.dispatchEvent(new Event("change"));
    return [number, input.closest("td").dataset.verdict ?? ""];
}))"""


def fill(page: Any, answers: dict[int, str]) -> set[str]:
    """Fill in many blanks at once; returns the verdicts."""
    return set(page.evaluate(FILL, answers).values())


def test_every_right_answer_is_right(page: Any, sheet: Worksheet) -> None:
    page.goto(address(sheet))
    cells = list(sheet.sheet.blanks)
    assert page.locator("#tally").inner_text() == f"0 of {len(cells)} right"
    assert page.locator("[data-verdict]").count() == 0
    assert type_in(page, cells[0], written(cells[0].value)) == "right"
    assert fill(page, {cell.number: written(cell.value) for cell in cells}) == {"right"}
    assert page.locator("#tally").inner_text() == f"{len(cells)} of {len(cells)} right"
    assert page.locator(".hint:visible").count() == 0
    empty = page.evaluate("[...document.querySelectorAll('.echo')].filter(c => !c.textContent)")
    assert empty == []  # all that was found stands wherever it is needed


def test_wrong_answers_are_told_with_their_likely_cause(page: Any, sheet: Worksheet) -> None:
    page.goto(address(sheet))
    told = set()
    rows = [*blanks_of(sheet, "dL/dA"), *blanks_of(sheet, "dL/dWQ")]
    for cell in (cell for row in rows for cell in row):
        for value, hint in cell.mistakes:
            assert type_in(page, cell, f"{value:.6f}") == "wrong"
            assert hint in page.locator(".hint:visible").inner_text()
            told.add(hint.split(":")[0])
        assert type_in(page, cell, "") is None  # not done
    assert {"Right but for its sign.", "Transposed", "Not accumulated"} <= told


def test_all_known_mistakes_are_wrong(page: Any, sheet: Worksheet) -> None:
    page.goto(address(sheet))
    most = max(len(cell.mistakes) for cell in sheet.sheet.blanks)
    assert most > 3
    for number in range(most):
        wrong = {
            cell.number: f"{cell.mistakes[number][0]:.6f}"
            for cell in sheet.sheet.blanks
            if len(cell.mistakes) > number
        }
        assert fill(page, wrong) == {"wrong"}
    assert "right" in page.locator("#tally").inner_text()


def test_a_wrong_number_without_a_known_cause_is_told_the_way(page: Any, sheet: Worksheet) -> None:
    page.goto(address(sheet))
    cell = blanks_of(sheet, "dL/dQ")[1][0]
    assert type_in(page, cell, "77.7") == "wrong"
    hint = page.locator(".hint:visible").inner_text()
    assert hint == "Row 2, column 1: Row 2 of K times column 1 of dL/dS, added up."
    assert page.locator(f"#blank-{cell.number}").get_attribute("aria-invalid") == "true"
    assert hint.split(": ")[1] in page.locator("#live").inner_text()
    assert type_in(page, cell, "three") == "wrong"
    assert "Not read as a number" in page.locator(".hint:visible").inner_text()
    assert type_in(page, cell, written(cell.value)) == "right"
    assert page.locator(".hint:visible").count() == 0


READ = {
    "1/3": 1 / 3, "-2/4": -0.5, "−0,25": -0.25, ".5": 0.5, " 3. ": 3, "1 1/2": 1.5, "-1 1/2": -1.5,
    "+4": 4, "1/0": None, "1 2": None, "1//2": None, "--1": None, "1e3": None, "": None,
}  # fmt: skip


def test_numbers_are_read(page: Any, sheet: Worksheet) -> None:
    page.goto(address(sheet))
    for text, value in READ.items():
        read = page.evaluate(
            "text => { const x = Check.read(text); return isNaN(x) ? null : x }", text
        )
        assert read == (None if value is None else pytest.approx(value)), text


def test_two_places_are_enough(page: Any, tmp_path: Path) -> None:
    exact = worksheet("attention-backward", tmp_path / "sheet.html", seed=5)
    page.goto(address(exact))
    assert fill(page, {c.number: f"{c.value:.2f}" for c in exact.sheet.blanks}) == {"right"}


def test_a_forgotten_relu_mask_is_named_and_relu_strikes_out(
    page: Any, backprop: Worksheet
) -> None:
    page.goto(address(backprop))
    masked = next(step for step in backprop.sheet.steps if step.result.name == "dL/dZ₁")
    cells = [
        (cell, before.value)
        for row, above in zip(masked.result.cells, masked.top.cells)
        for cell, before in zip(row, above)
        if cell.value == 0 != before.value
    ]
    assert cells
    for cell, forgotten in cells:
        assert type_in(page, cell, written(forgotten)) == "wrong"
        assert "ReLU mask is forgotten" in page.locator(".hint:visible").inner_text()
    relu = next(step for step in backprop.sheet.steps if step.result.name == "H₁")
    for row, above in zip(relu.result.cells, relu.top.cells):
        for cell, before in zip(row, above):
            type_in(page, cell, written(cell.value))
            struck = page.locator(f"td.struck:has(> #blank-{before.number})").count()
            assert struck == (before.value < 0)


def test_keys_lead_from_blank_to_blank(page: Any, backprop: Worksheet) -> None:
    page.goto(address(backprop))
    (first, right), (below, _), *_ = blanks_of(backprop, "Z₁")

    def focused() -> str:
        return page.evaluate("document.activeElement.id")

    page.focus(f"#blank-{first.number}")
    for key, cell in (("ArrowRight", right), ("ArrowLeft", first), ("ArrowDown", below),
                      ("ArrowUp", first), ("ArrowUp", None), ("Enter", right)):  # fmt: skip
        page.keyboard.press(key)
        assert focused() == f"blank-{(cell or first).number}", key
    page.keyboard.type("12")
    page.keyboard.press("ArrowLeft")  # inside of what is typed
    assert focused() == f"blank-{right.number}"
    page.keyboard.press("ArrowDown")
    assert verdict(page, right) is not None  # checked when it is left


def test_answers_are_there_after_a_reload_until_it_starts_again(
    page: Any, sheet: Worksheet
) -> None:
    page.goto(address(sheet))
    cell = next(iter(sheet.sheet.blanks))
    type_in(page, cell, written(cell.value))
    page.reload()
    assert verdict(page, cell) == "right"
    page.click("#again")
    assert verdict(page, cell) is None
    page.reload()
    assert page.locator("#tally").inner_text().startswith("0 of ")


def test_printed_boxes_are_empty(page: Any, sheet: Worksheet) -> None:
    page.goto(address(sheet))
    fill(page, {cell.number: written(cell.value) for cell in sheet.sheet.blanks})
    page.emulate_media(media="print")
    assert page.locator(".blank input:visible").count() == 0
    assert page.locator(".blank:visible").count() == len(list(sheet.sheet.blanks))
    sizes = page.evaluate(
        "[...document.querySelectorAll('.echo')].map(c => getComputedStyle(c).fontSize)"
    )
    assert set(sizes) == {"0px"}
    assert not page.locator("#tools").is_visible() and page.locator(".who").is_visible()
    assert page.locator(".hint:visible").count() == 0


def test_labels_dark_and_narrow(page: Any, sheet: Worksheet) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 420, "height": 700})
    page.goto(address(sheet))
    cell = blanks_of(sheet, "dL/dA")[1][0]
    page.get_by_label("dL/dA, row 2, column 1", exact=True).fill(written(cell.value))
    assert page.locator(f"#blank-{cell.number}").input_value() == written(cell.value)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) == 0


def test_the_key_has_all_answers(page: Any, sheet: Worksheet) -> None:
    assert sheet.key_path is not None
    page.goto(sheet.key_path.resolve().as_uri())
    assert page.locator("input").count() == 0
    shown = page.locator("td.answer").all_inner_texts()
    assert shown == [written(cell.value) for cell in sheet.sheet.blanks]
