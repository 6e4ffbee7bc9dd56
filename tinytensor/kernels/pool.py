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
import scipy.linalg.cython_blas  # noqa: F401  loads the BLAS that Numba calls, before we look for it
import threadpoolctl

from .threads import Threads


def _blas_of_scipy() -> list:
    """The libraries whose threads are to be held: (get, set) of their number of threads."""
    found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    own = [library for library in found if "scipy.libs" in library.filepath]
    return own or found  # a SciPy that was built here may share NumPy's


class _Pool:
    """Counts the kernels that run, in all threads: the first holds BLAS, the last frees it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        self.libraries = _blas_of_scipy()
        self.before: list[int] = []

    def __enter__(self) -> None:
        with self.lock:
            self.running += 1
            if self.running == 1:
                self.before = [library.num_threads for library in self.libraries]
                for library in self.libraries:
                    library.set_num_threads(1)

    def __exit__(self, *error: Any) -> None:
        with self.lock:
            self.running -= 1
            if self.running == 0:
                for library, number in zip(self.libraries, self.before):
                    library.set_num_threads(number)


_pool = _Pool()


def within_pool(function: Callable) -> Callable:
    """`function`, with BLAS held to one thread and Numba to the number that was set."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        with _pool:
            before = numba.get_num_threads()
            wanted = min(Threads.number, numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
            if before == wanted:
                return function(*args)
            numba.set_num_threads(wanted)
            try:
                return function(*args)
            finally:
                numba.set_num_threads(before)

    return run
