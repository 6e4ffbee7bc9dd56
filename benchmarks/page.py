"""The time to make the step-through page of a 12-layer GPT, and to step in a real browser.

    python benchmarks/page.py                a table; exit code 1 if a limit is exceeded

The model and the browser are those of the tests, which check the same limits without wall-clock
times. A step is timed from the click until the panel and the picture are laid out.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nn
import tinytensor as tt
from tests.conftest import OPTIONS, PROGRAMS
from tests.graph.pages.test_explore import Layer
from tinytensor.graph import explore

NODES, SECONDS, BYTES, STEP = 5000, 10.0, 5_000_000, 0.050  # NODES at least, the others at most
STEPS = 1000

TIMED_STEPS = """(steps) => {
  const next = document.getElementById("next");
  const times = [];
  for (let i = 0; i < steps; i++) {
    const start = performance.now();
    next.click();
    document.body.offsetHeight;  // lays the page out now
    times.push((performance.now() - start) / 1000);
  }
  return times;
}"""


def step_seconds(page_file: Path) -> list[float]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise SystemExit(f"no browser: none of {', '.join(PROGRAMS)} is installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        page = browser.new_page(viewport={"width": 1300, "height": 800})
        page.goto(page_file.as_uri())
        page.wait_for_selector("#next")
        times: list[float] = page.evaluate(TIMED_STEPS, STEPS)
        browser.close()
    return times


def main() -> None:
    model = nn.Sequential(*[Layer(64, 32) for _ in range(12)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gpt.html"
        start = time.perf_counter()
        made = explore(lambda: model(tt.randn(1, 12, 64)).square().mean(), path)
        seconds, size = time.perf_counter() - start, path.stat().st_size
        steps = step_seconds(path)
    median, slow = statistics.median(steps), statistics.quantiles(steps, n=100)[98]
    print(f"nodes        {len(made.graph.nodes):8}        at least {NODES}")
    print(f"making it    {seconds:8.1f} s      at most {SECONDS:.0f} s")
    print(f"size         {size / 1e6:8.2f} MB     at most {BYTES / 1e6:.0f} MB")
    print(f"a step       {1e3 * median:8.1f} ms     at most {1e3 * STEP:.0f} ms (the median)")
    print(f"  slowest 1% {1e3 * slow:8.1f} ms     longest {1e3 * max(steps):.1f} ms")
    kept = len(made.graph.nodes) >= NODES and seconds <= SECONDS and size <= BYTES
    if not (kept and median <= STEP):
        sys.exit("a limit is exceeded")


if __name__ == "__main__":
    main()
