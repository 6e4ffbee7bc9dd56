"""The attention page in a real browser: tabs, numbers, cells, colours, keys, print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor.graph import AttentionPage, attention

SOURCE, TARGET = ["the", "cat", "<b>sat</b>", "[pad]"], ["<s>", "die", "Katze"]
TABS = {"S": "scores", "A": "weights", "dA": "grad", "dS": "score_grad"}
HEADS = 12  # two layers each of three kinds, with two heads


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> AttentionPage:
    tt.manual_seed(0)
    model = nn.Seq2SeqTransformer(
        9, 9, d_model=8, nhead=2, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=8,
        pad=0,
    ).eval()  # fmt: skip
    source, target = tt.tensor([[3, 4, 5, 0]]), tt.tensor([[1, 6, 7]])

    def loss(logits: tt.Tensor) -> tt.Tensor:
        return F.cross_entropy(logits.reshape(-1, 9), tt.tensor([6, 7, 2]))  # (1, 3, 9) → (3, 9)

    path = tmp_path_factory.mktemp("pages") / "attention.html"
    return attention(model, (source, target), path, loss, (SOURCE, TARGET))


def address(written: AttentionPage, hash: str = "") -> str:
    assert written.path is not None
    return written.path.resolve().as_uri() + hash


def drawn(page: Any, quantity: str) -> None:
    """Wait until all small pictures show it."""
    page.wait_for_selector(f'body[data-drawn="{quantity}"]')


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


def cell_values(page: Any) -> dict[str, str]:
    cells = page.locator("#readout td").all()
    return {cell.get_attribute("data-quantity"): cell.inner_text() for cell in cells}


def test_all_heads_of_all_kinds_are_there(page: Any, written: AttentionPage) -> None:
    page.goto(address(written))
    drawn(page, "A")
    titles = page.locator("#overview h2").all_inner_texts()
    names = ["Encoder self-attention", "Decoder self-attention", "Cross-attention"]
    assert [title.split("transformer.")[0].strip() for title in titles] == names
    assert page.locator(".thumb").count() == HEADS
    for n in range(HEADS):
        page.evaluate("n => document.querySelectorAll('.thumb canvas')[n].id = `thumb-${n}`", n)
        assert len(colours(page, f"#thumb-{n}", 0, 1)) > 3


def test_tabs_show_the_engines_numbers_in_every_cell(page: Any, written: AttentionPage) -> None:
    """All quantities of all cells of all heads, as the page has worked them out."""
    page.goto(address(written))
    order = {"encoder": 0, "decoder": 1, "cross": 2}
    maps = sorted(written.maps, key=lambda each: order[each.kind])
    for name, attribute in TABS.items():
        page.click(f'[data-tab="{name}"]')
        drawn(page, name)
        got = page.evaluate(f'heads.map((head) => [...head.values("{name}")].map(String))')
        expected = [head for each in maps for head in getattr(each, attribute)]
        assert len(got) == len(expected) == HEADS
        for texts, values in zip(got, expected):
            numbers = [float(text.replace("Infinity", "inf")) for text in texts]
            np.testing.assert_allclose(numbers, values.ravel(), rtol=2e-5, atol=1e-7)


def test_a_cell_reads_out_all_its_numbers(page: Any, written: AttentionPage) -> None:
    page.goto(address(written))
    cross = next(each for each in written.maps if each.kind == "cross")
    page.click('[aria-label$="decoder.layers.0.multihead_attn, head 1"]')
    page.locator("#map").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # the second query, the third key
    heading = page.locator("#readout h3").inner_text()
    assert heading == "Query “die” → key “<b>sat</b>”"
    values = cell_values(page)
    assert cross.scores is not None and cross.grad is not None and cross.score_grad is not None
    expected = {
        "S": cross.scores, "A": cross.weights, "dA": cross.grad, "dS": cross.score_grad,
        "AdA": cross.weights * cross.grad,
    }  # fmt: skip
    for name, array in expected.items():
        assert number(values[name]) == pytest.approx(array[1, 1, 2], rel=1e-4, abs=1e-9)
    assert "query die, key <b>sat</b>" in page.locator("#live").inner_text()


def test_the_product_of_query_and_key_is_shown(page: Any, written: AttentionPage) -> None:
    page.goto(address(written, "#head=0&show=S&cell=1,2"))
    first = written.maps[0]
    assert first.query is not None and first.key is not None
    rows = page.locator("#terms tr").all()
    cells = [[td.inner_text() for td in row.locator("td").all()] for row in rows]
    q, k = first.query[0, 1], first.key[0, 2]
    np.testing.assert_allclose([number(t) for t in cells[0][:-1]], q, rtol=1e-2)
    np.testing.assert_allclose([number(t) for t in cells[1][:-1]], k, rtol=1e-2)
    assert number(cells[2][-1].removeprefix("Σ ")) == pytest.approx(float(q @ k), rel=1e-4)
    steps = page.locator(".steps li").all_inner_texts()
    assert len(steps) == 4 and number(steps[2].split(" = ")[-1]) == pytest.approx(
        first.weights[0, 1, 2], rel=1e-3
    )


def test_row_checks_hold_and_are_written_out(page: Any, written: AttentionPage) -> None:
    page.goto(address(written, "#head=0&show=dS&cell=1,0"))
    sums = {p.get_attribute("data-check"): p.inner_text() for p in page.locator(".sum").all()}
    assert sums["A"].startswith("ΣA = ") and sums["A"].endswith("✓ 1")
    assert sums["A"].count(" + ") == 2  # three terms: the fourth key is masked
    assert sums["dS"].endswith("✓ 0")
    assert page.locator(".bad").count() == 0
    assert "All 4 rows" in page.locator("#check").inner_text()


def colours(page: Any, selector: str, left: float, right: float) -> set[str]:
    """The colours of a canvas between two shares of its width."""
    # A copy is read: a canvas that is read itself, and often, makes Chromium complain.
    code = """([selector, left, right]) => {
        const from = document.querySelector(selector);
        const to = document.createElement("canvas");
        [to.width, to.height] = [from.width, from.height];
        const context = to.getContext("2d", { willReadFrequently: true });
        context.drawImage(from, 0, 0);
        const wide = Math.max(1, Math.round(to.width * (right - left)));
        const { data } = context.getImageData(Math.round(to.width * left), 2, wide, to.height - 4);
        const at = (i) => `${data[i]},${data[i + 1]},${data[i + 2]}`;
        return Array.from({ length: data.length / 4 }, (_, n) => at(4 * n));
    }"""
    return set(page.evaluate(code, [selector, left, right]))


LIGHT_PANEL, LIGHT_LINE, DARK_PANEL = "246,247,249", "213,218,226", "28,31,38"


def test_masked_cells_are_hatched(page: Any, written: AttentionPage) -> None:
    """The last key is padding: its column has the stripes' two colours, in every tab."""
    page.goto(address(written))
    for name in TABS:
        page.click(f'[data-tab="{name}"]')
        drawn(page, name)
        assert colours(page, ".thumb canvas", 0.8, 0.95) == {LIGHT_PANEL, LIGHT_LINE}
        assert not {LIGHT_PANEL, LIGHT_LINE} & colours(page, ".thumb canvas", 0.05, 0.7)


def test_hovering_reads_out_numbers(page: Any, written: AttentionPage) -> None:
    page.goto(address(written))
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] - 10)
    tip = page.locator(".tip")
    assert tip.is_visible() and "“[pad]” → “[pad]”" in tip.inner_text()
    assert "masked" in tip.inner_text()
    page.mouse.move(5, 5)
    assert not tip.is_visible()


def test_clicking_a_cell_and_a_link_that_restores_it(page: Any, written: AttentionPage) -> None:
    page.goto(address(written))
    page.click('[data-tab="dA"]')
    page.locator(".thumb").nth(3).click()
    box = page.locator("#map").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 8, box["y"] + box["height"] - 8)
    assert page.evaluate("location.hash") == "#head=3&show=dA&cell=3,3"
    before = page.locator("#detail").inner_text()
    page.goto("about:blank")
    page.goto(address(written, "#head=3&show=dA&cell=3,3"))
    assert page.locator("#detail").inner_text() == before
    assert page.locator('[data-tab="dA"]').get_attribute("aria-selected") == "true"


def test_keys_choose_tabs_and_heads(page: Any, written: AttentionPage) -> None:
    page.goto(address(written))
    page.keyboard.press("5")
    drawn(page, "AdA")
    assert page.locator('[data-tab="AdA"]').get_attribute("aria-selected") == "true"
    title = page.locator("#detail-title")
    assert title.inner_text().endswith("head 0")
    page.keyboard.press("]")
    assert title.inner_text().endswith("head 1")
    page.keyboard.press("[")
    assert title.inner_text().endswith("head 0")
    page.locator('[data-tab="AdA"]').focus()
    page.keyboard.press("ArrowRight")
    drawn(page, "S")


def test_colours_of_one_scale_and_of_dark_pages(page: Any, written: AttentionPage) -> None:
    page.goto(address(written))
    drawn(page, "A")
    assert page.locator("#legend").inner_text() != "0\n1"
    page.select_option("#scale", "all")
    drawn(page, "A")
    assert page.locator("#legend .number").all_inner_texts() == ["0", "1"]
    assert colours(page, "#map", 0, 0) == {LIGHT_PANEL}
    page.click("#theme")
    assert colours(page, "#map", 0, 0) == {DARK_PANEL}
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 27)"


def test_print_is_light_and_has_no_controls(page: Any, written: AttentionPage) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(address(written))
    drawn(page, "A")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#tools").is_visible() and not page.locator("#save").is_visible()
    assert page.locator("#map").is_visible()
    assert page.evaluate("TT.theme()") == "light"


def test_the_picture_can_be_saved(page: Any, written: AttentionPage, tmp_path: Path) -> None:
    page.goto(address(written))
    with page.expect_download() as waiting:
        page.click("#save")
    assert waiting.value.suggested_filename.endswith("head-0-A.png")
    waiting.value.save_as(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_loss_there_are_no_gradients(page: Any, tmp_path: Path) -> None:
    tt.manual_seed(0)
    model, x = nn.MultiheadAttention(4, 2), tt.randn(3, 4)
    result = attention(model, (x, x, x), tmp_path / "page.html")
    page.goto(address(result))
    drawn(page, "A")
    assert page.locator("#tools [role=tab]").all_inner_texts() == ["Scores S", "Weights A"]
    assert "Pass loss=" in page.locator("#overview").inner_text()


def test_scores_that_are_no_product(page: Any, tmp_path: Path) -> None:
    tt.manual_seed(0)
    model = nn.AdditiveAttention(4, 4, 4)
    x = tt.randn(1, 3, 4)
    result = attention(model, (x, x), tmp_path / "page.html", lambda out: out[0].sum())
    page.goto(address(result))
    drawn(page, "A")
    assert page.locator("[data-tab=S]").count() == 0
    assert "no product q·k" in page.locator("#product").inner_text()


@pytest.mark.slow
def test_many_heads_stay_live(page: Any, tmp_path: Path) -> None:
    """12 × 12 heads of 128 × 128: each tab comes in frames, never in one long halt."""
    tt.manual_seed(0)
    config = nn.GPTConfig(vocab_size=9, block_size=128, n_layer=12, n_head=12, n_embd=192)
    x = tt.randint(0, 9, (1, 128))
    result = attention(nn.GPT(config), (x, x), tmp_path / "page.html")
    page.goto(address(result))
    page.click("#theme")  # while the small pictures are being drawn
    drawn(page, "A")
    frames = """async (name) => {
        let frames = 0, on = true;
        const count = () => { frames += 1; if (on) requestAnimationFrame(count); };
        requestAnimationFrame(count);
        document.querySelector(`[data-tab=${name}]`).click();
        const soon = () => new Promise((done) => setTimeout(done, 1));
        while (document.body.dataset.drawn !== name) await soon();
        on = false;
        return frames;
    }"""
    for name in ("dS", "S"):
        assert page.evaluate(frames, name) > 2
