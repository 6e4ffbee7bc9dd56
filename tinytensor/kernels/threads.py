"""How many threads kernels use. This file does not import Numba, so that asking costs nothing."""

from __future__ import annotations

import os

_available = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)


class Threads:
    """The setting, for the whole process."""

    number = _available


def set_num_threads(number: int) -> None:
    """Let kernels use this many threads, at most as many as there are cores.

    It does not change what other libraries do, nor NumPy's own matrix products, which run below the
    size of kernels and without them.
    """
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"set_num_threads: got {number!r}, expected a number from 1 on")
    Threads.number = min(number, _available)


def get_num_threads() -> int:
    """How many threads kernels use."""
    return Threads.number
