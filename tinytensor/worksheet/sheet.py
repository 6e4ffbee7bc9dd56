"""A worksheet as data: matrices of cells, and the steps that lead from one to the next.

A `Grid` is a matrix on paper together with its tensor. Its transpose, or the same matrix with a row
of ones below, is another Grid of the same cells: a number filled in once is known everywhere.

    sheet.given("W", …)                     a matrix that is printed
    sheet.step("Z", PRODUCT, X, left=W)     a matrix of blanks: W on the left, X on top
    sheet.step("dL/dW", PRODUCT, X.T, left=dZ, gradient_of=W)

Answers are computed by tinytensor. Gradients are taken from `.grad` after `backward`, and the rule
of the step must give the same numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..create import ones, tensor
from ..dtype import float64
from ..ops import cat
from ..tensor import Tensor
from .named import MASK
from .numbers import is_clean, is_readable, tolerance
from .rules import Relu, Rule

ROLES = ("input", "weight", "value", "gradient")
MOST_ZEROS = 0.35  # of all answers; a sheet of more zeros teaches nothing


class Unusable(Exception):
    """The drawn numbers are unusable."""


@dataclass(eq=False)
class Cell:
    """One number: printed, or a blank. mistakes: wrong answers with their likely causes."""

    value: float
    given: bool = False
    is_one: bool = False  # of the row of ones
    number: int = 0  # of the blank, from 1 on
    mistakes: list[tuple[float, str]] = field(default_factory=list)

    @property
    def tolerance(self) -> float:
        return tolerance(self.value)


class Grid:
    """A matrix on the sheet. role: the meaning of its colour, one of ROLES."""

    def __init__(self, name: str, tensor: Tensor, cells: Sequence[Sequence[Cell]], role: str):
        self.name = name
        self.tensor = tensor
        self.cells = [list(row) for row in cells]
        self.role = role
        self.ones: Grid | None = None  # of [X; 1]: X
        self.has_bias = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.cells), len(self.cells[0])

    @property
    def values(self) -> np.ndarray:
        return np.array([[cell.value for cell in row] for row in self.cells])

    @property
    def T(self) -> Grid:
        plain = self.name.isalnum() or self.name.startswith("[")
        name = self.name if plain else f"({self.name})"
        return Grid(f"{name}ᵀ", self.tensor.mT, list(zip(*self.cells)), self.role)

    def with_ones(self) -> Grid:
        """[X; 1]: with a row of ones below, which multiplies the bias."""
        columns = self.shape[1]
        made = self._below(f"[{self.name}; 1]", ones(1, columns, dtype=float64), [_one()] * columns)
        made.ones = self
        return made

    def over(self, other: Grid) -> Grid:
        """[H; X]: this matrix above the other one."""
        name = f"[{self.name}; {other.name}]"
        return self._below(name, other.tensor, *other.cells)

    def _below(self, name: str, rows: Tensor, *cells: Sequence[Cell]) -> Grid:
        return Grid(name, cat([self.tensor, rows]), [*self.cells, *cells], self.role)

    @property
    def weights(self) -> Grid:
        """W of [W | b]."""
        return self.columns(self.name.strip("[]").split(" | ")[0], -1)

    def columns(self, name: str, end: int) -> Grid:
        """The columns before `end`."""
        return Grid(name, self.tensor[:, :end], [row[:end] for row in self.cells], self.role)

    def row(self, name: str, i: int) -> Grid:
        return Grid(name, self.tensor[i : i + 1], [self.cells[i]], self.role)

    def same_as(self, other: Grid | None) -> bool:
        """True if both hold the same cells in the same places."""
        return other is not None and self.cells == other.cells


def _one() -> Cell:
    return Cell(1.0, given=True, is_one=True)


@dataclass(eq=False)
class SheetStep:
    """result = rule(left, top), all of it blanks."""

    rule: Rule
    left: Grid | None
    top: Grid
    result: Grid

    @property
    def formula(self) -> str:
        text = self.rule.text(self._left, self.top.name)
        return text if text == self.result.name else f"{self.result.name} = {text}"

    @property
    def beside(self) -> str:
        """The text on the left of the result: a matrix's name, or the operation."""
        return self.rule.beside(self._left)

    @property
    def how(self) -> str:
        """How to compute one cell, in words."""
        return self.rule.how(self._left, self.top.name)

    @property
    def _left(self) -> str:
        return "" if self.left is None else self.left.name


@dataclass
class Section:
    title: str
    text: str
    steps: list[SheetStep] = field(default_factory=list)


class Sheet:
    """A worksheet, built step by step.

    draw: a seeded source of random numbers. base: the value used for e.
    strict: give up at the first answer that is not clean.
    leaves: values to use in place of the drawn ones, in order.
    """

    def __init__(
        self, draw: random.Random, base: float, strict: bool = False, leaves: Sequence[Tensor] = ()
    ):
        self.draw = draw
        self.base = base
        self.sections: list[Section] = []
        self.givens: dict[str, Grid] = {}
        self.leaves: list[Tensor] = []
        self.strict = strict
        self._instead = list(leaves)

    # ------------------------------------------------------------------------------------------
    # Writing the sheet

    def section(self, title: str, text: str = "") -> None:
        self.sections.append(Section(title, text))

    def given(self, name: str, rows: Sequence[Sequence[float]], role: str = "input") -> Grid:
        """A printed matrix. It requires grad unless its role is "gradient"."""
        array = np.array(rows, dtype=np.float64)
        if role != "gradient" and self._instead:
            leaf = self._instead.pop(0)
        else:
            leaf = tensor(array, dtype=float64, requires_grad=role != "gradient")
        if role != "gradient":
            self.leaves.append(leaf)
        cells = [[Cell(float(value), given=True) for value in row] for row in array]
        grid = Grid(name, leaf, cells, role)
        grid.has_bias = " | b" in name
        self.givens[name] = grid
        return grid

    def step(
        self,
        name: str,
        rule: Rule,
        top: Grid,
        left: Grid | None = None,
        *,
        gradient_of: Grid | None = None,
        role: str = "",
    ) -> Grid:
        """A matrix of blanks, computed by the rule. gradient_of: the grid whose `.grad` it is."""
        value = rule.apply(None if left is None else left.tensor, top.tensor)
        if objection := rule.objection(None if left is None else left.values, top.values):
            raise Unusable(objection)
        if gradient_of is not None:
            value, role = self._checked_gradient(name, value, gradient_of), "gradient"
        elif value.requires_grad:
            value.retain_grad()
        array = value.detach().numpy() + 0.0  # 0 for −0
        if self.strict and not all(map(self._is_tidy, array.flat)):
            raise Unusable(f"{name} has numbers that are not clean")
        cells = [[Cell(x) for x in row] for row in array.tolist()]
        result = Grid(name, value, cells, role or top.role)
        self.sections[-1].steps.append(SheetStep(rule, left, top, result))
        return result

    def _checked_gradient(self, name: str, by_hand: Tensor, of: Grid) -> Tensor:
        """The gradient from backward, checked against the steps by hand."""
        found = of.tensor.grad
        if found is None or not np.allclose(found.numpy(), by_hand.detach().numpy(), atol=1e-9):
            raise AssertionError(f"worksheet: the steps to {name} and backward do not agree")
        return found

    # ------------------------------------------------------------------------------------------
    # Drawing numbers

    def whole(self, rows: int, columns: int, low: int, high: int) -> list[list[float]]:
        """Whole numbers, low … high."""
        return [[self.draw.randint(low, high) for _ in range(columns)] for _ in range(rows)]

    def signs(
        self, rows: int, columns: int, of: Sequence[int] = (-1, 0, 1, 1)
    ) -> list[list[float]]:
        """Weights −1, 0 or 1: no row or column of zeros only, and not all equal."""
        while True:
            drawn = [[float(self.draw.choice(of)) for _ in range(columns)] for _ in range(rows)]
            varied = rows * columns == 1 or len({value for row in drawn for value in row}) > 1
            lines = [*drawn, *zip(*drawn)] if rows > 1 else drawn
            if varied and all(map(any, lines)):
                return drawn

    def layer(self, name: str, rows: int, columns: int) -> Grid:
        """[W | b]: weights, with biases from −2 to 2 as the last column."""
        table = [[*row, self.draw.randint(-2, 2)] for row in self.signs(rows, columns)]
        return self.given(f"[{name} | {name.replace('W', 'b')}]", table, "weight")

    # ------------------------------------------------------------------------------------------
    # Reading it

    @property
    def steps(self) -> Iterator[SheetStep]:
        return (step for section in self.sections for step in section.steps)

    @property
    def blanks(self) -> Iterator[Cell]:
        for step in self.steps:
            for row in step.result.cells:
                yield from row

    def _is_tidy(self, value: float) -> bool:
        return is_readable(value) if self.base == math.e else is_clean(value)

    def untidiness(self) -> int:
        """The number of answers that are not clean or teach nothing."""
        values = [cell.value for cell in self.blanks]
        untidy = sum(not self._is_tidy(value) for value in values)
        too_many = max(0, values.count(0.0) - int(MOST_ZEROS * len(values)))
        return untidy + too_many + self._is_dull()

    def _is_dull(self) -> bool:
        """True if ReLU sets none of many numbers to zero, or its mask stops no gradient."""
        struck = [step.top.values < 0 for step in self.steps if isinstance(step.rule, Relu)]
        stopped = [
            (step.left.values < 0) & (step.top.values != 0)
            for step in self.steps
            if step.rule is MASK and step.left is not None
        ]
        many = sum(marks.size for marks in struck) > 3
        return any(
            marks and not any(map(np.any, marks)) for marks in (struck if many else [], stopped)
        )

    def finish(self) -> None:
        """Number the blanks and compute the wrong answers of common mistakes."""
        for number, cell in enumerate(self.blanks, 1):
            cell.number = number
        for step in self.steps:
            left = None if step.left is None else step.left.values
            result = step.result.values
            for hint, wrong in step.rule.mistakes(left, step.top.values, result):
                _note(step.result, np.asarray(wrong, dtype=np.float64), hint)


def _note(result: Grid, wrong: np.ndarray, hint: str) -> None:
    """Keep a wrong answer where it differs from the right one and from other wrong ones."""
    if wrong.shape != result.shape:
        return
    for cells, values in zip(result.cells, wrong.tolist()):
        for cell, value in zip(cells, values):
            known = [cell.value, *(other for other, _ in cell.mistakes)]
            if math.isfinite(value) and all(abs(value - x) > 2 * tolerance(x) for x in known):
                cell.mistakes.append((value + 0.0, hint))  # 0 for −0


__all__ = ["ROLES", "Cell", "Grid", "Section", "Sheet", "SheetStep", "Unusable"]
