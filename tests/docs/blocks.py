"""The code blocks of a page, and what it says that they print.

A ```python block runs; those of a page run in order, in one namespace. A ```text block right
after one is what it prints. Any other fence (```sh, ```py, …) is only shown.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^(?P<ticks>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$", re.M | re.S)


class Block(NamedTuple):
    """A block that runs: its first line in the page, and its output if the page shows one."""

    line: int
    code: str
    output: str | None


def blocks_of(text: str) -> list[Block]:
    """The python blocks of a page, in order."""
    fences = list(FENCE.finditer(text))
    blocks = []
    for i, fence in enumerate(fences):
        if fence["info"].split()[:1] != ["python"]:
            continue
        output = None
        if i + 1 < len(fences):
            after = fences[i + 1]
            between = text[fence.end() : after.start()]
            if after["info"].strip() == "text" and not between.strip():
                output = after["body"]
        line = text.count("\n", 0, fence.start("body")) + 1
        blocks.append(Block(line, fence["body"], output))
    return blocks


def code_at(block: Block, page: Path) -> object:
    """The compiled block; its lines have the numbers that they have in the page."""
    return compile("\n" * (block.line - 1) + block.code, str(page), "exec")


def plain(output: str) -> str:
    """Output without spaces at the ends of lines, nor empty lines at its end."""
    return "\n".join(line.rstrip() for line in output.rstrip().splitlines())
