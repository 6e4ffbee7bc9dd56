"""The documentation as a site: what its hooks make of the pages, and that it builds strictly."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nn
import tinytensor as tt
from tinytensor.graph.drawing.graphviz import is_there

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
each_page = pytest.mark.parametrize("path", PAGES, ids=[path.name for path in PAGES])


def hook(name: str) -> ModuleType:
    """A module of docs/hooks, which MkDocs loads by its path."""
    sys.path.insert(0, str(DOCS / "hooks"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


excerpts, formulas, live, notebooks, reference, sources = map(
    hook, ("excerpts", "formulas", "live", "notebooks", "reference", "sources")
)


# ------------------------------------------------------------------------------------------
# Source in pages
# ------------------------------------------------------------------------------------------


def test_an_excerpt_is_the_source() -> None:
    text = excerpts.excerpt("tinytensor/autograd/walk.py", "collect")
    assert text.startswith("def collect(")
    assert text in (ROOT / "tinytensor/autograd/walk.py").read_text("utf-8")
    assert excerpts.excerpt("tinytensor/autograd/op.py", "Op.keep").startswith("def keep(self")
    assert "backward walk" in excerpts.excerpt("tinytensor/autograd/walk.py", "docstring")


def test_an_excerpt_of_nothing_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"walk\.py has no 'colect', expected one of"):
        excerpts.excerpt("tinytensor/autograd/walk.py", "colect")


@each_page
def test_excerpts_and_links_of_a_page(path: Path) -> None:
    """Symbols that are shown or linked to exist, and so do the files; MkDocs checks the rest."""
    text = excerpts.on_page_markdown(path.read_text("utf-8"))
    assert "{{ source" not in text
    sources.rewrite(text, path.name)
    for _, target in sources.LINK.findall(text):
        if target.startswith("../"):
            assert (ROOT / sources.resolve(target, f"docs/{path.name}")).is_file(), target


def test_links_as_the_site_has_them() -> None:
    line = excerpts.lines_of("nn/linear.py", "Linear")[0]
    written = "[a](../nn/linear.py#Linear) [b](gpu.md#use) [c](https://x.y) [d](#here)"
    source = f"source/nn/linear.py.md#__codelineno-0-{line}"
    expected = f"[a]({source}) [b](gpu.md#use) [c](https://x.y) [d](#here)"
    assert sources.rewrite(written, "page.md") == expected
    gallery = sources.rewrite(
        "![m](../docs/pictures/m.svg) [n](mlp.py)", "source/examples/README.md"
    )
    assert gallery == "![m](../../pictures/m.svg) [n](mlp.py.md)"


# ------------------------------------------------------------------------------------------
# Formulas, notebooks, pages of graphs
# ------------------------------------------------------------------------------------------


def test_formulas_are_mathml() -> None:
    pytest.importorskip("latex2mathml", reason="no latex2mathml: pip install '.[docs]'")
    shown = formulas.with_mathml(r'<p><span class="arithmatex">\(a &lt; \sqrt{d}\)</span></p>')
    assert shown.startswith('<p><span class="formula"><math') and "<msqrt>" in shown
    assert "arithmatex" not in shown and "<mo>&#x0003C;</mo>" in shown
    assert "<mtable" in formulas.mathml(r"\begin{aligned} a &= b \\ &= c \end{aligned}", True)
    with pytest.raises(ValueError, match="expected & only in split"):
        formulas.mathml("a & b", False)


def test_a_notebook_as_a_page() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "Text."]},
        {"cell_type": "code", "source": ["x = 1\n", "x"]},
    ]
    text = notebooks.as_markdown(json.dumps({"cells": cells}), "n.ipynb")
    assert text.startswith('# Title\n\n<p><a href="n.ipynb" download>')
    assert text.endswith("Text.\n\n```python\nx = 1\nx\n```\n")


@pytest.mark.skipif(not is_there(), reason="no Graphviz: pip install pygraphviz")
@pytest.mark.parametrize("name", sorted(live.PAGES))
def test_pages_of_graphs(name: str) -> None:
    assert "<html" in live.step_page(getattr(live.load_pictures(), live.PAGES[name]))


@pytest.mark.skipif(not is_there(), reason="no Graphviz: pip install pygraphviz")
def test_the_page_of_the_case_on_paper() -> None:
    text = live.attention_case(live.load_pictures())
    assert "<title>Attention, step by step</title>" in text


# ------------------------------------------------------------------------------------------
# Reference
# ------------------------------------------------------------------------------------------


def test_every_public_name_has_a_place_in_the_reference() -> None:
    index = reference.index_text()
    for namespace in (tt.ops, nn, tt.optim, tt.autograd, tt.graph):
        for name in namespace.__all__:
            value = getattr(namespace, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                names = [n for n in namespace.__all__ if getattr(namespace, n) is value]
                assert any(f"#{n})" in index for n in names), name


def test_an_entry_has_signature_equation_and_text() -> None:
    text = reference.entry("tanh", tt.tanh, "tinytensor.ops.trigonometry")
    assert "tanh(input: Tensor, *, out=None) -> Tensor" in text
    assert "y = tanh x;  dx = g·(1 − y²)" in text
    assert "sinh x / cosh x, elementwise" in text


def test_docstrings_as_markdown() -> None:
    as_markdown = hook("docstrings").as_markdown
    assert as_markdown("Of a_b and *args.") == r"Of a\_b and \*args."
    assert as_markdown("x     what\n      it is\nlong  other") == (
        "| | |\n|---|---|\n| `x` | what it is |\n| `long` | other |"
    )
    assert as_markdown("Text.\n\n    code(1)") == "Text.\n\n```python\ncode(1)\n```"


def test_the_tables_of_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    tables = importlib.import_module("bench_table").tables
    theirs, ours = {"PyTorch": {"ratio": 1.0}}, {"tinytensor": {"ratio": 0.876}}
    names = {"gpt": "GPT step", "MLP": "MLP step"}
    assert tables({"cases": {"gpt": theirs | ours, "MLP": theirs | ours}}, names).splitlines() == [
        "| | PyTorch | tinytensor |",
        "|---|---:|---:|",
        "| GPT step | 1.00 | 0.88 |",
        "| MLP step | 1.00 | 0.88 |",
    ]
    assert tables({"cases": {"gpt": theirs | ours, "MLP": theirs}}, names).splitlines()[4:] == [
        "",
        "| | tinytensor |",
        "|---|---:|",
        "| GPT step | 0.88 |",
    ]


# ------------------------------------------------------------------------------------------
# The whole site
# ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    for package in ("mkdocs", "material", "latex2mathml"):
        pytest.importorskip(package, reason=f"no {package}: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_for_nothing(site: Path) -> None:
    fetched = re.compile(r'<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)="(https?:[^"]*)"')
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    outside = {url for path in pages for url in fetched.findall(path.read_text("utf-8"))}
    assert not outside
    assert "<math" in (site / "attention.html").read_text("utf-8")


@pytest.mark.slow
def test_the_site_in_a_browser(site: Path, page: Any) -> None:
    """From the disk: a picture is drawn, the search finds, a source link leads to its line."""
    page.goto((site / "index.html").as_uri())
    picture = page.locator("img").first
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    page.keyboard.press("/")
    page.keyboard.type("softcap")
    page.wait_for_selector(".md-search-result__link")
    assert "adding_an_op.html" in page.locator(".md-search-result__link").first.get_attribute(
        "href"
    )
    page.goto((site / "engine.html").as_uri())
    page.locator("a.source").filter(has_text="collect").first.click()
    line = excerpts.lines_of("tinytensor/autograd/walk.py", "collect")[0]
    page.wait_for_url(f"**/walk.py.html#__codelineno-0-{line}")
    assert page.locator(f"#__codelineno-0-{line}").count() == 1
