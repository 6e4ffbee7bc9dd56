"""The notebooks run from top to bottom, show what they promise, and are kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
PAGES = {  # how many pages in frames each one shows
    "quickstart": 1,
    "attention_by_hand": 1,
    "train_a_gpt": 3,
}


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_all_notebooks_are_listed() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(PAGES)
    index = (NOTEBOOKS / "index.md").read_text("utf-8")
    assert all(f"({name}.ipynb)" in index for name in PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_not_kept(name: str) -> None:
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))
    cells = code_cells(notebook)
    kept = [cell["id"] for cell in cells if cell["outputs"] or cell["execution_count"]]
    assert not kept, f"{name}: clear the outputs of {', '.join(kept)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    reason = "notebooks need pip install nbclient ipykernel"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    outputs = [output for cell in code_cells(notebook) for output in cell["outputs"]]
    shown = [output["data"].get("text/html", "") for output in outputs if "data" in output]
    assert sum("<iframe" in html for html in shown) == PAGES[name]
