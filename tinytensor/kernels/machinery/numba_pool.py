"""Numba's thread pool: the address of its `parallel_for`, here and in a forked child.

A child has none of its parent's threads. GNU OpenMP, which Numba uses on most Linux systems, aborts
a process that uses it again after a fork. Numba's own work queue resets itself in a fork and can
start new threads; so a child uses it, whatever its parent used.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from ctypes import CFUNCTYPE, c_int
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.np.ufunc import workqueue  # type: ignore[attr-defined]

from ...fork import is_forked
from .threads import limit_threads

_start_threads = CFUNCTYPE(None, c_int)(workqueue.launch_threads)
_THREADS = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


class NumbaPool:
    """The pool that kernels use now."""

    address = 0  # of a function (task, arrays, sizes, steps, data, inner, arrays, threads)
    turn: AbstractContextManager = nullcontext()  # entered around each use


class _WorkQueueTurn:
    """Lets one thread at a time use the work queue. The first use starts its threads."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()
        _start_threads(_THREADS)  # unless they run already

    def __exit__(self, *error: Any) -> None:
        self.lock.release()


def use_work_queue() -> None:
    """Run kernels in the threads of the work queue from now on."""
    NumbaPool.address, NumbaPool.turn = workqueue.parallel_for, _WorkQueueTurn()


def _use_pool_of_numba() -> None:
    """Start the pool that Numba chooses."""
    limit_threads(numba.get_num_threads())
    if numba.threading_layer() == "workqueue":
        use_work_queue()
    else:
        NumbaPool.address = llvm.address_of_symbol("numba_parallel_for")


if is_forked():  # a library may have used OpenMP in the parent
    limit_threads(_THREADS)
    use_work_queue()
else:
    _use_pool_of_numba()
