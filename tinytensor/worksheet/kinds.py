"""The kinds of worksheets: a function for each, in the file of its family.

    @kind("matmul", "Matrix product, and its gradients")
    def matmul(sheet: Sheet, size: str) -> Backward:
        …                                   # forward: sheet.given, sheet.step
        yield loss                          # a tensor: here the engine runs backward
        …                                   # the gradients: sheet.step(…, gradient_of=A)

A function without gradients returns FORWARD_ONLY. `make` draws numbers until all answers are
clean, and then checks the gradients by finite differences.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..autograd.gradcheck import gradcheck
from ..tensor import Tensor
from .sheet import Sheet, Unusable

SIZES = ("small", "medium", "large")
MOST_DRAWS = 2000  # each stops at the first number that is not clean
FEW_DRAWS = 40  # if none is clean: the cleanest of this many

Backward = Iterable[Tensor]
FORWARD_ONLY: Backward = ()
Write = Callable[[Sheet, str], Backward]


class Kind(NamedTuple):
    """A kind of worksheet. softmax: whether its numbers depend on the value used for e."""

    name: str
    title: str
    write: Write
    softmax: bool


KINDS: dict[str, Kind] = {}


def kind(name: str, title: str, softmax: bool = False) -> Callable[[Write], Write]:
    """Register a function that writes worksheets in KINDS."""

    def register(write: Write) -> Write:
        KINDS[name] = Kind(name, title, write, softmax)
        return write

    return register


def find(name: str, size: str, seed: int, e_is_3: bool) -> Kind:
    """The kind of that name; raises if an argument is not valid."""
    if name not in KINDS:
        raise ValueError(f"worksheet: got the kind {name!r}, expected one of {', '.join(KINDS)}")
    if size not in SIZES:
        raise ValueError(f"worksheet: got the size {size!r}, expected one of {', '.join(SIZES)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"worksheet: got the seed {seed!r}, expected a non-negative integer")
    if e_is_3 and not KINDS[name].softmax:
        have = ", ".join(each.name for each in KINDS.values() if each.softmax)
        raise ValueError(f"worksheet: {name} does not use e, which could be 3; these do: {have}")
    return KINDS[name]


def make(name: str, size: str, seed: int, e_is_3: bool = False) -> Sheet:
    """The worksheet of a seed: the first clean draw, or the cleanest of several."""
    found = find(name, size, seed, e_is_3)
    # Answers of softmax are clean if e is 3; otherwise two decimal places are enough.
    base = math.e if found.softmax and not e_is_3 else 3.0
    draw = Draw(found, size, seed)
    sheets = ((number, draw.sheet(number, base)) for number in range(MOST_DRAWS))
    clean = next(((n, s) for n, s in sheets if s is not None and not s.untidiness()), None)
    if clean is None:
        others = ((n, draw.sheet(n, base, strict=False)) for n in range(FEW_DRAWS))
        usable = [(n, s) for n, s in others if s is not None]
        if not usable:
            raise RuntimeError(f"worksheet: no draw of {name} with seed {seed} is usable")
        clean = min(usable, key=lambda pair: pair[1].untidiness())
    number, sheet = clean
    if any(leaf.grad is not None for leaf in sheet.leaves):
        leaves = [leaf.detach().requires_grad_() for leaf in sheet.leaves]
        gradcheck(lambda *leaves: draw.loss(number, *leaves), leaves)
    sheet.finish()
    return sheet


class Draw(NamedTuple):
    """Draws numbered sheets for one kind, size and seed."""

    kind: Kind
    size: str
    seed: int

    def random(self, number: int) -> random.Random:
        return random.Random(f"{self.kind.name} {self.size} {self.seed} {number}")

    def sheet(self, number: int, base: float, strict: bool = True) -> Sheet | None:
        """The sheet of that number, with its gradients; None if its numbers are unusable."""
        sheet = Sheet(self.random(number), base, strict)
        try:
            for loss in self.kind.write(sheet, self.size):
                loss.backward()
        except Unusable:
            return None
        return sheet

    def loss(self, number: int, *leaves: Tensor) -> Tensor:
        """The loss for other values in that sheet, with the true e: only then is (eˣ)′ = eˣ."""
        sheet = Sheet(self.random(number), math.e, leaves=leaves)
        return next(iter(self.kind.write(sheet, self.size)))


__all__ = ["FORWARD_ONLY", "KINDS", "SIZES", "Backward", "Kind", "find", "kind", "make"]
