"""A real browser for the pages: Chromium without a window, driven by Playwright.

Every test that takes `page` also checks that nothing was asked of a network and that no script
complained. Without Playwright or a Chromium the tests are skipped, and say so.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no Playwright: pip install playwright"
    )
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(PROGRAMS)} is installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A new tab; afterwards, no request must have left and no script have failed."""
    context = browser.new_context(
        viewport={"width": 1300, "height": 800},
        accept_downloads=True,
        reduced_motion="reduce",  # views are at rest at once
    )
    tab = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on(
        "console",
        lambda message: complaints.append(message.text) if message.type != "log" else None,
    )
    yield tab
    context.close()
    outside = [url for url in requests if not url.startswith(("file:", "data:", "blob:", "about:"))]
    assert not outside, f"the page asked for {outside}"
    assert not complaints, complaints


def pytest_configure() -> None:
    """Tests press Ctrl-C, which a shell lets its background jobs ignore."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
