"""Tensors on two devices in one op: 0-d CPU tensors are moved to the GPU of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices import device_of
from .anomaly import explain_forward
from .mode import outside
from .variable import Variable


def on_one_device(args: tuple) -> tuple | None:
    """args with 0-d CPU tensors moved to the GPU of the others; None if nothing has to move."""
    tensors = [arg for arg in args if isinstance(arg, Variable)]
    elsewhere = [t for t in tensors if not isinstance(t.array, np.ndarray)]
    if not elsewhere:
        return None
    where = device_of(elsewhere[0].array)
    strays = [t for t in tensors if isinstance(t.array, np.ndarray) and not t.array.ndim]
    moved = {id(t): t.to(where) for t in strays}
    return tuple(moved.get(id(arg), arg) for arg in args) if moved else None


def after_error(op: Any, args: tuple, error: Exception) -> Any:
    """op.apply(*args) again, with tensors that had to move; the error, explained, if none had."""
    moved = on_one_device(args)
    if moved is not None:
        return op.apply(*moved)
    raise explain_forward(op, args, error) from None


outside.after_error = after_error  # type: ignore[method-assign]
