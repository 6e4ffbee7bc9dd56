"""Whether a kernel goes through many arrays at once; see many.py for how it does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .route import FLOAT32, choice, kernels_on, ndarray

ENOUGH = 8192  # numbers, in all arrays together


def can_sweep(*arrays: Any) -> bool:
    """Whether these are NumPy's arrays of float32, contiguous and writable."""
    return all(
        type(x) is ndarray and x.dtype is FLOAT32 and x.flags.c_contiguous and x.flags.writeable
        for x in arrays
    )


def worth_sweeping(arrays: Iterable[Any]) -> bool:
    """Whether there is so much in these arrays that a kernel pays."""
    total = sum(x.size for x in arrays)
    return total >= (ENOUGH if choice.smallest is None else choice.smallest) and kernels_on()
