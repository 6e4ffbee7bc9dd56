"""Text from outside: what is replaced, what is cut, what stays."""

from __future__ import annotations

import json
from html import unescape

import pytest

from tinytensor.text import clean, cut, encodable_json, escape, one_line

from .injection.names import NAMES, UNICODE, is_replaced

ORDINARY = [
    "blocks.0.attn.weight", "ünïcödé 层 Слой", "שכבה", "طبقة", "परत", "👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭", "e\u0301",
    "a  b ", "x²·∂y/∂x", "Việt Nam", "q̄̃", "\ue000",
]  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_names_stay_as_they_are(name: str) -> None:
    assert clean(name) == one_line(name) == unescape(escape(name)) == name


def test_every_character() -> None:
    """All of Unicode, one by one, against the rule as the tests have it."""
    everything = "".join(map(chr, range(0x110000))).replace("\r", "")
    for start in range(0, len(everything), 0x1000):
        block = "".join(f"{c}." for c in everything[start : start + 0x1000])
        assert clean(block) == "".join("�" if is_replaced(c) else c for c in block)


def test_lines() -> None:
    assert clean("a\r\nb\rc\nd\te") == "a\nb\nc\nd\te"
    assert one_line("a\r\nb\rc\nd\te\u2028f") == "a b c d e f"
    assert clean("\x1b[31mred\x1b[0m \x9b1m") == "�[31mred�[0m �1m"


def test_a_flood_of_accents() -> None:
    assert clean("a" + 500 * "\u0301" + "b") == "a" + 4 * "\u0301" + "b"


def test_cutting() -> None:
    assert cut("0123456789", 10) == one_line("0123456789", 10) == "0123456789"
    assert cut("0123456789a", 10) == "012345…89a"
    assert cut("anything", None) == "anything"
    assert cut("abc", 1) == "…" and cut("abc", 2) == "a…"
    path = f"Net.{20_000 * 'x'}.weight"
    assert one_line(path).startswith("Net.xxx") and one_line(path).endswith("xxx.weight")
    assert len(one_line(path)) == 120
    for name in NAMES:
        assert len(one_line(name)) <= 120 and len(one_line(name, 7)) <= 7


def test_what_is_escaped() -> None:
    assert escape("<a & 'b' \"c\">") == "&lt;a &amp; &#x27;b&#x27; &quot;c&quot;&gt;"
    assert escape("]]> \0") == "]]&gt; �"
    assert escape(7) == "7"


def test_json_with_half_characters_can_be_encoded() -> None:
    names = [*UNICODE, "\ud800", "\\ud800", "\udc80\ud83d"]
    text = encodable_json(json.dumps(names, ensure_ascii=False))
    assert json.loads(text.encode("utf-8")) == names
