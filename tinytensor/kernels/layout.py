"""Arrays as kernels take them. Each further layout would be a further compilation."""

from __future__ import annotations

from typing import Any


def flat(x: Any) -> Any:
    """The elements of x, one after the other, writable (which is a type of its own to Numba)."""
    x = x.reshape(-1)  # a view if x is contiguous
    return x if x.flags.writeable and x.flags.c_contiguous else x.copy()


def as_rows(x: Any) -> Any:
    """(…, N) → (M, N), contiguous and writable."""
    if x.ndim != 2:
        x = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(0, x.shape[-1])
    return x if x.flags.writeable and x.flags.c_contiguous else x.copy(order="C")


def contiguous(x: Any) -> Any:
    """x in its own shape, contiguous and writable."""
    return x if x.flags.writeable and x.flags.c_contiguous else x.copy(order="C")
