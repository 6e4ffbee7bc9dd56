"""State: what an optimiser keeps for a parameter, shown as tensors.

An optimiser computes on raw arrays and Python numbers, in `State.raw`. Everyone else sees tensors,
as in PyTorch: `optimizer.state[p]["exp_avg"]` shares the memory of the array, and
`optimizer.state[p]["step"]` is a 0-d tensor of the number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from ..autograd.variable import Variable, wrap
from ..backend import is_array
from ..dtype import get_default_dtype


class State(MutableMapping):
    """{name: tensor} over `raw`, {name: array or number}. numbers: names of the numbers."""

    __slots__ = ("numbers", "raw")

    def __init__(self, numbers: frozenset[str], values: Mapping[str, Any] | None = None):
        self.numbers = numbers
        self.raw: dict[str, Any] = {}
        for name, value in (values or {}).items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        value = self.raw[name]
        if is_array(value):
            return wrap(value)
        if name in self.numbers and not isinstance(value, Variable):
            return as_tensor(value)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, Variable):
            value = value.item() if name in self.numbers else value.detach().array
        self.raw[name] = value

    def __delitem__(self, name: str) -> None:
        del self.raw[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __repr__(self) -> str:
        return repr(dict(self))


class States(defaultdict):
    """{parameter: State}. A dict that is put in becomes a State."""

    def __init__(self, numbers: frozenset[str], values: Mapping[Any, Any] | None = None):
        super().__init__()
        self.numbers = numbers
        for key, value in (values or {}).items():
            self[key] = value

    def __missing__(self, key: Any) -> State:
        state = self[key] = State(self.numbers)
        return state

    def __setitem__(self, key: Any, value: Any) -> None:
        is_plain = isinstance(key, Variable) and not isinstance(value, State)
        super().__setitem__(key, State(self.numbers, value) if is_plain else value)

    def keep(self, key: Any, raw: dict[str, Any]) -> None:
        """Start the state of a parameter with these arrays and numbers."""
        state = State(self.numbers)
        state.raw = raw
        super().__setitem__(key, state)

    def __reduce__(self) -> tuple:
        return States, (self.numbers, dict(self))


def number_dtype() -> str:
    """The dtype of PyTorch's counters: float64 if that is the default dtype, else float32."""
    return "float64" if get_default_dtype().name == "float64" else "float32"


def as_tensor(number: float) -> Any:
    """The 0-d tensor in which PyTorch keeps a number."""
    return wrap(np.asarray(number, dtype=number_dtype()))


def as_kept(number: Any) -> Any:
    """A number as PyTorch keeps it, in a tensor of `number_dtype`."""
    is_exact = isinstance(number, Variable) or number_dtype() == "float64"
    return number if is_exact else float(np.float32(number))
