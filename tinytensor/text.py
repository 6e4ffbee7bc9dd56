"""Make untrusted text, such as the name of a layer or a token, safe to show.

    clean("a\\x00b\\ud800")         "a�b�"         safe for XML, UTF-8 and terminals
    one_line("a\\nb" + 500 * "c")  "a bccc…ccc"   a name: one line, cut in its middle
    escape('<b title="x">')       "&lt;b …"      for XML and HTML, as text and as an attribute

Pictures, pages, tables and terminal output all pass names through these functions, so this file
alone decides what a name may contain. Letters of all scripts, emoji and spaces are kept.
"""

from __future__ import annotations

import re

NAME = 120  # the most characters shown of a name
TEXT = 1000  # and of a message or a line of source code

# Control characters except tab and newline: some formats cannot hold them, and terminals obey them;
# bidirectional overrides, which reorder the text around them; lone surrogates.
_FORBIDDEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
_LINE_ENDS = "\r\n?"
_BREAKS = "[\t\n\u2028\u2029]"
# Combining accents: more than four on one letter would cover the lines around it.
_ACCENT = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_FLOOD = f"({_ACCENT}{{4}}){_ACCENT}+"
_SURROGATE = "[\ud800-\udfff]"


def clean(text: object) -> str:
    """Replace each character that cannot be shown by �; tabs and newlines are kept."""
    text = str(text)
    if not text.isprintable():
        text = re.sub(_FORBIDDEN, "�", re.sub(_LINE_ENDS, "\n", text))
    return text if text.isascii() else re.sub(_FLOOD, r"\1", text)


def one_line(text: object, most: int | None = NAME) -> str:
    """Clean text on one line, of at most `most` characters; longer text has … in the middle."""
    text = str(text)
    if most is not None:
        if len(text) <= most and text.isascii() and text.isprintable():
            return text  # the usual case
        text = cut(text, 10 * most)  # so that very long text is not cleaned in full
    text = clean(text)
    return cut(text if text.isprintable() else re.sub(_BREAKS, " ", text), most)


def cut(text: str, most: int | None) -> str:
    """At most `most` characters: the beginning, … and the end, where paths differ."""
    if most is None or len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def escape(text: object) -> str:
    """Clean text escaped for XML and HTML: between tags, or in a quoted attribute."""
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#x27;")


def encodable_json(text: str) -> str:
    r"""JSON text that UTF-8 can encode: lone surrogates become \ud800 escapes, an equal value."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return re.sub(_SURROGATE, lambda found: f"\\u{ord(found[0]):04x}", text)
    return text


__all__ = ["NAME", "TEXT", "clean", "cut", "encodable_json", "escape", "one_line"]
