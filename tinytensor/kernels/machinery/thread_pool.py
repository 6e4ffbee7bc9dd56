"""Ensures that one thread pool is active: inside kernels, BLAS runs with one thread.

Two pools would compete: after each product, OpenBLAS's threads spin for about 25 ms, waiting for
the next, on the cores that Numba's threads need. BLAS is limited during a kernel and restored after
it, so the rest of the process sees no change.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from threading import get_ident
from typing import Any

import llvmlite.binding.ffi
from numba.core.compiler_lock import global_compiler_lock

from ...fork import PATIENCE, HeldLock
from .find_blas import find_blas
from .loading import guards
from .numba_pool import NumbaPool, use_work_queue


class _Pool:
    """Counts running kernels in all threads: the first limits BLAS, the last restores it.

    A fork waits for them. Inside a kernel a thread may hold locks of BLAS, of the pool or of the
    compiler; a child forked meanwhile could never take these.

    `leave` does not decrement but restores `depth`. So it may be called twice, after Ctrl-C inside
    it, or without a completed `enter`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.inside: dict[int, int] = {}  # thread → number of nested kernels that it is in
        self.forking = 0  # threads about to fork; new kernels wait for them
        blas = find_blas()
        assert blas is not None  # route.py checks it
        self.get, self.set = blas.get_threads, blas.set_threads
        self.before: int | None = None  # BLAS's number of threads, while it is limited

    def depth(self) -> int:
        """Return the number of nested kernels that this thread is in."""
        return self.inside.get(get_ident(), 0)

    def enter(self, depth: int) -> None:
        thread = get_ident()
        with self.lock:
            while self.forking and thread not in self.inside:
                self.changed.wait()
            self.inside[thread] = depth + 1
            if self.before is None:
                self.before = self.get()
                self.set(1)

    def leave(self, depth: int) -> None:
        thread = get_ident()
        with self.lock:
            self.inside[thread] = depth
            if not depth:
                del self.inside[thread]
            if not self.inside and self.before is not None:
                self.set(self.before)
                self.before = None
            if self.forking:
                self.changed.notify_all()

    def hold(self) -> bool:
        """Wait for the kernels of other threads; new ones wait for the fork."""
        thread = get_ident()
        self.lock.acquire()
        self.forking += 1
        self.changed.wait_for(lambda: self.inside.keys() <= {thread}, PATIENCE)
        return True

    def release(self) -> None:
        self.forking -= 1
        self.changed.notify_all()
        self.lock.release()

    def renew(self, held: bool) -> None:
        """Reset the state to one thread. The first kernel starts others, in the work queue."""
        self.changed = threading.Condition(self.lock)  # no thread waits
        self.forking = 0
        this = get_ident()
        self.inside = {t: depth for t, depth in self.inside.items() if t == this}
        use_work_queue()
        if self.inside:  # forked inside a kernel, for example by a signal handler
            with NumbaPool.turn:
                pass
        self.lock.release()


_pool = _Pool()
# In this order: a kernel may compile, and compiling calls LLVM.
guards += [
    _pool,
    HeldLock(global_compiler_lock._lock),
    HeldLock(llvmlite.binding.ffi.lib._lock._lock),
]


def within_pool(function: Callable) -> Callable:
    """Return `function`, with BLAS limited to one thread while it runs."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        with NumbaPool.turn:
            depth = _pool.depth()
            try:
                _pool.enter(depth)
                return function(*args)
            finally:
                try:
                    _pool.leave(depth)
                except BaseException:  # Ctrl-C inside `leave`
                    _pool.leave(depth)
                    raise

    return run
