"""Whether autocast is on, and with which dtype; autocast.py says what it does."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..dtype import DType, bfloat16


class Setting(threading.local):
    """Whether autocast is on in this thread; `active` is the 16-bit dtype, or None if it is off."""

    active: np.dtype | None = None
    dtype: DType = bfloat16
    caches: bool = True
    nesting: int = 0

    def __init__(self) -> None:
        self.cache: dict[tuple[int, bool], tuple[Any, int, Any]] = {}  # of leaves, by id

    def turn(self, on: bool) -> None:
        self.active = self.dtype.dtype if on else None


setting = Setting()


def mixes(first: np.dtype, second: np.dtype) -> bool:
    """Whether tensors of these dtypes may meet in an op, as autocast gives them one dtype."""
    dtypes = (first, second)
    return setting.active is not None and all(d.kind in "fV" and d.itemsize <= 4 for d in dtypes)


__all__: list[str] = []
