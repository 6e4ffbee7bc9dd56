"""The size arguments that functions making tensors share: f(2, 3), f((2, 3)), f(size=(2, 3))."""

from __future__ import annotations

import operator

import numpy as np

from ..errors import ShapeError

_NO_EFFECT = {"layout", "memory_format", "pin_memory", "names", "out"}


def shape_of(name: str, size: tuple) -> tuple[int, ...]:
    """The shape of f(2, 3) or f((2, 3)), after checking that it is one."""
    if len(size) == 1 and isinstance(size[0], (tuple, list, np.ndarray)):
        size = tuple(size[0])
    try:
        shape = tuple(map(operator.index, size))
    except TypeError:
        raise TypeError(f"{name}: got size {size}, expected integers") from None
    if shape and min(shape) < 0:
        raise ShapeError(f"{name}: got size {shape}, expected no negative dimension")
    return shape


def size_from(name: str, size: tuple, others: dict) -> tuple:
    """The sizes of f(2, 3) or f(size=(2, 3)); a TypeError for keywords that PyTorch lacks.

    Layouts and pinned memory are accepted and have no effect; out= must be None.
    """
    for key, value in others.items():
        if key not in _NO_EFFECT | {"size"} or (key == "out" and value is not None):
            raise TypeError(f"{name}: got an unexpected keyword argument {key!r}")
    if ("size" in others) == bool(size):
        raise TypeError(f"{name}: size is {'given twice' if size else 'missing'}")
    return size or (others["size"],)
