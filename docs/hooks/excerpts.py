"""Puts source code into pages when the site is built, so that it is never out of date.

    {{ source tinytensor/autograd/walk.py collect }}     a function, class or method
    {{ source tinytensor/autograd/walk.py docstring }}   the text at the top of the file
    {{ source docs/measured.md }}                        a whole file

Each is a line of its own. Code gets a link to its file above it; Markdown is inserted unchanged.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

from symbols import ROOT, lines_of

DIRECTIVE = re.compile(r"^\{\{ source (\S+)(?: (\S+))? \}\}$", re.MULTILINE)


def excerpt(path: str, name: str | None = None) -> str:
    """The source of a symbol, or of a whole file, without indentation."""
    text = (ROOT / path).read_text("utf-8")
    if name is None:
        return text.rstrip()
    if name == "docstring":
        return (ast.get_docstring(ast.parse(text)) or "").rstrip()
    first, last = lines_of(path, name)
    return textwrap.dedent("\n".join(text.splitlines()[first - 1 : last]))


def as_markdown(path: str, name: str | None) -> str:
    """An excerpt below a link to its source."""
    code = excerpt(path, name)
    if path.endswith(".md"):
        return code
    language = "text" if name == "docstring" or not path.endswith(".py") else "python"
    anchor = f"#{name}" if name and name != "docstring" else ""
    link = f"[`{path}`{' · `' + name + '`' if anchor else ''}](../{path}{anchor}){{.source}}"
    return f"{link}\n\n```{language}\n{code}\n```"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs calls this with each page, before Markdown; `sources` then rewrites the links."""
    return DIRECTIVE.sub(lambda found: as_markdown(found[1], found[2]), markdown)
