"""Check the types of an op's arguments: a TypeError that names the op and the argument."""

from __future__ import annotations

import operator
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


def check_flags(name: str, **flags: Any) -> None:
    """Refuse values other than True and False, which Python would take for one of them."""
    for what, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name}: got {what} = {value!r}, expected True or False")


def check_numbers(name: str, **numbers: Any) -> None:
    """Refuse values that are no numbers; a 0-d tensor is one."""
    for what, value in numbers.items():
        if isinstance(value, (int, float, complex, np.generic)):
            continue
        array = value.array if isinstance(value, Variable) else value
        if not is_array(array) or array.ndim:
            raise TypeError(f"{name}: got a {type(value).__name__} as {what}, expected a number")


def check_ints(name: str, **numbers: Any) -> None:
    """Refuse values that are no integers."""
    for what, value in numbers.items():
        try:
            operator.index(value)
        except TypeError:
            raise TypeError(f"{name}: got {what} = {value!r}, expected an int") from None


def check_tensors(name: str, **tensors: Any) -> None:
    """Refuse arguments that are not tensors (in a rule: arrays). None stands for one left out."""
    for what, value in tensors.items():
        if not (value is None or isinstance(value, (Variable, np.generic)) or is_array(value)):
            raise TypeError(f"{name}: got a {type(value).__name__} as {what}, expected a tensor")


def check_given(name: str, **tensors: Any) -> None:
    """As `check_tensors`, for arguments that must be given."""
    check_tensors(name, **tensors)
    for what, value in tensors.items():
        if value is None:
            raise TypeError(f"{name}: got None as {what}, expected a tensor")
