"""Keeps BLAS from running a product in several threads while the process forks.

OpenBLAS stops its threads before a fork and starts new ones when it needs them. But if another
thread of the program is inside a product at that moment, a worker may miss the order to stop, and
the fork hangs; or the child inherits a locked lock. So the forking thread first sets BLAS to one
thread and waits for the products that have begun. In the child of a process with several threads,
BLAS stays at one thread. (Kernels use several threads there: inside them BLAS has one anyway.)
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...fork import HeldLock, at_fork

if TYPE_CHECKING:
    from .find_blas import Blas

TASKS = "/proc/self/task"  # Linux: a folder for each thread of the process
PATIENCE = 10.0  # seconds


class _BlasAtFork(HeldLock):
    def __init__(self) -> None:
        super().__init__(threading.RLock())
        self.blas: Blas | None = None  # set while it is limited to one thread
        self.threads = 1

    def hold(self) -> bool:
        held, self.blas = super().hold(), None
        if len(sys._current_frames()) > 1:
            from .find_blas import find_blas  # imported here, as most programs never need it

            self.blas = find_blas()
        if self.blas is not None:
            self.threads = self.blas.get_threads()
            self.blas.set_threads(1)
            _wait_for_products()
        return held

    def release(self) -> None:
        if self.blas is not None:
            self.blas.set_threads(self.threads)
        super().release()


def _wait_for_products() -> None:
    """Wait until no other thread is inside a product that began before this call.

    A thread may still be inside one while it runs, stays at the same place of its Python code, and
    some thread that is not Python's runs too.
    """
    start, end = _places(), time.monotonic() + PATIENCE
    while time.monotonic() < end:
        running, places = _running(), _places()
        python = {t.native_id: t.ident or 0 for t in threading.enumerate()}
        python.pop(threading.get_native_id(), None)
        still = [i for n, i in python.items() if n in running and places.get(i) == start.get(i)]
        if not still or running <= python.keys():
            return
        time.sleep(0.001)


def _places() -> dict[int, Any]:
    """Return {thread: its place in its Python code}."""
    return {thread: (f, f.f_lasti) for thread, f in sys._current_frames().items()}


def _running() -> set[int]:
    """Return the system ids of the other threads of this process that are running."""
    found = set()
    with suppress(OSError):  # not Linux
        for task in os.listdir(TASKS):
            with suppress(OSError), open(f"{TASKS}/{task}/stat") as file:  # it may be gone
                if file.read().rpartition(")")[2].split()[0] == "R":
                    found.add(int(task))
    return found - {threading.get_native_id()}


at_fork([_BlasAtFork()])
