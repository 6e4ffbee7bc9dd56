"""Drop the lines of a program that a difference does not need."""

from __future__ import annotations

import torch

from .compare import check
from .program import run


def shrink(dtype: str, lines: list[str]) -> list[str]:
    """The program without the lines that can be left out while some difference stays."""
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(lines))):
            shorter = lines[:i] + lines[i + 1 :]
            if _differs(dtype, shorter):
                lines, changed = shorter, True
    return lines


def _differs(dtype: str, lines: list[str]) -> bool:
    theirs = run(torch, dtype, lines)
    if any(isinstance(error, NameError) for error in theirs.errors):
        return False  # a line that another one needs is gone
    return check(dtype, lines, theirs) is not None
