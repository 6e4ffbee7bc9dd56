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
import scipy.linalg.cython_blas  # noqa: F401  loads the BLAS that kernels call, to be found below
import threadpoolctl

from .threads import Threads


def _blas_of_scipy() -> tuple[Callable[[], int], Callable[[int], Any]]:
    """(get, set) of the number of threads of the BLAS that kernels call.

    Those of OpenBLAS itself, under the names that it is built with, as threadpoolctl's listen to
    one thread of the process only; threadpoolctl's for other libraries.
    """
    found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    own = [library for library in found if "scipy.libs" in library.filepath]
    library = (own or found)[0]  # SciPy's may be NumPy's too
    for before in ("", "scipy_"):
        for after in ("", "64_", "_64"):
            get, set = (
                getattr(library.dynlib, f"{before}openblas_{do}_num_threads{after}", None)
                for do in ("get", "set")
            )
            if get is not None and set is not None:
                return get, set
    return library.get_num_threads, library.set_num_threads


class _Pool:
    """Counts the kernels that run, in all threads: the first holds BLAS, the last frees it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        self.get, self.set = _blas_of_scipy()
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
