"""The number of threads of kernels. This file does not import Numba, so that asking is cheap."""

from __future__ import annotations

import os


class Threads:
    """The setting, for the whole process."""

    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    number = most


def set_num_threads(number: int) -> None:
    """Set the number of threads of kernels, at most the number of cores.

    It does not affect other libraries, nor NumPy's own matrix products, which run for small arrays
    and without kernels. A child process made by `os.fork` starts with the number of its parent.
    """
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"set_num_threads: got {number!r}, expected a number from 1 on")
    Threads.number = min(number, Threads.most)


def get_num_threads() -> int:
    """Return the number of threads that kernels use."""
    return Threads.number


def limit_threads(most: int) -> None:
    """Limit the number of threads from now on."""
    Threads.most = min(Threads.most, most)
    Threads.number = min(Threads.number, most)
