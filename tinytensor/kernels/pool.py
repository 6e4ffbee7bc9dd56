"""One thread pool. Numba's threads run the kernels; BLAS, called inside them, stays single.

Two pools would fight: after each product the threads of OpenBLAS spin for some 25 ms, waiting for
the next, on the cores that Numba's threads need. What is set here holds during a kernel and is set
back after it, so that the rest of the process sees no change.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from threading import get_ident
from typing import Any

import llvmlite.binding.ffi
from numba.core.compiler_lock import global_compiler_lock

from ..fork import PATIENCE, HeldLock
from .find_blas import find_blas
from .loading import guards
from .numba_pool import NumbaPool, use_work_queue


class _Pool:
    """Counts the kernels that run, in all threads: the first holds BLAS, the last frees it.

    A fork waits for them. Inside a kernel a thread may hold locks of BLAS, of the pool or of the
    compiler, and a child that is born meanwhile could not use these any more.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.inside: list[int] = []  # the threads of the kernels that run
        self.forking = 0  # threads about to fork: kernels that have not begun wait for them
        blas = find_blas()
        assert blas is not None  # or no kernel would run
        self.get, self.set = blas.get_threads, blas.set_threads
        self.before = 1

    def enter(self) -> None:
        thread = get_ident()
        with self.lock:
            while self.forking and thread not in self.inside:
                self.changed.wait()
            if not self.inside:
                self.before = self.get()
                self.set(1)
            self.inside.append(thread)

    def leave(self) -> None:
        with self.lock:
            self.inside.remove(get_ident())
            if not self.inside:
                self.set(self.before)
            if self.forking:
                self.changed.notify_all()

    def hold(self) -> bool:
        """Wait for the kernels of other threads; the next ones wait for the fork."""
        thread = get_ident()
        self.lock.acquire()
        self.forking += 1
        self.changed.wait_for(lambda: {*self.inside} <= {thread}, PATIENCE)
        return True

    def release(self) -> None:
        self.forking -= 1
        self.changed.notify_all()
        self.lock.release()

    def renew(self, held: bool) -> None:
        """There is one thread now. It starts others, in a pool for children, with a kernel."""
        self.changed = threading.Condition(self.lock)  # nobody waits
        self.forking = 0
        this = get_ident()
        self.inside = [thread for thread in self.inside if thread == this]
        use_work_queue()
        if self.inside:  # the fork was made inside a kernel, say by a signal handler
            with NumbaPool.turn:
                pass
        self.lock.release()


_pool = _Pool()
# In this order: a thread in a kernel may be compiling, and a compiling thread calls LLVM.
guards += [
    _pool,
    HeldLock(global_compiler_lock._lock),
    HeldLock(llvmlite.binding.ffi.lib._lock._lock),
]


def within_pool(function: Callable) -> Callable:
    """`function`, with BLAS held to one thread."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        with NumbaPool.turn:
            _pool.enter()
            try:
                return function(*args)
            finally:
                _pool.leave()

    return run
