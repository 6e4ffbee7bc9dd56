"""One thread pool. Numba's threads run the kernels; BLAS, called inside them, stays single.

Two pools would fight: after each product the threads of OpenBLAS spin for some 25 ms, waiting for
the next, on the cores that Numba's threads need. What is set here holds during a kernel and is set
back after it, so that the rest of the process sees no change.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numba

from .find_blas import find_blas
from .threads import limit_threads

limit_threads(numba.get_num_threads())  # which also starts them


class _Pool:
    """Counts the kernels that run, in all threads: the first holds BLAS, the last frees it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        blas = find_blas()
        assert blas is not None  # or no kernel would run
        self.get, self.set = blas.get_threads, blas.set_threads
        self.before = 1
        # Of the pools that Numba may have found, one does not let two threads use it at once.
        alone = numba.threading_layer() == "workqueue"
        self.turn: AbstractContextManager = threading.RLock() if alone else nullcontext()

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


def _after_fork() -> None:
    """A child process has none of the pool's threads, and may not start others: it works alone."""
    global _pool
    _pool = _Pool()
    limit_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def within_pool(function: Callable) -> Callable:
    """`function`, with BLAS held to one thread."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        pool = _pool
        with pool.turn:
            pool.enter()
            try:
                return function(*args)
            finally:
                pool.leave()

    return run
