"""Converts formulas to MathML when the site is built: no script, font or network is needed.

`pymdownx.arithmatex` finds $inline$ and $$display$$ formulas and leaves them between \\( \\) and
\\[ \\]; this hook turns those into MathML, which browsers render themselves.
"""

from __future__ import annotations

import html
import re
from typing import Any

FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)


def mathml(latex: str, display: bool) -> str:
    """One formula as MathML."""
    from latex2mathml.converter import convert

    known = latex.strip().replace("{aligned}", "{split}")  # latex2mathml's name for it
    drawn = convert(known, display="block" if display else "inline")
    if "<mi>&</mi>" in drawn:
        raise ValueError(f"formula: got {latex.strip()!r}, expected & only in split or a matrix")
    return drawn


def with_mathml(content: str) -> str:
    """The HTML of a page, with its formulas as MathML."""

    def draw(found: re.Match) -> str:
        tag, bracket, latex = found.groups()
        drawn = mathml(html.unescape(latex), display=bracket == "[")
        return f'<{tag} class="formula">{drawn}</{tag}>'

    return FORMULA.sub(draw, content)


def on_page_content(content: str, **_: Any) -> str:
    """MkDocs calls this with each page, after Markdown."""
    return with_mathml(content)
