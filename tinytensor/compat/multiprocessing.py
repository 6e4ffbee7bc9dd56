"""Python's multiprocessing under PyTorch's name, with `spawn`.

Tensors are pickled on their way to another process; memory is not shared.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

from ..autograd.site import warn


class ProcessException(Exception):
    """A process of `spawn` failed: error_index is its index, error_pid its process id."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg, error_index, error_pid)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __str__(self) -> str:
        return self.msg


class ProcessRaisedException(ProcessException):
    """A process ended with an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """A process ended with exit code `exit_code`; a negative one is the number of a signal."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int):
        super().__init__(msg, error_index, error_pid)
        self.args = (msg, error_index, error_pid, exit_code)
        self.exit_code = exit_code


class ProcessContext:
    """Running processes: `processes`, and one pipe from each for the traceback of an exception."""

    def __init__(self, processes: list, pipes: list):
        self.processes, self._pipes = processes, pipes
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends. True once all have ended well.

        If one fails, the others get `grace_period` seconds to end, then are terminated, and the
        exception names the one that failed.
        """
        if not self.sentinels:
            return True
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._stop(grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _stop(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        try:
            text = self._pipes[index].recv() if self._pipes[index].poll() else None
        except EOFError:  # it ended without a word
            text = None
        if text is not None:
            text = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        text = f"process {index} terminated with {how}"
        return ProcessExitedException(text, index, process.pid, code)


def _run(fn: Callable, index: int, args: tuple, pipe: Any) -> None:
    """Run fn in the child; the traceback of an exception goes to the parent."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it too
    except Exception:
        # At most 64 kB: a full pipe would block, as the parent reads only after the process ended.
        pipe.send(traceback.format_exc()[-16_000:])
        raise SystemExit(1) from None


def start_processes(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run fn(i, *args) for i < nprocs, each in a process of its own.

    join: wait for all of them and return None; otherwise return their ProcessContext.
    start_method: "spawn", "fork" or "forkserver".
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, pipes = [], []
    for i in range(nprocs):
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, send), daemon=daemon)
        process.start()
        send.close()  # the child holds the other end
        processes.append(process)
        pipes.append(receive)
    running = ProcessContext(processes, pipes)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` with fresh interpreters; fn must be importable by them."""
    if start_method != "spawn":
        warn(
            f"spawn: got start_method={start_method!r}, expected 'spawn', which is used; "
            "start_processes has the others"
        )
    return start_processes(fn, args, nprocs, join, daemon, "spawn")


def get_all_sharing_strategies() -> set[str]:
    """{"file_system"}: tensors are copied, so the strategy has no effect."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """No effect: tensors are copied to other processes, not shared."""


__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
