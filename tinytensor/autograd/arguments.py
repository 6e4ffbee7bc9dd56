"""Check an op's first argument: a TypeError that names the op for anything but a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import is_array
from .variable import Variable


def array_of(name: str, input: Any) -> Any:
    """Return the raw array of the first argument of op `name`."""
    if isinstance(input, Variable):
        return input.array
    if is_array(input) or isinstance(input, np.generic):  # in a rule, where 0-d may be a scalar
        return input
    raise TypeError(
        f"{name}: got a {type(input).__name__} as its first argument, expected a tensor"
    )


def require_tensor(name: str, input: Any) -> None:
    """Refuse a first argument that is not a tensor."""
    array_of(name, input)
