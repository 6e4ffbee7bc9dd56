"""Worker threads that prefetch batches.

NumPy releases the GIL for most of its work, and so does file I/O. So threads fetch in parallel, and
nothing is copied between processes. Each worker has a queue of tasks, and all put their batches
into one shared queue. The threads refer only to these queues, not to the iterator that made them:
when it is no longer referenced (after `break`, an error, or at the end), its finalizer ends them.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...create.generator import Generator, use_generator

JOIN_SECONDS = 5.0  # how long to wait at the end for workers that are still fetching


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's index, the number of workers, its seed and the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_here = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """The calling worker; None outside workers.

    A worker has its own default generator, which is seeded with `info.seed` at first, and again for
    each batch. (NumPy's and Python's own generators are shared by all threads: numbers drawn from
    them depend on which worker was faster.)
    """
    return getattr(_here, "info", None)


@dataclass
class Failed:
    """An error in a worker, to be raised in the thread that takes the batch."""

    error: BaseException


class FailedStart(Failed):
    """An error before the worker's first fetch: the pass cannot continue."""


class Ended:
    """Marks the end of a worker's share of an IterableDataset."""


class WorkerPool:
    """The workers of one pass over a dataset. Results come in the order of the tasks.

    make_fetch()  called in each worker; returns the function that turns a task into a batch,
                  and raises StopIteration when there are no more
    tasks         what to fetch, in order; consumed as batches are taken
    ahead         the most tasks that may be in progress
    """

    def __init__(
        self,
        make_fetch: Callable[[], Callable[[Any], Any]],
        tasks: Iterator,
        infos: list[WorkerInfo],
        init: Callable[[int], Any] | None,
        ahead: int,
        timeout: float,
    ):
        self.process = os.getpid()
        self.tasks = tasks
        self.ahead = ahead
        self.timeout = timeout or None
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.queues: list[queue.SimpleQueue] = [queue.SimpleQueue() for _ in infos]
        self.active = list(range(len(infos)))  # workers that have not ended, in turn
        self.owner: dict[int, int] = {}  # task number → worker
        self.fetched: dict[int, Any] = {}  # task number → batch that arrived before its turn
        self.sent = self.taken = 0
        threads = []
        for info, inbox in zip(infos, self.queues):
            arguments = (info, init, make_fetch, inbox, self.results)
            name = f"DataLoader worker {info.id}"
            threads.append(threading.Thread(target=_work, args=arguments, name=name, daemon=True))
        self.close = weakref.finalize(self, _end, self.queues, threads)
        for thread in threads:
            thread.start()

    def take(self) -> Any:
        """The next batch; StopIteration after the last."""
        if os.getpid() != self.process:
            raise RuntimeError(
                f"DataLoader: this pass began in process {self.process}, before a fork, and its "
                "workers are threads of that process; start a new pass with iter(loader)"
            )
        while True:
            self._send()
            if self.taken == self.sent:
                self.close()
                raise StopIteration
            result = self._result(self.taken)
            worker = self.owner.pop(self.taken)
            self.taken += 1
            if isinstance(result, Ended):
                if worker in self.active:
                    self.active.remove(worker)
                continue
            if isinstance(result, FailedStart):
                self.close()
                self.active, self.taken = [], self.sent
            if isinstance(result, Failed):
                try:
                    raise result.error
                finally:
                    del result  # its traceback holds this frame: avoid a cycle
            return result

    def _send(self) -> None:
        while self.active and self.sent - self.taken < self.ahead:
            try:
                task = next(self.tasks)
            except StopIteration:
                self.active = []
                return
            worker = self.active.pop(0)
            self.active.append(worker)
            self.owner[self.sent] = worker
            self.queues[worker].put((self.sent, task))
            self.sent += 1

    def _result(self, number: int) -> Any:
        while number not in self.fetched:
            try:
                found, result = self.results.get(timeout=self.timeout)
            except queue.Empty:
                raise RuntimeError(
                    f"DataLoader: no batch came within timeout={self.timeout} seconds"
                ) from None
            self.fetched[found] = result
        return self.fetched.pop(number)


def _work(
    info: WorkerInfo,
    init: Callable[[int], Any] | None,
    make_fetch: Callable[[], Callable[[Any], Any]],
    inbox: queue.SimpleQueue,
    results: queue.SimpleQueue,
) -> None:
    """Run a worker: fetch task after task until it receives None."""
    _here.info = info
    fetch, broken = None, None  # one of the two is set
    try:
        with use_generator(Generator().manual_seed(info.seed)):
            if init is not None:
                init(info.id)
            fetch = make_fetch()
    except BaseException as error:
        broken = FailedStart(error)
    while (item := inbox.get()) is not None:
        number, task = item
        result: Any = broken
        if fetch is not None:
            try:
                result = fetch(task)
            except StopIteration:
                result = Ended()
            except BaseException as error:  # `take` raises it in the waiting thread
                result = Failed(error)
        results.put((number, result))
        del item, task, result  # do not keep the batch alive


def _end(queues: list[queue.SimpleQueue], threads: list[threading.Thread]) -> None:
    """Remove the tasks that have not been started, and end the workers."""
    for inbox in queues:
        while not inbox.empty():
            try:
                inbox.get_nowait()
            except queue.Empty:  # the worker was faster
                break
        inbox.put(None)
    until = time.monotonic() + JOIN_SECONDS
    for thread in threads:
        if thread is not threading.current_thread() and thread.ident is not None:
            thread.join(max(0.0, until - time.monotonic()))
