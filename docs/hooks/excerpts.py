"""Source in the pages, taken from the files when the site is built, so that it is never stale.

    {{ source tinytensor/autograd/walk.py collect }}     a function, class or method
    {{ source tinytensor/autograd/walk.py docstring }}   the text at the top of the file
    {{ source benchmarks/table.md }}                     a whole file

The line stands by itself. Above code is a link to its file; Markdown is put in as it is.
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
    """An excerpt with a link to where it is from."""
    code = excerpt(path, name)
    if path.endswith(".md"):
        return code
    language = "text" if name == "docstring" or not path.endswith(".py") else "python"
    anchor = f"#{name}" if name and name != "docstring" else ""
    link = f"[`{path}`{' · `' + name + '`' if anchor else ''}](../{path}{anchor}){{.source}}"
    return f"{link}\n\n```{language}\n{code}\n```"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs calls this with each page, before Markdown; `sources` then mends the links."""
    return DIRECTIVE.sub(lambda found: as_markdown(found[1], found[2]), markdown)
