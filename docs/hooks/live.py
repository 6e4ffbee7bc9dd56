"""Pages that tinytensor itself writes, as a part of the site: they are made when it is built.

The graphs are those of docs/pictures.py, so that a picture and its page show the same numbers.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from symbols import ROOT

PAGES = {"attention-head": "attention", "network": "mlp", "transformer": "transformer"}


def step_page(name: str) -> str:
    """The step-through page of one of the graphs in docs/pictures.py."""
    import tinytensor as tt
    from tinytensor import graph

    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None and spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    tt.manual_seed(3)
    return graph.explore(getattr(pictures, name)).html


def worksheet() -> str:
    """A worksheet to fill in."""
    from tinytensor import graph

    return graph.worksheet("attention-backward", None, seed=7, e_is_3=True).html


def on_files(files: Any, config: Any) -> Any:
    """MkDocs calls this with all files."""
    from mkdocs.structure.files import File

    texts = {page: step_page(name) for page, name in PAGES.items()}
    texts["worksheet"] = worksheet()
    for page, text in texts.items():
        files.append(File.generated(config, f"live/{page}.html", content=text))
    return files
