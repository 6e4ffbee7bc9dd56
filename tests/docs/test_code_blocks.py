"""Every code block of the documentation runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.graph import GraphvizMissing

from .blocks import blocks_of, code_at, plain

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def run_page(page: Path) -> int:
    """Run all blocks of a page in the current folder; returns how many there are."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    blocks = blocks_of(page.read_text("utf-8"))
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code_at(block, page), namespace)
        if block.output is not None:
            assert plain(printed.getvalue()) == plain(block.output), f"{page.name}:{block.line}"
    return len(blocks)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_blocks_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    threads = tt.get_num_threads()
    try:
        run_page(page)
    except GraphvizMissing as missing:
        pytest.skip(str(missing))
    finally:
        tt.set_kernels("auto")
        tt.set_num_threads(threads)


def test_pages_with_code_are_found() -> None:
    with_code = {page.name for page in PAGES if blocks_of(page.read_text("utf-8"))}
    assert {"quickstart.md", "engine.md", "adding_an_op.md", "porting.md"} <= with_code


# ------------------------------------------------------------------------------------------
# The test itself
# ------------------------------------------------------------------------------------------

SAMPLE = """\
```python
x = 2
```

```python
print(x + 1)
```

```text
{}
```

```sh
not python
```
"""


def test_blocks_share_a_namespace(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(SAMPLE.format(3))
    assert run_page(page) == 2


def test_another_output_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(SAMPLE.format(4))
    with pytest.raises(AssertionError, match=r"page\.md:6"):
        run_page(page)


def test_an_error_has_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n```python\nfine = 1\nfine / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as error:
        run_page(page)
    assert error.traceback[-1].lineno == 4  # counted from 0
