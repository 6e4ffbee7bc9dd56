"""Autocast on a CPU: matrix products compute in a 16-bit dtype, some other ops in float32.

    with autocast("cpu", dtype=bfloat16):      what PyTorch does on a CPU
        y = linear(x, weight)                  x and weight are rounded to bfloat16, y is bfloat16
        loss = cross_entropy(y, target)        y is converted to float32, the loss is float32

Casts are ops, so gradients pass through them and arrive in the dtype of each parameter. A leaf that
requires grad is cast once within the outermost `with`, so its gradients are summed in 16 bits, as
in PyTorch.

Ops are cast where half_precision.py wraps `Op.apply`: without 16-bit tensors and autocast
nothing is asked. `autocast_rules.py` lists the ops. Functions that consist of several ops are
decorated with `in_float32` or `without_autocast`. Tensors on a GPU and float64 keep their dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ..autograd.mode import state
from ..autograd.variable import Variable, writes_of
from .autocast_setting import setting
from .promote import cast

FLOAT32 = np.dtype(np.float32)
F = TypeVar("F", bound=Callable)


RULES: dict[type, Callable[[tuple], tuple]] = {}  # {op: how its arguments are cast}


def cast_arguments(op: type, args: tuple) -> tuple:
    """The arguments of an op as autocast, which is on, converts them."""
    rule = RULES.get(op)
    return args if rule is None else rule(args)


# ------------------------------------------------------------------------------------------
# Rules
# ------------------------------------------------------------------------------------------


def lower(args: tuple) -> tuple:
    """All in the 16-bit dtype."""
    assert setting.active is not None
    return tuple(_as(arg, setting.active) for arg in args)


def full(args: tuple) -> tuple:
    """All in float32."""
    return tuple(_as(arg, FLOAT32) for arg in args)


def as_first(args: tuple) -> tuple:
    """All in the dtype of the first."""
    return tuple(_as(arg, args[0].array.dtype) for arg in args) if _casts(args[0]) else args


def widest(args: tuple) -> tuple:
    """All in float32, if one of them is."""
    found = any(_casts(arg) and arg.array.dtype == FLOAT32 for arg in args)
    return full(args) if found else args


def _casts(arg: Any) -> bool:
    """Whether autocast concerns an argument: a tensor of float32 or less on the CPU."""
    if not isinstance(arg, Variable) or not isinstance(arg.array, np.ndarray):
        return False
    dtype = arg.array.dtype
    return dtype.kind in "fV" and dtype.itemsize <= 4


def _as(arg: Any, dtype: np.dtype) -> Any:
    if not _casts(arg) or arg.array.dtype == dtype:
        return arg
    if dtype == FLOAT32 or not (arg._tracked and arg._node is None and setting.caches):
        return cast(arg, dtype)
    key, version = (id(arg), state.mode.grad), writes_of(arg)[0]
    kept = setting.cache.get(key)
    if kept is None or kept[1] != version or kept[2].array.dtype != dtype:
        kept = setting.cache[key] = arg, version, cast(arg, dtype)
    return kept[2]


# ------------------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------------------


@contextmanager
def switched_off() -> Iterator[None]:
    before = setting.active
    setting.active = None
    try:
        yield
    finally:
        setting.active = before


def without_autocast(function: F) -> F:
    """A decorator: the ops of the function keep their dtypes."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if setting.active is None:
            return function(*args, **kwargs)
        with switched_off():
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def in_float32(function: F) -> F:
    """A decorator: under autocast the function computes in float32."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if setting.active is None:
            return function(*args, **kwargs)
        kwargs = dict(zip(kwargs, full(tuple(kwargs.values()))))
        with switched_off():
            return function(*full(args), **kwargs)

    return call  # type: ignore[return-value]


__all__: list[str] = []
