"""The rows of the module table: how one module and one call of it are written down.

    Row("Linear", 4, 3, inputs=[T(2, 4)])                         Linear(4, 3)(x)
    Row("LayerNorm", 4, bias=False, inputs=[T(2, 4)])             constructor keywords follow
    Row("CrossEntropyLoss", weight=V([1.0, 2.0]), inputs=[T(3, 2), I(3, high=2)])
    Row("LSTM", 3, 4, inputs=[T(5, 2, 3), (T(1, 2, 4), T(1, 2, 4))])   nested inputs
    Row("MultiheadAttention", 4, 2, inputs=[T(3, 2, 4)] * 3, call={"need_weights": False})
    Row("TransformerEncoder", M("TransformerEncoderLayer", 4, 2), 2, inputs=[T(3, 2, 4)])
    Row("TransformerEncoderLayer", 4, 2, activation=F("gelu"), inputs=[T(3, 2, 4)])
    Row("ModuleList", make=lambda nn: two_layers(nn), inputs=[T(2, 4)])

`test_table.py` checks every row in all the ways listed there. Rows live in `rows_*.py`, one file
for each family; each has a list ROWS.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.table import SPECS, B, I, T, V, _replace, _short, _visit


class M:
    """A module among the arguments of another: made in whichever library is being tested."""

    def __init__(self, name: str, *args: Any, **kwargs: Any):
        self.name, self.args, self.kwargs = name, args, kwargs

    def __repr__(self) -> str:
        return f"{self.name}{_describe(self.args, self.kwargs)}"


class F:
    """A function of nn.functional among the arguments, of whichever library is being tested."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"F.{self.name}"


class Row:
    """One module and one call of it.

    name     the module's name in nn
    args     the constructor's arguments (and **kwargs); specs T, I, B, V become constant tensors,
             M and F become modules and functions of the library at hand
    inputs   forward's arguments: specs, also inside tuples and lists, or plain values
    call     forward's keyword arguments, in the same way
    make     instead of name(*args, **kwargs): a function of the package (nn or torch.nn) that
             makes the module, for what has no forward of its own
    torch    what to compare with: "same name", a function of torch.nn that makes the module, or
             None: nothing there, say why in `note`
    keys     turns PyTorch's state_dict into one with our keys, where they differ
    train    the modes that are checked; (False,) for layers that draw random numbers in training
    order    0: not differentiable, only values are compared
    derivative  False: the gradient is, on purpose, not the derivative (padding rows get none)
    """

    def __init__(self, name: str, *args: Any, inputs: Any = (), call: dict | None = None,
                 make: Callable | None = None, torch: Any = "same name",
                 keys: Callable | None = None, train: tuple = (True, False), order: int = 1,
                 derivative: bool = True, label: str = "", note: str = "",
                 **kwargs: Any):  # fmt: skip
        self.name, self.args, self.kwargs = name, args, kwargs
        self.inputs, self.call, self.make = tuple(inputs), call or {}, make
        self.torch, self.keys, self.train = torch, keys, train
        self.order, self.derivative, self.note = order, derivative and order > 0, note
        text = _describe(args, kwargs) + _describe(self.inputs, self.call)
        self.label = f"{name}({label})" if label else f"{name}{text}"
        if torch is None and not note:
            raise ValueError(f"row {self.label}: say in note= why there is nothing to compare with")

    def build(self, package: Any, tensor: Callable[[np.ndarray], Any]) -> Any:
        """The module, of `package` (nn or torch.nn); `tensor` makes its tensors from arrays."""
        if package.__name__ == "torch.nn" and callable(self.torch):
            return self.torch(package)
        if self.make is not None:
            return self.make(package)
        rng = np.random.default_rng(zlib.crc32(self.label.encode()) + 1)
        return _build(package, self.name, self.args, self.kwargs, lambda s: tensor(s.make(rng)))

    def specs(self) -> list:
        """The specs of the inputs, in order."""
        found: list = []
        _visit((self.inputs, self.call), found.append)
        return found

    def arrays(self) -> list[np.ndarray]:
        """The arrays of the inputs, in order, the same ones every time."""
        rng = np.random.default_rng(zlib.crc32(self.label.encode()))
        return [np.asarray(spec.make(rng)) for spec in self.specs()]

    def fill(self, tensors: list) -> tuple[tuple, dict]:
        """inputs and call with the specs replaced by `tensors`, in order."""
        supply = iter(tensors)
        args, kwargs = _replace((self.inputs, self.call), lambda _: next(supply))
        return args, kwargs

    def __repr__(self) -> str:
        return self.label


def _build(package: Any, name: str, args: Any, kwargs: Any, tensor: Callable) -> Any:
    def ready(value: Any) -> Any:
        if isinstance(value, M):
            return _build(package, value.name, value.args, value.kwargs, tensor)
        if isinstance(value, F):
            return getattr(package.functional, value.name)
        if isinstance(value, SPECS):
            return tensor(value)
        if isinstance(value, dict):
            return {k: ready(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(ready(v) for v in value)
        return value

    return getattr(package, name)(*ready(args), **ready(kwargs))


def _describe(args: tuple, kwargs: dict) -> str:
    given = [_short(a) for a in args] + [f"{k}={_short(v)}" for k, v in kwargs.items()]
    return f"({','.join(given)})"


__all__ = ["B", "F", "I", "M", "Row", "T", "V"]
