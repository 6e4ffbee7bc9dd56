"""Converts plain-text docstrings to Markdown: paragraphs, tables of arguments, code."""

from __future__ import annotations

import re

ROW = re.compile(r"^(\S+(?: \S+)*?) {2,}(\S.*)$")  # name      what it is
TERM = re.compile(r"^[\w*][\w*, ]*: ")  # name: what it is
SPECIAL = re.compile(r"([\\*_\[\]$#|{}~])")


def prose(text: str) -> str:
    """Text with Markdown's special characters escaped, outside of `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    for i, part in enumerate(parts):
        if not part.startswith("`"):
            parts[i] = SPECIAL.sub(r"\\\1", part).replace("<", "&lt;")
    return "".join(parts)


def as_markdown(text: str) -> str:
    """A docstring as Markdown."""
    return "\n\n".join(_block(block) for block in re.split(r"\n\s*\n", text.strip("\n")) if block)


def _block(block: str) -> str:
    """A paragraph: code if it is indented, a table if it has columns, a list of names, or text."""
    lines = block.splitlines()
    if all(line.startswith("    ") for line in lines):
        code = "\n".join(line[4:] for line in lines)
        return f"```python\n{code}\n```"
    rows = _rows(lines)
    if rows:
        cells = [f"| `{name}` | {prose(what)} |" for name, what in rows]
        return "\n".join(["| | |", "|---|---|", *cells])
    if sum(bool(TERM.match(line)) for line in lines) > 1 and TERM.match(lines[0]):
        return "\n".join(_item(line) for line in lines)
    return prose("\n".join(line.strip() for line in lines))


def _item(line: str) -> str:
    """An item of a list of names, or a continuation line of the item above."""
    return f"- {prose(line)}" if TERM.match(line) else f"  {prose(line.strip())}"


def _rows(lines: list[str]) -> list[tuple[str, str]]:
    """(name, what) for lines in two columns; none if the block is not such a table."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        found = ROW.match(line)
        if found and not found[1].endswith((";", ",", ".")):
            rows.append((found[1], found[2]))
        elif rows and line.startswith("  "):
            rows[-1] = rows[-1][0], f"{rows[-1][1]} {line.strip()}"
        else:
            return []
    return rows
