"""Pages in one file: styles, scripts and data are inside, and nothing is fetched.

    html = page("Attention", "<main id=app></main>", {"maps": maps}, ["attention.css"],
                ["attention.js"])
    write_page("attention.html", html)

Styles and scripts are files of the folder `assets/`. Each page has `base.css` and `base.js` first:
colours for light and dark, print rules, and the helpers under the name `TT`. A script reads its
data by `TT.data("maps")`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from html import escape as escape_html
from pathlib import Path
from typing import Any

from ...text import clean, escape, one_line
from ..drawing import palette
from ..files import write_text

ASSETS = Path(__file__).parent / "assets"
TITLE = 200  # characters of a title

Asset = str | Path

# Whatever a label or value contains, the page runs only its own scripts and contacts no server.
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tinytensor">
<title>{title}</title>
<link rel="icon" href="data:,">
{styles}
</head>
<body>
<header class="head">
<h1>{title}</h1>
<div class="tools" id="tools"></div>
<button id="theme" type="button" class="quiet-button"></button>
</header>
{body}
<div id="live" class="unseen" aria-live="polite"></div>
<noscript><p class="note">This page draws itself with JavaScript, which is off.</p></noscript>
{data}
{scripts}
</body>
</html>
"""


def page(
    title: str,
    body: str,
    data: Mapping[str, object] | None = None,
    styles: Sequence[Asset] = (),
    scripts: Sequence[Asset] = (),
) -> str:
    """The text of a page that needs no other file and no network.

    title: plain text. body: HTML, whose labels are already escaped. data: {name: value for JSON}.
    styles, scripts: names of files in `assets/`, or paths of other files, in order.
    """
    codes = [asset(name) for name in ("base.js", *scripts)]
    blocks = {**(data or {}), "palette": palette.as_data()}
    return TEMPLATE.format(
        policy=POLICY.format(scripts=" ".join(map(_fingerprint, codes))),
        title=escape(one_line(title, TITLE)),
        styles="\n".join(f"<style>\n{asset(name)}</style>" for name in ("base.css", *styles)),
        body=body,
        data="\n".join(_data_block(name, value) for name, value in blocks.items()),
        scripts="\n".join(f"<script>{code}</script>" for code in codes),
    )


def asset(name: Asset) -> str:
    """The text of a file of the folder `assets/`, or of any file given by its full path."""
    return (ASSETS / name).read_text(encoding="utf-8")


def _fingerprint(code: str) -> str:
    """The hash of a script, for the policy."""
    digest = hashlib.sha256(code.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _data_block(name: str, value: object) -> str:
    return f'<script type="application/json" id="data-{escape(name)}">{to_json(value)}</script>'


def to_json(value: object) -> str:
    """JSON of clean text that is safe inside <script>.

    nan and inf, which JSON lacks, are strings.
    """
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":  # in JSON these occur only inside strings
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


class Page:
    """A page: its text `html`, and the `path` of its file. Notebooks display it."""

    def __init__(self, html: str, path: str | os.PathLike | None = None):
        self.html = html
        self.path = None if path is None else write_page(path, html)

    def summary(self) -> str:
        """The content of the page, in a few words."""
        return f"{len(self.html) / 1e3:,.0f} KB"

    def __repr__(self) -> str:
        where = "" if self.path is None else f", in {clean(self.path)}"
        return f"{type(self).__name__}({self.summary()}{where})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": frame(self.html)}


def frame(html: str, height: int = 640) -> str:
    """The page in an isolated frame, for notebooks."""
    return (
        f'<iframe srcdoc="{escape_html(html)}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {height}px; border: 0" loading="lazy"></iframe>'
    )


def write_page(path: str | os.PathLike, html: str) -> Path:
    """Write the page; an error leaves an existing file unchanged."""
    return write_text(path, html)


__all__ = ["Page", "asset", "frame", "page", "to_json", "write_page"]
