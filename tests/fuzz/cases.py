"""The ops to compare, and how the arguments of a call are drawn.

A draw returns a Case: the op's name and its arguments, in which an `Arg` stands for a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .values import Draw

CASES: dict[str, Callable[[Draw], Case]] = {}


@dataclass
class Arg:
    """A tensor: its numbers as float64 (or integers, or booleans), before they get their dtype.

    smooth: whether the gradient of the op is continuous in it. Ops that select, such as relu, have
    no rounding errors in forward, but another gradient for a number next to it.
    """

    array: np.ndarray
    grad: bool = True
    smooth: bool = True


@dataclass
class Case:
    """One call of an op."""

    name: str
    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)
    depth: int = 1  # terms in the longest matrix product, in either direction
    finite: bool = False  # whether the gradients that come in are to be so, and their sums

    def tensors(self) -> Iterator[Arg]:
        yield from (x for x in (*self.args, *self.kwargs.values()) if isinstance(x, Arg))

    def filled(self, tensors: list) -> tuple[list, dict]:
        """args and kwargs with tensors in the places of Args, in order."""
        supply = iter(tensors)
        args = [next(supply) if isinstance(x, Arg) else x for x in self.args]
        pairs = self.kwargs.items()
        return args, {k: next(supply) if isinstance(x, Arg) else x for k, x in pairs}

    def __str__(self) -> str:
        def short(x: Any) -> str:
            if not isinstance(x, Arg):
                return repr(x)
            kind = {"f": "", "i": " int", "b": " bool"}[x.array.dtype.kind]
            return f"{tuple(x.array.shape)}{kind}" + ("" if x.grad else " no grad")

        parts = [short(x) for x in self.args]
        parts += [f"{k}={short(x)}" for k, x in self.kwargs.items()]
        return f"{self.name}({', '.join(parts)})"


def case(draw: Callable[[Draw], Case]) -> Callable[[Draw], Case]:
    CASES[draw.__name__] = draw
    return draw


def floats(draw: Draw, *shape: int, kind: str | None = None, smooth: bool = True,
           grad: bool = True) -> Arg:  # fmt: skip
    """A float tensor that mostly wants a gradient."""
    wants = grad and not draw.chance(0.05)
    return Arg(draw.numbers(shape, kind), wants, smooth)


def maybe(draw: Draw, *shape: int) -> Arg | None:
    return floats(draw, *shape) if draw.chance(0.7) else None


def integers(draw: Draw, high: int, *shape: int) -> Arg:
    return Arg(draw.rng.integers(0, high, shape), False, False)


def leading(draw: Draw) -> tuple:
    """Up to two dimensions in front of the rest."""
    return tuple(draw.size(129) for _ in range(draw.integer(0, 2)))


# ------------------------------------------------------------------------------------------
# Products
# ------------------------------------------------------------------------------------------


@case
def linear(draw: Draw) -> Case:
    n, k, rows = draw.size(300), draw.size(300), draw.size()
    x = floats(draw, *((rows,) if draw.chance(0.7) else (*leading(draw), rows)), k)
    args = x, floats(draw, n, k), maybe(draw, n)
    return Case("linear", args, depth=max(x.array.size // max(1, k), n, k))


@case
def matmul(draw: Draw) -> Case:
    n, k, m, lead = draw.size(300), draw.size(300), draw.size(), leading(draw)
    a, b = floats(draw, *lead, m, k), floats(draw, k, n)
    return Case("matmul", (a, b), depth=max(a.array.size // max(1, k), n, k))


@case
def embedding(draw: Draw) -> Case:
    rows, width = draw.size(300, empty=False), draw.size(129, empty=False)
    places = (*leading(draw), draw.size())
    index = integers(draw, rows, *places)
    # Its gradient may be a product with a one-hot matrix.
    return Case("embedding", (index, floats(draw, rows, width)), depth=index.array.size)


# ------------------------------------------------------------------------------------------
# Softmax and losses
# ------------------------------------------------------------------------------------------


def _softmax(name: str, draw: Draw) -> Case:
    width = draw.size()
    shape = (*leading(draw), width)
    dim = draw.integer(-len(shape), len(shape) - 1) if draw.chance(0.3) else -1
    return Case(name, (floats(draw, *shape), dim))


@case
def softmax(draw: Draw) -> Case:
    return _softmax("softmax", draw)


@case
def log_softmax(draw: Draw) -> Case:
    return _softmax("log_softmax", draw)


@case
def cross_entropy(draw: Draw) -> Case:
    classes, rows = draw.size(300, empty=False), draw.size(empty=False)
    shape, targets = (rows, classes), (rows,)
    if draw.chance(0.15):
        more = draw.size(17, empty=False)
        shape, targets = (rows, classes, more), (rows, more)
    target = integers(draw, classes, *targets)
    kwargs: dict[str, Any] = {"reduction": draw.choice(("none", "mean", "sum"))}
    if draw.chance(0.3):
        kwargs["weight"] = Arg(draw.rng.uniform(0.1, 2, classes), False)
    if draw.chance(0.3):
        kwargs["label_smoothing"] = draw.choice((0.1, 0.5, 1.0))
    if draw.chance(0.3):
        kwargs["ignore_index"] = draw.integer(0, classes - 1)
    elif draw.chance(0.3):
        target.array[draw.rng.random(targets) < 0.3] = -100
    return Case("cross_entropy", (floats(draw, *shape), target), kwargs)


# ------------------------------------------------------------------------------------------
# Norms
# ------------------------------------------------------------------------------------------


def _norm(draw: Draw) -> tuple[tuple, tuple]:
    """(the shape of x, the shape that is normalised)"""
    last = (draw.size(300, empty=False),)
    if draw.chance(0.2):
        last = (draw.size(7, empty=False), *last)
    return (draw.size(), *last) if draw.chance(0.7) else (*leading(draw), *last), last


def _normed(draw: Draw, *shape: int) -> Arg:
    """What is normalised: its squares stay within float32. (Nor are slopes infinite: the sign of
    n, which may be the least of all rounding errors, decides about that of ∞·n.)

    Where they overflow, the variance is infinite and the quotient 0 or NaN in either library (and
    in PyTorch's layer_norm another than in its rms_norm), which no result can be taken from.
    """
    x = floats(draw, *shape)
    x.array = np.clip(x.array, -1e16, 1e16)
    return x


def _scale(draw: Draw, *shape: int) -> Arg | None:
    """A weight or bias, or none; finite, for the same reason, also times many slopes."""
    x = maybe(draw, *shape)
    if x is not None:
        np.nan_to_num(x.array, copy=False, nan=1.0, posinf=2.0, neginf=-2.0)
        np.clip(x.array, -1e8, 1e8, out=x.array)
    return x


def _eps(draw: Draw) -> float:
    return float(draw.choice((1e-5, 1e-5, 1e-12, 1e-3)))


@case
def layer_norm(draw: Draw) -> Case:
    shape, last = _norm(draw)
    args = _normed(draw, *shape), last, _scale(draw, *last), _scale(draw, *last), _eps(draw)
    return Case("layer_norm", args, finite=True)


@case
def rms_norm(draw: Draw) -> Case:
    shape, last = _norm(draw)
    args = _normed(draw, *shape), last, _scale(draw, *last), _eps(draw)
    return Case("rms_norm", args, finite=True)


@case
def batch_norm(draw: Draw) -> Case:
    channels = draw.size(65, empty=False)
    places = tuple(draw.size(129, empty=False) for _ in range(draw.integer(0, 2)))
    samples = draw.size(2538, empty=False)
    if samples * int(np.prod(places)) == 1:
        samples = 2
    x = _normed(draw, samples, channels, *places)
    weight, bias = _scale(draw, channels), _scale(draw, channels)
    if draw.chance(0.3):
        mean = Arg(draw.numbers((channels,), "normal"), False)
        variance = Arg(draw.rng.uniform(0.01, 3, channels), False)
        args = x, mean, variance, weight, bias, False, 0.1, _eps(draw)
        return Case("batch_norm", args, finite=True)
    return Case("batch_norm", (x, None, None, weight, bias, True, 0.1, _eps(draw)), finite=True)


@case
def group_norm(draw: Draw) -> Case:
    groups, each = draw.integer(1, 8), draw.size(17, empty=False)
    places = tuple(draw.size(65, empty=False) for _ in range(draw.integer(0, 2)))
    if each * int(np.prod(places)) == 1:
        each = 2
    x = _normed(draw, draw.size(33, empty=False), groups * each, *places)
    weight = _scale(draw, groups * each)
    bias = None if weight is None else _scale(draw, groups * each)  # PyTorch fails with bias alone
    return Case("group_norm", (x, groups, weight, bias, _eps(draw)), finite=True)


@case
def instance_norm(draw: Draw) -> Case:
    channels = draw.size(33, empty=False)
    places = (
        draw.integer(2, 129),
        *(draw.size(33, empty=False) for _ in range(draw.integer(0, 1))),
    )
    x = _normed(draw, draw.size(33, empty=False), channels, *places)
    weight, bias = _scale(draw, channels), _scale(draw, channels)
    args = x, None, None, weight, bias, True, 0.1, _eps(draw)
    return Case("instance_norm", args, finite=True)


# ------------------------------------------------------------------------------------------
# Element by element
# ------------------------------------------------------------------------------------------


def _elements(draw: Draw) -> tuple:
    return (*leading(draw), draw.size())


@case
def gelu(draw: Draw) -> Case:
    approximate = draw.choice(("none", "tanh"))
    return Case("gelu", (floats(draw, *_elements(draw)),), {"approximate": approximate})


@case
def silu(draw: Draw) -> Case:
    return Case("silu", (floats(draw, *_elements(draw)),))


@case
def relu(draw: Draw) -> Case:
    return Case("relu", (floats(draw, *_elements(draw), smooth=False),))


@case
def leaky_relu(draw: Draw) -> Case:
    slope = float(draw.choice((0.01, 0.2, 0.0, -0.5, 2.0)))
    return Case("leaky_relu", (floats(draw, *_elements(draw), smooth=False), slope))


@case
def add(draw: Draw) -> Case:
    shape = _elements(draw)
    other = shape if draw.chance(0.7) else shape[draw.integer(0, len(shape)) :]
    return Case("add", (floats(draw, *shape), floats(draw, *other)))


@case
def masked_scale(draw: Draw) -> Case:
    shape = _elements(draw)
    mask = Arg(draw.rng.random(shape) < 0.7, False, False)
    return Case("masked_scale", (floats(draw, *shape), mask, float(draw.choice((1.0, 1.25, 2.0)))))
