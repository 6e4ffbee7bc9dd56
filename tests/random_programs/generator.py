"""Writes a random program line by line. PyTorch runs along, so that each line knows its shapes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from . import computations, passes, views, writes
from .program import Run, ends_program, quiet, run

T = TypeVar("T")
LARGEST = 150  # elements of a tensor that goes on being used


class Generator:
    """The program so far, PyTorch's side of it, and the random choices."""

    def __init__(self, seed: int):
        self.choices = random.Random(seed)
        self.dtype = "float32" if self.chance(0.1) else "float64"
        self.run = Run(torch, self.dtype)
        self.lines: list[str] = []
        self.names: list[str] = []  # of float tensors
        self.aside: list[str] = []  # of views made under no_grad, which stay inside it
        self.gradients: set[int] = set()  # storages of gradients that the program holds
        self.hidden: set[str] = set()  # names of x.data and its views: writes are not noticed
        self.hooked: set[int] = set()  # ids of tensors with hooks
        self.made = 0
        self.broken = False
        self.without_grad = 0  # how many more lines are to be under no_grad

    # ---- choices

    def chance(self, p: float) -> bool:
        return self.choices.random() < p

    def integer(self, low: int, high: int) -> int:
        """low ≤ the result < high."""
        return self.choices.randrange(low, high)

    def one(self, of: Sequence[T]) -> T:
        return self.choices.choice(of)

    def seed(self) -> int:
        """A number for `num` and `mask`."""
        return self.choices.randrange(1000)

    def dim(self, x: Any) -> int:
        return self.integer(-x.ndim, x.ndim)

    def number(self) -> float:
        return self.one((0.5, -0.75, 1.5, 2, -1, 0.25))

    # ---- tensors

    def __getitem__(self, name: str) -> Any:
        return self.run.variables[name]

    def tensor(self) -> str:
        """Any tensor, mostly one of the newest."""
        if self.without_grad and self.aside and self.chance(0.3):
            return self.one(self.aside)
        names = self.names[-6:] if self.chance(0.6) else self.names
        return self.one(names)

    def storage(self, name: str) -> int:
        return self[name].untyped_storage().data_ptr()

    def tracked(self) -> list[str]:
        return [name for name in self.names if self[name].requires_grad]

    def operand(self, shape: tuple, apart_from: str = "") -> str:
        """A tensor that broadcasts to `shape`, or a new one of it.

        apart_from: a tensor that is written to, with which it shares no memory.
        """
        fitting = [n for n in self.names if _expands_to(self[n].shape, shape)]
        if apart_from:
            memory = self.storage(apart_from)
            fitting = [n for n in fitting if self.storage(n) != memory]
        if fitting and self.chance(0.75):
            return self.one(fitting)
        return f"num({self.seed()}, {tuple(shape)})"

    # ---- lines

    def say(self, text: str) -> bool:
        """Add a line. Whether it ran without an error."""
        if self.without_grad:
            text = f"with L.no_grad(): {text}"
        error = self.run.line(text)
        if error is not None and "elements of the input tensor and the written-to" in str(error):
            # PyTorch refuses, having written nothing; tinytensor writes as if from a copy.
            self.run.errors.pop()
            return False
        faults = (
            "INTERNAL ASSERT",
            "detached in-place",
            "ZeroTensors are immutable",
        )  # of PyTorch's own
        if error is not None and any(fault in str(error) for fault in faults):
            # The program ends before it.
            self.run, self.broken = run(torch, self.dtype, self.lines), True
            return False
        self.lines.append(text)
        return error is None

    def let(self, expression: str, count: int = 1) -> None:
        """Add `name = expression`."""
        names = [f"t{self.made + i}" for i in range(count)]
        self.made += count
        if self.say(f"{', '.join(names)} = {expression}"):
            for name in names:
                inside = self.without_grad and self[name]._base is not None
                if self[name].numel() <= LARGEST:
                    (self.aside if inside else self.names).append(name)

    def leaf(self) -> None:
        shape = tuple(self.one((1, 2, 2, 3, 3, 4, 0)) for _ in range(self.one((0, 1, 2, 2, 2, 3))))
        ending = ".requires_grad_()" if self.chance(0.7) else ""
        self.let(f"num({self.seed()}, {shape}){ending}")

    def over(self) -> bool:
        """Whether a backward pass has failed, after which nothing is compared."""
        return self.broken or ends_program(self.lines[-1], self.run.errors[-1])


STATEMENTS: list[tuple[int, Callable[[Generator], None]]] = [
    (30, views.statement),
    (28, computations.statement),
    (30, writes.statement),
    (6, passes.statement),
    (2, Generator.leaf),
]


def program(seed: int) -> Generator:
    """The program of a seed: 5 to 25 statements, then a backward pass."""
    g = Generator(seed)
    weights, statements = zip(*STATEMENTS, strict=True)
    with quiet():
        for _ in range(g.integer(1, 4)):
            g.leaf()
        for _ in range(g.integer(5, 26)):
            if g.without_grad:
                g.without_grad -= 1
            elif g.chance(0.03):
                g.without_grad = g.integer(1, 4)
            g.choices.choices(statements, weights)[0](g)
            if g.over():
                return g
        g.without_grad = 0
        passes.last(g)
    return g


def _expands_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    extra = len(target) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, target[extra:], strict=True))
