"""One thread pool. Numba's threads run the kernels; BLAS, called inside them, stays single.

Two pools would fight: after each product the threads of OpenBLAS spin for some 25 ms, waiting for
the next, on the cores that Numba's threads need. What is set here holds during a kernel and is set
back after it, so that the rest of the process sees no change.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numba

from .find_blas import find_blas
from .threads import Threads


class _Pool:
    """Counts the kernels that run, in all threads: the first holds BLAS, the last frees it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        blas = find_blas()
        assert blas is not None  # or no kernel would run
        self.get, self.set = blas.get_threads, blas.set_threads
        self.before = 1

    def enter(self) -> None:
        with self.lock:
            self.running += 1
            if self.running == 1:
                self.before = self.get()
                self.set(1)

    def leave(self) -> None:
        with self.lock:
            self.running -= 1
            if self.running == 0:
                self.set(self.before)


_pool = _Pool()
_all_threads: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def within_pool(function: Callable) -> Callable:
    """`function`, with BLAS held to one thread and Numba to the number that was set."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        _pool.enter()
        try:
            if Threads.number >= _all_threads:
                return function(*args)
            before = numba.get_num_threads()  # asking and setting costs 3 µs
            numba.set_num_threads(Threads.number)
            try:
                return function(*args)
            finally:
                numba.set_num_threads(before)
        finally:
            _pool.leave()

    return run
