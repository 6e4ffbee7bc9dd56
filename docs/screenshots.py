"""Takes the screenshots in docs/step_page.md: `python docs/screenshots.py [folder]`.

Chromium, driven by Playwright, opens the page of an attention head and does what the text says;
the last one shows the graph that the text builds.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pictures
from playwright.sync_api import sync_playwright

import tinytensor as tt
from tinytensor import graph

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PRODUCT = 4  # the step of weights @ v


def start(tab: Any) -> None:
    """Before the first step."""


def rule(tab: Any) -> None:
    """The step of a product: two contributions."""
    for _ in range(PRODUCT):
        tab.click("#next")


def cell(tab: Any) -> None:
    """Where an element of the first contribution came from."""
    rule(tab)
    result = tab.locator('.contribution .equation .tensor[data-slot="d0"] td[data-cell]')
    result.nth(4).click()


def order(tab: Any) -> None:
    """The naive order, at its end."""
    tab.click("#why")
    tab.click("#last")


SHOTS = {  # the picture, its page, and what is done on it
    "step-start": ("page.html", start),
    "step-rule": ("page.html", rule),
    "step-cell": ("page.html", cell),
    "step-order": ("text/order.html", order),
}


def main(folder: Path) -> None:
    folder = folder.resolve()
    program = next(filter(None, map(shutil.which, pictures.BROWSERS)), None)
    if program is None:
        sys.exit(f"screenshots: no browser, expected one of {', '.join(pictures.BROWSERS)}")
    pages = Path(tempfile.mkdtemp())
    tt.manual_seed(3)
    graph.explore(pictures.attention, pages / "page.html")
    (pages / "text").mkdir()
    pictures.run_page(pictures.DOCS / "step_page.md", pages / "text")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        for name, (page, act) in SHOTS.items():
            context = browser.new_context(
                viewport={"width": 1240, "height": 760}, reduced_motion="reduce"
            )
            tab = context.new_page()
            tab.goto((pages / page).as_uri())
            tab.wait_for_selector("#panel h2")
            act(tab)
            tab.wait_for_timeout(300)
            tab.screenshot(path=folder / f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
