"""The rows of the op table: how one call of an op is written down.

    Row("softmax", T(2, 3), dim=1)                 softmax(x, dim=1), x floats of shape (2, 3)
    Row("add", T(2, 3), T(3))                      with broadcasting
    Row("log", T(2, 3, low=0.1))                   within the function's domain
    Row("gather", T(3, 4), 1, I(3, 2, high=4))     with an integer tensor

`test_table.py` checks every row in all the ways listed there. Rows live in `rows_*.py`, one file
for each family; each has a list ROWS.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class T:
    """A float tensor with values uniform in [low, high); `distinct`: no two values are near."""

    shape: tuple
    low: float
    high: float
    distinct: bool
    grad: bool
    kind = "f"

    def __init__(self, *shape: int, low: float = -2, high: float = 2, distinct: bool = False,
                 grad: bool = True):  # fmt: skip
        for name, value in {"shape": shape, "low": low, "high": high, "distinct": distinct,
                            "grad": grad}.items():  # fmt: skip
            object.__setattr__(self, name, value)

    def make(self, rng: np.random.Generator) -> np.ndarray:
        if self.distinct:
            size = int(np.prod(self.shape))
            values = rng.permutation(np.linspace(self.low, self.high, size, endpoint=False))
            return values.reshape(self.shape)
        return rng.uniform(self.low, self.high, self.shape)


@dataclass(frozen=True)
class I:  # noqa: E742 - one letter each for the three kinds of tensor
    """An integer tensor with values in [low, high)."""

    shape: tuple
    low: int
    high: int
    kind = "i"
    grad = False

    def __init__(self, *shape: int, low: int = 0, high: int = 10):
        for name, value in {"shape": shape, "low": low, "high": high}.items():
            object.__setattr__(self, name, value)

    def make(self, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(self.low, self.high, self.shape, dtype=np.int64)


@dataclass(frozen=True)
class C:
    """A complex tensor with real and imaginary parts uniform in [low, high)."""

    shape: tuple
    low: float
    high: float
    grad: bool
    kind = "c"

    def __init__(self, *shape: int, low: float = -2, high: float = 2, grad: bool = True):
        for name, value in {"shape": shape, "low": low, "high": high, "grad": grad}.items():
            object.__setattr__(self, name, value)

    def make(self, rng: np.random.Generator) -> np.ndarray:
        real, imag = rng.uniform(self.low, self.high, (2, *self.shape))
        return np.asarray(real + 1j * imag)


@dataclass(frozen=True)
class B:
    """A boolean tensor."""

    shape: tuple
    kind = "b"
    grad = False

    def __init__(self, *shape: int):
        object.__setattr__(self, "shape", shape)

    def make(self, rng: np.random.Generator) -> np.ndarray:
        return rng.random(self.shape) < 0.5


@dataclass(frozen=True)
class V:
    """A tensor with given values: floats are tracked, integers and booleans are not."""

    values: Any
    grad: bool = True

    @property
    def kind(self) -> str:
        return np.asarray(self.values).dtype.kind

    def make(self, rng: np.random.Generator) -> np.ndarray:
        array = np.array(self.values)
        return array.astype(np.float64) if array.dtype.kind == "f" else array


class Row:
    """One call of one op.

    name     the function's name in tinytensor; "method:NAME" for one that is only a method
    args     T, I, B, C, V specs (also inside lists and tuples) become tensors, the rest stays
    torch    the PyTorch function to compare with; by default the one of the same name in torch,
             torch.nn.functional or torch.Tensor. None: nothing to compare with, say why in `note`
    order    highest derivative checked by finite differences: 2, 1, or 0 (not differentiable)
    empty    also compare with PyTorch on inputs whose first dimension is 0
    scalar   also compare with PyTorch on 0-d inputs
    method   x.name(…) is compared with name(x, …) too
    prepare  a function of the first tensor, whose result is passed in its place: to make it
             symmetric, for example. It must work for both libraries
    after    a function of the result, whose result is compared: where a sign is not defined
    """

    def __init__(self, name: str, *args: Any, torch: Any = "same name", order: int = 2,
                 empty: bool = False, scalar: bool = False, method: bool = True, label: str = "",
                 note: str = "", atol: float = 1e-5, prepare: Callable | None = None,
                 after: Callable | None = None, **kwargs: Any):  # fmt: skip
        self.name, self.args, self.kwargs = name, args, kwargs
        self.torch, self.order, self.method = torch, order, method
        self.prepare, self.after = prepare, after
        self.empty, self.scalar, self.note, self.atol = empty, scalar, note, atol
        text = ",".join([_short(a) for a in args] + [f"{k}={_short(v)}" for k, v in kwargs.items()])
        self.label = f"{name}({label or text})"
        if torch is None and not note:
            raise ValueError(f"row {self.label}: say in note= why there is nothing to compare with")

    def arrays(self, change: Callable | None = None) -> list[np.ndarray]:
        """The arrays of the specs in the row, in order, the same ones every time."""
        rng = np.random.default_rng(zlib.crc32(self.label.encode()))
        specs: list = []
        _visit((self.args, self.kwargs), specs.append)
        return [np.asarray((change(s) if change else s).make(rng)) for s in specs]

    def specs(self) -> list:
        found: list = []
        _visit((self.args, self.kwargs), found.append)
        return found

    def fill(self, tensors: list) -> tuple[tuple, dict]:
        """args and kwargs with the specs replaced by `tensors`, in order."""
        supply = iter(tensors)
        args, kwargs = _replace((self.args, self.kwargs), lambda _: next(supply))
        if self.prepare is not None:
            args = (self.prepare(args[0]), *args[1:])
        return args, kwargs

    def result(self, value: Any) -> Any:
        """What is compared of a call's result."""
        return value if self.after is None else self.after(value)

    def __repr__(self) -> str:
        return self.label


SPECS = (T, I, B, C, V)


def _visit(value: Any, see: Callable) -> None:
    if isinstance(value, SPECS):
        see(value)
    elif isinstance(value, dict):
        for v in value.values():
            _visit(v, see)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _visit(v, see)


def _replace(value: Any, make: Callable) -> Any:
    if isinstance(value, SPECS):
        return make(value)
    if isinstance(value, dict):
        return {k: _replace(v, make) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_replace(v, make) for v in value)
    return value


def _short(value: Any) -> str:
    if isinstance(value, (T, I, B, C)):
        name = type(value).__name__ + "x".join(map(str, value.shape))
        return name + ("d" if getattr(value, "distinct", False) else "")
    if isinstance(value, V):
        return "V" + "x".join(map(str, np.shape(value.values)))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_short, value)) + "]"
    return str(value)


__all__ = ["B", "C", "I", "Row", "T", "V"]
