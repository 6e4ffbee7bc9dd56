"""Makes a page of each notebook in docs/notebooks/, with a link to download it."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any


def as_markdown(text: str, name: str) -> str:
    """A notebook's cells, with a link to the notebook after its title."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"]).rstrip()
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    title, _, rest = parts[0].partition("\n")
    download = f'<p><a href="{name}" download>Download this notebook</a></p>'
    return "\n\n".join([title, download, rest.strip(), *parts[1:]]) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """MkDocs calls this with all files."""
    from mkdocs.structure.files import File

    for notebook in [f for f in files if f.src_uri.endswith(".ipynb")]:
        path = PurePosixPath(notebook.src_uri)
        text = as_markdown(notebook.content_string, path.name)
        files.append(File.generated(config, str(path.with_suffix(".md")), content=text))
    return files
