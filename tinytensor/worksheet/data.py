"""A worksheet as JSON, for other programs: its steps, with null for each blank."""

from __future__ import annotations

import json
from typing import Any

from .sheet import Cell, Grid, Sheet, SheetStep


def as_json(sheet: Sheet, about: dict[str, Any], key: bool = False) -> str:
    """The JSON text. about: title, kind, size, seed … key: with answers and common mistakes."""
    sections = [
        {
            "title": section.title,
            "text": section.text,
            "steps": [_step(step, key) for step in section.steps],
        }
        for section in sheet.sections
    ]
    content = {**about, "sections": sections}
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _step(step: SheetStep, key: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "formula": step.formula,
        "left": None if step.left is None else _grid(step.left, key),
        "top": _grid(step.top, key),
        "result": _grid(step.result, key),
    }
    if key:
        described["checks"] = [[_check(cell) for cell in row] for row in step.result.cells]
    return described


def _grid(grid: Grid, key: bool) -> dict[str, Any]:
    rows = [[cell.value if cell.given or key else None for cell in row] for row in grid.cells]
    return {"name": grid.name, "role": grid.role, "rows": rows}


def _check(cell: Cell) -> dict[str, Any]:
    mistakes = [{"value": value, "hint": hint} for value, hint in cell.mistakes]
    return {"answer": cell.value, "tolerance": cell.tolerance, "mistakes": mistakes}


__all__ = ["as_json"]
