"""Arrays as kernels take them. Each further layout would be a further compilation."""

from __future__ import annotations

from typing import Any

from .memory import copy


def contiguous(x: Any) -> Any:
    """x in its own shape, contiguous and writable (which is a type of its own to Numba)."""
    return x if x.flags.writeable and x.flags.c_contiguous else copy(x)


def flat(x: Any) -> Any:
    """The elements of x, one after the other, contiguous and writable."""
    return contiguous(x).reshape(-1)


def as_rows(x: Any) -> Any:
    """(…, N) → (M, N), contiguous and writable."""
    x = contiguous(x)
    if x.ndim == 2:
        return x
    return x.reshape(-1, x.shape[-1]) if x.size else x.reshape(0, x.shape[-1])
