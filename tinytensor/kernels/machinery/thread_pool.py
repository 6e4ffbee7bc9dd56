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

from ...fork import PATIENCE, HeldLock
from .find_blas import find_blas
from .loading import guards
from .numba_pool import NumbaPool, use_work_queue


class _Pool:
    """Counts the kernels that run, in all threads: the first holds BLAS, the last frees it.

    A fork waits for them. Inside a kernel a thread may hold locks of BLAS, of the pool or of the
    compiler, and a child that is born meanwhile could not use these any more.

    `leave` does not count down but puts back what `depth` was, so that it may be called twice, if
    Ctrl-C strikes in it, or without an `enter` that got through.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.inside: dict[int, int] = {}  # thread → how many kernels, one in another, it is in
        self.forking = 0  # threads about to fork: kernels that have not begun wait for them
        blas = find_blas()
        assert blas is not None  # or no kernel would run
        self.get, self.set = blas.get_threads, blas.set_threads
        self.before: int | None = None  # the number of BLAS's threads, while it is held

    def depth(self) -> int:
        """How many kernels this thread is in."""
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
        """Wait for the kernels of other threads; the next ones wait for the fork."""
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
        """There is one thread now. It starts others, in a pool for children, with a kernel."""
        self.changed = threading.Condition(self.lock)  # nobody waits
        self.forking = 0
        this = get_ident()
        self.inside = {t: depth for t, depth in self.inside.items() if t == this}
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
            depth = _pool.depth()
            try:
                _pool.enter(depth)
                return function(*args)
            finally:
                try:
                    _pool.leave(depth)
                except BaseException:  # Ctrl-C in the middle of it
                    _pool.leave(depth)
                    raise

    return run
