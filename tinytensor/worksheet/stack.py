"""The layout of a sheet: a stack of matrices that grows downwards, left factors beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .rules import Product
from .sheet import Grid, Section, SheetStep


class Row(NamedTuple):
    """A matrix of the stack. step: the step with this result; None for an operand on top."""

    stack: Grid
    step: SheetStep | None
    only_ones: bool = False  # only the row of ones of the matrix above it


def rows(section: Section) -> Iterator[Row]:
    """The stack of a section, from its top."""
    shown: list[Grid] = []
    for step in section.steps:
        top, last = step.top, shown[-1] if shown else None
        if top.ones is not None and top.ones.same_as(last):
            yield Row(Grid("", top.tensor, top.cells[-1:], top.role), None, only_ones=True)
        elif not _is_there(step, shown):
            shown.append(top)
            yield Row(top, None)
        shown.append(step.result)
        yield Row(step.result, step)


def _is_there(step: SheetStep, shown: list[Grid]) -> bool:
    """True if the operand is right on top, or for rules other than products one row above."""
    near = shown[-1:] if isinstance(step.rule, Product) else shown[-2:]
    return any(step.top.same_as(grid) for grid in near)


__all__ = ["Row", "rows"]
