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


def on_files(files: Any, config: Any) -> Any:
    """MkDocs calls this with all files."""
    from mkdocs.structure.files import File

    for page, name in PAGES.items():
        files.append(File.generated(config, f"live/{page}.html", content=step_page(name)))
    return files
