"""Text from outside, such as the name of a layer or a token, made safe to show.

    clean("a\\x00b\\ud800")         "a�b�"         what XML, UTF-8 and a terminal can hold
    one_line("a\\nb" + 500 * "c")  "a bccc…ccc"   a name: one line, cut in its middle
    escape('<b title="x">')       "&lt;b …"      for XML and HTML, as text and as an attribute

Every writer of pictures, pages, tables and terminal lines shows names through these, so what a
name may contain is decided here alone. Letters of all scripts, emoji and spaces stay as they are.
"""

from __future__ import annotations

import re

NAME = 120  # characters that are shown of a name
TEXT = 1000  # and of a message or a line of source code

# Control characters but for tab and newline, which some formats cannot hold and a terminal obeys;
# overrides of the writing direction, which reorder the text around them; half characters.
_FORBIDDEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
_LINE_ENDS = "\r\n?"
_BREAKS = "[\t\n\u2028\u2029]"
# Accents: more than four on one letter cover the lines around it.
_ACCENT = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_FLOOD = f"({_ACCENT}{{4}}){_ACCENT}+"
_SURROGATE = "[\ud800-\udfff]"


def clean(text: object) -> str:
    """Text with � for each character that cannot be shown; tabs and newlines stay."""
    text = str(text)
    if not text.isprintable():
        text = re.sub(_FORBIDDEN, "�", re.sub(_LINE_ENDS, "\n", text))
    return text if text.isascii() else re.sub(_FLOOD, r"\1", text)


def one_line(text: object, most: int | None = NAME) -> str:
    """Clean text on one line, of at most `most` characters; a longer one has … in its middle."""
    text = str(text)
    if most is not None:
        if len(text) <= most and text.isascii() and text.isprintable():
            return text  # the usual case
        text = cut(text, 10 * most)  # the rest of a very long one need not be looked at
    text = clean(text)
    return cut(text if text.isprintable() else re.sub(_BREAKS, " ", text), most)


def cut(text: str, most: int | None) -> str:
    """At most `most` characters: the beginning, … and the end, by which paths are told apart."""
    if most is None or len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def escape(text: object) -> str:
    """Clean text in XML or HTML: between tags, or as the value of an attribute in quotes."""
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#x27;")


def encodable_json(text: str) -> str:
    r"""JSON text that UTF-8 can hold, with half characters as \ud800: read, it is the same."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return re.sub(_SURROGATE, lambda found: f"\\u{ord(found[0]):04x}", text)
    return text


__all__ = ["NAME", "TEXT", "clean", "cut", "encodable_json", "escape", "one_line"]
