"""A worked sheet: values computed by tinytensor, each beside the figure that stands on the sheet.

A figure is right if it agrees in all the digits that are written: whole numbers to 1e-9, others in
six digits. What a sheet itself rounds to fewer digits is compared by `printed`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tinytensor as tt
from tinytensor import Tensor

from .notation import matrix

# ------------------------------------------------------------------------------------------
# All sheets
# ------------------------------------------------------------------------------------------


class Worksheet(NamedTuple):
    """A sheet that can be worked: `work` computes it, step by step."""

    title: str
    work: Callable[[Sheet], None]


WORKSHEETS: dict[str, Worksheet] = {}


def worksheet(id: str, title: str) -> Callable[[Callable], Callable]:
    """Put a function that works a sheet into WORKSHEETS."""

    def register(work: Callable[[Sheet], None]) -> Callable[[Sheet], None]:
        if id in WORKSHEETS:
            raise ValueError(f"worksheet: {id} is there twice, expected one function for each id")
        WORKSHEETS[id] = Worksheet(title, work)
        return work

    return register


# ------------------------------------------------------------------------------------------
# One sheet
# ------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One step of a sheet; right is None where there is nothing to compare."""

    kind: str  # the method of Sheet that wrote it
    name: str
    value: Any
    right: bool | None = None
    remark: str = ""


class Sheet:
    """The steps of one worked sheet, in order. Methods that take a value give it back."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def given(self, name: str, value: Any) -> Any:
        """An input or a weight."""
        self.lines.append(Line("given", name, value))
        return value

    def check(self, name: str, got: Any, figure: str) -> Any:
        """A value, and the right figure, written as `matrix` reads it."""
        return self._compare("check", name, got, _is(got, figure), f"expected {figure}")

    def words(self, name: str, got: str | list[str], expected: str | list[str]) -> Any:
        """A value that is a word or a list of words."""
        return self._compare("words", name, got, got == expected, f"expected {expected}")

    def holds(self, name: str, condition: bool) -> None:
        """Something that has to be true."""
        answer = "yes" if condition else "no"
        self._compare("holds", name, answer, bool(condition), "expected yes")

    def gradcheck(self, name: str, function: Callable[..., Any], *inputs: Tensor) -> None:
        """The engine's gradient against finite differences, where a sheet has no figures of it."""
        leaves = [x.detach().clone().requires_grad_() for x in inputs]
        agree = tt.autograd.gradcheck(function, leaves, raise_exception=False)
        self.holds(f"gradient of {name}, numerically", agree)

    def printed(self, name: str, got: Any, figure: str, within: float) -> None:
        """A figure as the sheet rounds it: no further than `within` from the value."""
        remark = f"printed {figure}, within {within:g}"
        self.lines.append(Line("printed", name, got, _is(got, figure, within), remark))

    def slip(self, name: str, right: Any, printed: str, cause: str) -> None:
        """A figure that the sheet has wrong; it has to differ from the right value."""
        remark = f"printed {printed}: {cause}"
        self.lines.append(Line("slip", name, right, not _is(right, printed), remark))

    def misread(self, name: str, right: Any, read: str, cause: str) -> None:
        """A figure that is right on the sheet, but easily read as another."""
        remark = f"can be read as {read}: {cause}"
        self.lines.append(Line("misread", name, right, not _is(right, read), remark))

    def note(self, text: str) -> None:
        self.lines.append(Line("note", "note", text))

    def _compare(self, kind: str, name: str, got: Any, right: bool, remark: str) -> Any:
        self.lines.append(Line(kind, name, got, right, "" if right else remark))
        return got

    @property
    def compared(self) -> int:
        return sum(line.right is not None for line in self.lines)

    @property
    def wrong(self) -> list[Line]:
        return [line for line in self.lines if line.right is False]

    def __str__(self) -> str:
        return "\n".join(_layout(line) for line in self.lines)


def _is(got: Any, figure: str, within: float | None = None) -> bool:
    """Whether a value has the shape of a figure and agrees with it."""
    expected, values = _array(matrix(figure)), _array(got)
    if values.shape != expected.shape:
        return False
    allowed = _tolerance(expected) if within is None else within
    with np.errstate(invalid="ignore"):  # inf − inf
        return bool(np.all((values == expected) | (np.abs(values - expected) <= allowed)))


def _tolerance(expected: np.ndarray) -> np.ndarray:
    """How far a value may be from a figure that is whole, or is written in six digits."""
    magnitude = np.abs(np.where(np.isfinite(expected), expected, 0))
    return np.where(magnitude == np.round(magnitude), 1e-9, 5e-6 * magnitude)


def _array(value: Any) -> np.ndarray:
    """Numbers as a matrix; a vector is one row."""
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    return np.atleast_2d(np.asarray(value, dtype=np.float64))


# ------------------------------------------------------------------------------------------
# On paper
# ------------------------------------------------------------------------------------------

MARGIN = 36  # characters for the name and the mark, left of the numbers


def _layout(line: Line) -> str:
    mark = {None: " ", False: "✗", True: "≠" if line.kind in ("slip", "misread") else "✓"}
    head = f"  {line.name} ".ljust(MARGIN - 2) + mark[line.right] + " "
    rows = _rows(line.value) + ([line.remark] if line.remark else [])
    if len(head) > MARGIN:  # a long name has its own line
        rows.insert(0, "")
    indented = [" " * MARGIN + row for row in rows[1:]]
    return "\n".join([(head + rows[0]).rstrip(), *indented])


def _rows(value: Any) -> list[str]:
    """Words, or the rows of a matrix with the numbers of each column under each other."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and isinstance(value[0], str):
        return ["  ".join(value)]
    # + 0.0 makes 0 of −0
    cells = [[f"{number + 0.0:.5g}" for number in row] for row in _array(value).round(9)]
    width = max(len(cell) for row in cells for cell in row)
    return ["  ".join(cell.rjust(width) for cell in row) for row in cells]


# ------------------------------------------------------------------------------------------
# Working sheets
# ------------------------------------------------------------------------------------------


def load(names: Sequence[str] = ()) -> list[str]:
    """Import modules of this folder, all unless names are given; the ids of their sheets."""
    folder = Path(__file__).parent
    known = sorted(file.stem for file in folder.glob("*.py") if not file.stem.startswith("__"))
    for name in names:
        if name not in known:
            raise SystemExit(f"byhand: got {name!r}, expected one of {', '.join(known)}")
    modules = [f"{__package__}.{name}" for name in names or known]
    for module in modules:
        importlib.import_module(module)
    return [id for id, entry in WORKSHEETS.items() if entry.work.__module__ in modules]


def work(id: str) -> Sheet:
    """The sheet, worked."""
    sheet = Sheet()
    WORKSHEETS[id].work(sheet)
    return sheet


def main(ids: Sequence[str] | None = None) -> None:
    """Work and print sheets, by default those of the module that is run; ends with the result."""
    if ids is None:
        ids = [id for id, entry in WORKSHEETS.items() if entry.work.__module__ == "__main__"]
    right = compared = 0
    for id in ids:
        sheet = work(id)
        print(f"{id}  {WORKSHEETS[id].title}\n\n{sheet}\n")
        compared += sheet.compared
        right += sheet.compared - len(sheet.wrong)
    verdict = "ok" if right == compared else "missed"
    print(f"result: right={right} target={compared} {verdict}")
    sys.exit(verdict != "ok")
