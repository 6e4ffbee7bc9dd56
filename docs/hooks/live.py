"""Adds pages that tinytensor itself writes to the site, when it is built.

The graphs are those of docs/pictures.py, so that a picture and its page show the same numbers.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from symbols import ROOT

PAGES = {"attention-head": "attention", "network": "mlp", "transformer": "transformer"}


def load_pictures() -> Any:
    """Import docs/pictures.py, which belongs to no package."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None and spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    return pictures


def step_page(loss: Callable) -> str:
    """The step-through page of one of the graphs in docs/pictures.py."""
    import tinytensor as tt
    from tinytensor import graph

    tt.manual_seed(3)
    return graph.explore(loss).html


def attention_case(pictures: Any) -> str:
    """The step-through page that the code of docs/attention.md writes."""
    with tempfile.TemporaryDirectory() as folder:
        pictures.run_page(ROOT / "docs" / "attention.md", Path(folder))
        return (Path(folder) / pictures.STEPS).read_text("utf-8")


def worksheet() -> str:
    """A worksheet to fill in."""
    from tinytensor import graph

    return graph.worksheet("attention-backward", None, seed=7, e_is_3=True).html


def on_files(files: Any, config: Any) -> Any:
    """MkDocs calls this with all files."""
    from mkdocs.structure.files import File

    pictures = load_pictures()
    texts = {page: step_page(getattr(pictures, name)) for page, name in PAGES.items()}
    texts["attention-case"] = attention_case(pictures)
    texts["worksheet"] = worksheet()
    for page, text in texts.items():
        files.append(File.generated(config, f"live/{page}.html", content=text))
    return files
