"""Hostile names: what a layer, a token or a metric may be called, and how each is to be shown."""

from __future__ import annotations

import unicodedata

TAGS = [
    "<b>bold</b>", "<script>window.__pwned=1</script>",
    "</script><script>window.__pwned=1</script>", "<svg onload=window.__pwned=1>",
    "<svg/onload=window.__pwned=1//", "<img src=x onerror=__pwned=1>",
    "<iframe srcdoc='<script>parent.__pwned=1</script>'>", "<body onload=__pwned=1>",
    "<math><mi//xlink:href='data:x,<script>__pwned=1</script>'>", "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//evil>", "<meta http-equiv=refresh content=0>",
    "<base href=//evil/>", "<object data=javascript:__pwned=1>",
    "<embed src=javascript:__pwned=1>", "<a href=x>link</a>", "<details open ontoggle=__pwned=1>",
    "<video><source onerror=__pwned=1>", "<input autofocus>", "<form action=//evil><button>go",
    "<template><script>__pwned=1</script></template>",
    "<svg><animate onbegin=__pwned=1 attributeName=x dur=1s>", "<svg><use href='#x'/></svg>",
    "<svg><foreignObject><p>in</p></foreignObject></svg>", "<marquee onstart=__pwned=1>",
    "<xss id=x tabindex=1 onfocus=__pwned=1>", "<noscript><p title='</noscript><b>'>",
    "<plaintext>", "<textarea></textarea><b>", "</title><b>title", "</h1><b>head",
    "</style><b>style", "<!DOCTYPE x>", "<?xml version='1.0'?>", "<?php echo 1 ?>",
    "<![CDATA[x]]>", "]]>", "<!-- comment -->", "<!--", "-->", "--!>",
    "<!ENTITY x SYSTEM 'file:///etc/passwd'>", "</", "<", ">", "< b >", "<<b>>", "<B>x</B>",
    "</TABLE>>", "<TR><TD>cell</TD></TR>", "<FONT COLOR='red'>x</FONT>", "<BR/>", "</g></svg>",
    "<title>x</title>", "<text x='0'>y</text>", "\u003cscript\u003e__pwned=1", "＜script＞",
    "<ſcript>",
]  # fmt: skip
ATTRIBUTES = [
    '"', "'", "`", '" onload="__pwned=1', "' onload='__pwned=1", '"><b>', "'><b>",
    "` onload=`__pwned=1", '" style="position:fixed', "' autofocus onfocus='__pwned=1' x='", '\\"',
    "\\'", '""', "''", "“quoted”", "«x»", "‘x’", '"/>', "x=y", "onclick=__pwned=1",
    "javascript:__pwned=1", "JaVaScRiPt:__pwned=1", "data:text/html,<script>__pwned=1</script>",
    "vbscript:x", "url(javascript:x)", "expression(x)", "red; background: url(//evil)",
    "}*{color:red", "/*css*/", "*/", "@import '//evil'",
]  # fmt: skip
ENTITIES = [
    "&", "&amp;", "&lt;b&gt;", "&#60;b&#62;", "&#x3c;b&#x3e;", "&lt", "&notanentity;", "&#0;",
    "&#xD800;", "&#x110000;", "&quot;", "&apos;", "&nbsp;", "&&&", "&amp;lt;", "a&b;c",
    "%3Cscript%3E", "%00", "\\u003cscript\\u003e", "\\x3cscript\\x3e",
]  # fmt: skip
CODE = [
    "{}", "{0}", "{name}", "{{x}}", "{x!r:>10}", "{0.__class__}", "%s", "%(name)s", "%d%n", "%",
    "${x}", "$(id)", "`id`", "{{7*7}}", "{% x %}", "<%= 7*7 %>", "#{x}", "; rm -rf /", "| cat",
    "&& x", "$HOME", "~", "*", "?", "\\1", "\\g<0>", "(?i)x", "[a-z]+", "^$", "constructor",
    "__proto__", "toString", "prototype", "hasOwnProperty", "null", "undefined", "NaN", "Infinity",
    "-inf", "True", "None", "0", "-1", "1e999", "__class__", "$\\LaTeX$", "\\input{x}",
    "\\frac{a}{b}", "_x_", "**x**", "[x](y)", "# x", "- x", "|x|y|",
]  # fmt: skip
DOT = [
    "a -> b", "a -- b", "digraph {", "}", "{a|b}", "<p0> a|<p1> b", "a; b", "a [label=x]", '"]',
    '"];x[label="', "\\N", "\\G", "\\E", "\\L", "\\T", "\\H", "\\l", "\\r", "\\n", "\\", "\\\\",
    "\\\\\\", "x\\", "//x", "/*x*/", "#x", "subgraph cluster_0", "node", "edge", "graph", "strict",
    "a:n", "b0", "n0", "cluster_0",
]  # fmt: skip
CELLS = [
    "=1+1", "+1", "-1+1", "@SUM(A1)", "=HYPERLINK(1)", "=cmd|'/C calc'!A0", "'=1", "\t=1", "=",
    "A1", "#REF!",
]  # fmt: skip
PATHS = [
    "../../etc/passwd", "..", "/etc/passwd", "C:\\x", "\\\\host\\x", "a/b", "CON", "nul", "x:y",
    "a b ", " a",
]  # fmt: skip
CONTROL = [
    *(f"c{code:02x}{chr(code)}x" for code in (*range(0x20), *range(0x7F, 0xA0, 3), 0x85, 0x9B)),
    "\x00", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x9b31mred",
    "over\rwritten", "two\nlines", "two\r\nlines", "back\b\b\bspace", "line\u2028separator",
    "paragraph\u2029separator", "high\ud800x", "low\udfffx", "\udc80\udcff", "\ud83d",
    "swapped\ude00\ud83d", "non\ufffex", "non\uffffx", "nul\x00</script><b>",
]  # fmt: skip
UNICODE = [
    "ünïcödé", "层", "Слой", "שכבה", "طبقة", "परत", "ชั้น", "🙂", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇨🇭", "e\u0301",
    "ﬁ", "Ω", "ＡＢ", "\u202eevil\u202c", "\u2066isolated\u2069", "\u202dx", "zero\u200bwidth",
    "join\u200der", "soft\u00adhyphen", "bom\ufeffx", "rtl\u200fmark", "no\u00a0break",
    "\u3000wide", "\U0001f9d1\U0001f3fd", "\ue000private", "\U0010fffdx", "\ufdd0x",
    "a" + 60 * "\u0301" + "z", "𝓜𝓪𝓽𝓱", "ı İ ß", "x" + "\ufe0f" + "y",
]  # fmt: skip
LONG = [
    20_000 * "a", "word " * 4_000, 20_000 * "<", 20_000 * '"', 20_000 * "\\", 20_000 * "&",
    20_000 * "\x00", 20_000 * "\u0301", 10_000 * "🙂", 20_000 * "\n", 20_000 * "層",
    "start" + 20_000 * "-" + "end",
]  # fmt: skip
BLANK = [
    " ", "   ", "\t", "\n", "\u00a0", "\u200b",
]  # fmt: skip
EMPTY = ""

NAMES = list(
    dict.fromkeys(
        TAGS + ATTRIBUTES + ENTITIES + CODE + DOT + CELLS + PATHS + CONTROL + UNICODE + LONG + BLANK
    )
)

REPLACED = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF}


def is_replaced(character: str) -> bool:
    """Whether � is to be shown in its place. Independent of tinytensor.text, to check it."""
    if character in "\t\n\r":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or ord(character) in REPLACED


def visible(name: str) -> str:
    """A name as it is to be shown, without spaces, of which writers may make more or fewer."""
    return squeezed("".join("�" if is_replaced(c) else c for c in name))


def squeezed(text: str) -> str:
    """Text without spaces, and without the space of no width that Graphviz needs after \\."""
    return "".join(c for c in text if not c.isspace() and c != "\u200b")


def beginning(name: str) -> str:
    """As much of it as every writer shows; no more than four accents on a letter."""
    return visible(name)[: 4 if "\u0301\u0301" in name else 12]


def as_module_name(name: str) -> str:
    """A name that a module may have: without a dot, and not that of one of its methods."""
    return name.replace(".", "·")
