"""A program: lines of Python over a library `L`, and running them in one library.

A line is a statement such as `t4 = t2.narrow(0, 1, 2)` or `t4.mul_(t1)`. Both libraries have the
same names, so the text is the program: it can be printed, run by itself, and cut short.
"""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from types import CodeType
from typing import Any

import numpy as np

import tinytensor

TABLE = np.random.default_rng(0).uniform(-1.5, 1.5, 4099)
ERRORS = (IndexError, TypeError, ValueError, NotImplementedError, RuntimeError, Exception)


def numbers(k: int, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers between −1.5 and 1.5, the same for the same k."""
    n = int(np.prod(shape))
    start = k * 31 % (len(TABLE) - n)
    return TABLE[start : start + n].reshape(shape).copy()


class Run:
    """One library's side of a program: its variables, and the error of each line."""

    def __init__(self, library: Any, dtype: str):
        self.library, self.dtype = library, dtype
        kind = getattr(library, dtype)
        self.variables: dict[str, Any] = {
            "L": library,
            "num": lambda k, shape: library.tensor(numbers(k, shape), dtype=kind),
            "mask": lambda k, shape: library.tensor(numbers(k, shape) > 0),
            "row_major": row_major,
            "pieces": pieces,
        }
        self.errors: list[Exception | None] = []

    def line(self, text: str) -> Exception | None:
        """Run one more line. The error that it raised, or None."""
        error = None
        try:
            exec(compiled(text), self.variables)
        except Exception as raised:
            error = raised.with_traceback(None)
        self.errors.append(error)
        if not only_makes(text):
            self.settle()
        if "backward(" in text and self.library is not tinytensor:
            self.part_gradients()
        return error

    def part_gradients(self) -> None:
        """Give each leaf's gradient memory of its own.

        In PyTorch the gradients of two leaves may share memory, as those of a and b do in
        `a[None] + b[None]`. The next pass then adds to both what belongs to one.
        """
        for value in self.tensors().values():
            with contextlib.suppress(RuntimeError):  # a view made under no_grad()
                if value.is_leaf and value.grad is not None and not value.grad.requires_grad:
                    value.grad = value.grad.clone()

    def settle(self) -> None:
        """Look at each tensor's place in the graph.

        If a write to another view gave a view a history, PyTorch goes on to call it a leaf and
        refuses writes to it until its `grad_fn` has been read.
        """
        for value in self.tensors().values():
            with contextlib.suppress(RuntimeError):
                value.grad_fn  # noqa: B018

    def tensors(self) -> dict[str, Any]:
        """The program's own variables that hold a tensor."""
        own = {n: v for n, v in self.variables.items() if n[0] in "tg" and n[1:].isdigit()}
        return {name: value for name, value in own.items() if value is not None}


@functools.lru_cache(maxsize=4096)
def only_makes(text: str) -> bool:
    """Whether a line writes to nothing: `t5 = …`."""
    return re.match(r"(with L.no_grad\(\): )?[tg]\d+(, [tg]\d+)*,? = ", text) is not None


@functools.lru_cache(maxsize=4096)
def compiled(text: str) -> CodeType:
    return compile(text, "<program>", "exec")


def row_major(gradients: tuple) -> list:
    """Gradients in one layout, in memory of their own: which they have is left open."""
    return [None if g is None else g.contiguous().clone() for g in gradients]


def pieces(x: Any, how: str, count: int, dim: int) -> tuple:
    """The first and the last view that split, chunk or unbind would give, from an op each.

    Both libraries refuse recorded writes to an output of split or unbind itself.
    """
    size = x.shape[dim]
    if how == "unbind":
        first = x.select(dim, 0)
        return first, x.select(dim, size - 1) if size > 1 else first
    step = -(-size // count) if how == "chunk" else count
    last = (size - 1) // step * step
    first = x.narrow(dim, 0, min(step, size))
    return first, x.narrow(dim, last, size - last) if last else first


def run(library: Any, dtype: str, lines: list[str]) -> Run:
    """All lines, run in one library."""
    result = Run(library, dtype)
    with quiet():
        for text in lines:
            result.line(text)
            if ends_program(text, result.errors[-1]):
                break
    return result


def ends_program(text: str, error: Exception | None) -> bool:
    """A backward pass that fails halfway leaves some gradients behind: nothing more is compared."""
    return error is not None and ("backward(" in text or "autograd.grad(" in text)


def quiet() -> Any:
    """PyTorch warns of `.grad` of a non-leaf, of masks on expanded tensors and the like."""
    return warnings.catch_warnings(action="ignore")


def same_kind(mine: Exception | None, reference: Exception | None) -> bool:
    """Whether both are None or errors of the same built-in class; their words are their own."""
    if mine is None or reference is None:
        return mine is reference
    return isinstance(mine, next(c for c in ERRORS if isinstance(reference, c)))


def as_text(dtype: str, lines: list[str]) -> str:
    """The program as a script."""
    header = [
        "import torch, tinytensor",
        "from tests.random_programs.program import Run",
        f"lines = {dtype!r}, '''",
        *lines,
        "'''.strip().splitlines()",
    ]
    return "\n".join(header)
