"""Rules: the calculation of one step, from a matrix on top and usually one on the left.

A rule has five parts: the computation by the engine (`apply`), its description (`text`, `beside`,
`how`), the formula of a cell in a spreadsheet (`formula`), the wrong answers of common mistakes
(`mistakes`), and inputs that no sheet should have (`objection`), such as a ReLU of 0, which has no
slope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..tensor import Tensor

Array = np.ndarray
Mistake = tuple[str, Array]  # the hint, and the wrong answers
Places = Sequence[Sequence[str]]  # of a matrix in a spreadsheet: B3, C3 …

SIGN = "Right but for its sign."


class Rule:
    """result = rule(left, top); `left` is None for rules of one matrix."""

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        raise NotImplementedError

    def text(self, left: str, top: str) -> str:
        """The right-hand side of the equation."""
        raise NotImplementedError

    def beside(self, left: str) -> str:
        """The text on the left of the result."""
        return left

    def how(self, left: str, top: str) -> str:
        """How to compute one cell, shown for unknown mistakes; {row}, {column}: its place."""
        return f"Work out {self.text(left, top)} there."

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        """The spreadsheet formula of cell (i, j), from the places of the other cells."""
        raise NotImplementedError

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        """Wrong answers, the likeliest first; answers of another shape are ignored."""
        yield SIGN, -result

    def objection(self, left: Array | None, top: Array) -> str:
        """Why these numbers are unusable; empty if they are fine."""
        return ""


class Product(Rule):
    """left·top: row of the left times column of the top, result at the crossing

    bias: the last column of the left is a bias, and the last row of the top has ones.
    """

    def __init__(self, bias: bool = False):
        self.bias = bias

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        assert left is not None
        return left @ top

    def text(self, left: str, top: str) -> str:
        return f"{left}·{top}"

    def how(self, left: str, top: str) -> str:
        return f"Row {{row}} of {left} times column {{column}} of {top}, added up."

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        return "+".join(f"{a}*{row[j]}" for a, row in zip(left[i], top))

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        assert left is not None
        terms = left[:, :, None] * top[None, :, :]  # (rows, inner, columns)
        if self.bias:
            hint = "The bias is missing: it is multiplied by the row of ones."
            yield hint, left[:, :-1] @ top[:-1]
        if left.shape[0] == left.shape[1]:
            yield "Transposed: take rows, not columns, of the matrix on the left.", left.T @ top
        if top.shape[0] == top.shape[1]:
            yield "Transposed: take columns, not rows, of the matrix on top.", left @ top.T
        yield "Transposed: row and column are swapped.", result.T
        yield SIGN, -result
        for k in range(terms.shape[1]):
            yield "Not accumulated: this is one product of the sum alone.", terms[:, k]
        for k in range(terms.shape[1]):
            yield "Not accumulated: one product of the sum is missing.", result - terms[:, k]


class Each(Rule):
    """A function of each number."""

    def __init__(
        self,
        name: str,
        function: Callable[[Tensor], Tensor],
        formula: str,
        slips: Callable[[Array], Sequence[Mistake]] = lambda top: (),
        text: str = "",
    ):
        self.name, self.function, self.cell, self.slips = name, function, formula, slips
        self.words = text or f"{name}({{top}})"

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        return self.function(top)

    def text(self, left: str, top: str) -> str:
        return self.words.format(top=top)

    def beside(self, left: str) -> str:
        return self.name

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        return self.cell.format(top[i][j])

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        yield from self.slips(top)
        yield SIGN, -result
        yield "Transposed: row and column are swapped.", result.T


class Relu(Each):
    def __init__(self) -> None:
        super().__init__("ReLU", lambda top: top.relu(), "MAX(0,{})", self._slips)

    def _slips(self, top: Array) -> Sequence[Mistake]:
        turned = np.where(top < 0, -top, np.nan)
        return (
            ("ReLU is forgotten: strike out what is negative and write 0.", top),
            ("ReLU does not change the sign: what is negative becomes 0.", turned),
            ("What is positive stays as it is.", np.zeros_like(top)),
        )

    def how(self, left: str, top: str) -> str:
        return f"0 if {top} is negative there, and {top} itself if it is positive."

    def objection(self, left: Array | None, top: Array) -> str:
        return "a ReLU of 0" if (top == 0).any() else ""


class Pairwise(Rule):
    """A function of two numbers in the same place; a single row or column is broadcast.

    text has {left} and {top} for the two matrices, formula {0} and {1} for the two numbers.
    """

    def __init__(
        self,
        sign: str,
        function: Callable[[Any, Any], Any],
        text: str,
        formula: str,
        slips: Callable[[Array, Array], Sequence[Mistake]],
    ):
        self.sign, self.function, self.words = sign, function, text
        self.cell, self.slips = formula, slips

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        return self.function(left, top)

    def text(self, left: str, top: str) -> str:
        return self.words.format(left=left, top=top)

    def beside(self, left: str) -> str:
        return self.sign.format(left)

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        a = left[i % len(left)][j % len(left[0])]  # a single row or column is broadcast
        b = top[i % len(top)][j % len(top[0])]
        return self.cell.format(a, b)

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        assert left is not None
        yield from self.slips(*np.broadcast_arrays(left, top))
        yield SIGN, -result
        yield "Transposed: row and column are swapped.", result.T


class Fold(Rule):
    """The sum or mean of each column (axis 0) or of each row (axis 1)."""

    def __init__(self, axis: int, mean: bool = False):
        self.axis, self.mean = axis, mean
        self.line = "row" if axis else "column"

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        fold = top.mean if self.mean else top.sum
        return fold(dim=self.axis, keepdim=True)

    def text(self, left: str, top: str) -> str:
        return f"{'mean' if self.mean else 'sum'} of each {self.line} of {top}"

    def beside(self, left: str) -> str:
        return "mean" if self.mean else "Σ"

    def how(self, left: str, top: str) -> str:
        return f"The {'mean' if self.mean else 'sum'} of {self.line} {{{self.line}}} of {top}."

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        cells = top[i] if self.axis else [row[j] for row in top]
        return f"{'AVERAGE' if self.mean else 'SUM'}({','.join(cells)})"

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        total = top.sum(axis=self.axis, keepdims=True)
        if self.mean:
            yield "Not divided by how many there are.", total
        if top.shape[0] == top.shape[1]:
            across = top.sum(axis=1 - self.axis, keepdims=True).T
            yield f"Along the wrong side: take each {self.line}.", across
        yield SIGN, -result
        if not self.mean:
            for k in range(top.shape[self.axis]):
                part = np.take(top, [k], axis=self.axis)
                yield "Not accumulated: one number of the sum is missing.", total - part


class Choose(Rule):
    """1 for the largest number of each column, or the `count` largest, and 0 for the others"""

    def __init__(self, count: int = 1):
        self.count = count
        self.words = "the largest" if count == 1 else f"the {count} largest"

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        least = top.sort(dim=0, descending=True).values[self.count - 1]
        return (top >= least).to(top.dtype)

    def text(self, left: str, top: str) -> str:
        return f"1 for {self.words} of each column of {top}, 0 for the others"

    def beside(self, left: str) -> str:
        return "choose"

    def how(self, left: str, top: str) -> str:
        return f"1 if {top} has {self.words} of column {{column}} there, 0 if not."

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        larger = "+".join(f"({row[j]}>{top[i][j]})" for row in top)
        return f"IF({larger}<{self.count},1,0)"

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        yield "Write 1 for what is chosen and 0 for the others, not the number itself.", top
        yield f"Look down the column: {self.words} of it is a 1.", 1 - result

    def objection(self, left: Array | None, top: Array) -> str:
        ordered = np.sort(top, axis=0)[::-1]
        return "a tie" if (abs(np.diff(ordered[: self.count + 1], axis=0)) < 1e-9).any() else ""


class Cumulate(Rule):
    """Sums down each column, from its top to each place"""

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        return top.cumsum(dim=0)

    def text(self, left: str, top: str) -> str:
        return f"{top}, added up from the top of each column"

    def beside(self, left: str) -> str:
        return "add up ↓"

    def how(self, left: str, top: str) -> str:
        return f"The first {{row}} numbers of column {{column}} of {top}, added up."

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        return f"SUM({','.join(row[j] for row in top[: i + 1])})"

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        yield "Not accumulated: this is the number itself.", top
        yield "Added up from below: begin at the top.", top[::-1].cumsum(axis=0)[::-1]
        yield "One too few is added up.", result - top


class Pick(Rule):
    """The number of the first row whose sum is at least the random number on the left"""

    def apply(self, left: Tensor | None, top: Tensor) -> Tensor:
        assert left is not None
        return (top < left - 1e-9).to(top.dtype).sum(dim=0, keepdim=True) + 1

    def text(self, left: str, top: str) -> str:
        return f"the first row of each column of {top} that reaches {left}"

    def beside(self, left: str) -> str:
        return f"{left} ≤"

    def how(self, left: str, top: str) -> str:
        return f"Go down column {{column}} of {top} until it is at least the number in {left}."

    def formula(self, i: int, j: int, left: Places, top: Places) -> str:
        return "+".join(["1", *(f"({row[j]}<{left[0][j]}-0.000000001)" for row in top)])

    def mistakes(self, left: Array | None, top: Array, result: Array) -> Iterator[Mistake]:
        yield "Rows are counted from 1.", result - 1
        yield "One row too far: the first that reaches the number is taken.", result + 1

    def objection(self, left: Array | None, top: Array) -> str:
        assert left is not None
        return "a number on the border" if (abs(top - left) < 1e-9).any() else ""


# fmt: off
__all__ = [
    "SIGN", "Choose", "Cumulate", "Each", "Fold", "Pairwise", "Pick", "Product", "Relu", "Rule",
]
# fmt: on
