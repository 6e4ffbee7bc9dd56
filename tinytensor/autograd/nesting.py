"""Nested walks and nested checkpoints, to any depth.

Python allows a thread about a thousand nested calls. A rule that starts a walk of its own nests
about ten of them, so every few levels the work continues in a new thread while this one waits.
PyTorch's engine does the same. Per-thread settings are copied to the new thread.
"""

from __future__ import annotations

import contextvars
import ctypes
import threading
from collections.abc import Callable
from typing import Any

from .mode import outside, state

LEVELS = 16  # nested calls per thread, which leaves about 60 frames for each
MOST = 500  # threads that wait for each other: a deeper nest is taken for one without an end

# threading.local objects whose values are copied to the new thread.
per_thread: list[threading.local] = [state]


def nested(function: Callable, *args: Any) -> Any:
    """Call function(*args), in a new thread if this one is already LEVELS deep."""
    level = state.level
    if level >= LEVELS:
        return _Continuation(function, args).result()
    state.level = level + 1
    stacks = state.stacks
    outer = stacks.get("callbacks")
    queue: list[Callable[[], Any]] = []
    stacks["callbacks"] = queue
    try:
        result = function(*args)
        for callback in queue:  # it may queue more
            callback()
        return result
    finally:
        state.level = level
        if outer is None:
            stacks.pop("callbacks", None)
        else:
            stacks["callbacks"] = outer


def callbacks() -> list[Callable[[], Any]]:
    """The functions to call when the walk that is running ends."""
    queue = state.stacks.get("callbacks")
    if queue is None:
        raise RuntimeError("queue_callback: no backward is running, expected a call during one")
    return queue


class _Continuation:
    """A call that runs in a thread of its own while the thread that made it waits."""

    def __init__(self, function: Callable, args: tuple):
        self.function, self.args = function, args
        self.context = contextvars.copy_context()
        self.settings = [dict(local.__dict__) for local in per_thread]
        self.outer: _Continuation | None = state.__dict__.get("continuation")
        self.depth: int = 1 if self.outer is None else self.outer.depth + 1
        if self.depth > MOST:
            raise RecursionError(
                f"backward: {MOST * LEVELS} walks or checkpoints are nested in each other; a hook "
                "or a rule that runs backward through its own node never ends"
            )
        self.inner: _Continuation | None = None
        self.value: Any = None
        self.error: BaseException | None = None
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run, name="tinytensor nested walk", daemon=True)

    def _run(self) -> None:
        for local, values in zip(per_thread, self.settings):
            local.__dict__.update(values)
        state.level, state.continuation = 0, self
        try:
            self.value = self.context.run(self.function, *self.args)
        except BaseException as error:  # `result` raises it in the calling thread
            self.error = error
        finally:
            self.done.set()

    def result(self) -> Any:
        """Run the call; return its value or raise its error."""
        if self.outer is not None:
            self.outer.inner = self
        interrupt = self._run_and_wait()
        if self.outer is not None:
            self.outer.inner = None
        error, self.error = interrupt or self.error, None
        if error is None:
            return self.value
        try:
            raise error
        finally:
            del error, interrupt, self  # the traceback holds this frame: avoid a cycle

    def _run_and_wait(self) -> BaseException | None:
        """Run the thread to its end. Ctrl-C reaches only the main thread, so it is forwarded to
        this one, and returned."""
        interrupt: BaseException | None = None
        try:
            self.thread.start()
        except BaseException as error:
            interrupt = error
        # `join` alone is not enough: in Python 3.11 an interrupted join marks a thread as stopped.
        while self.thread.ident is not None and not self.done.is_set():
            try:
                if interrupt is not None:
                    self._innermost()._raise(type(interrupt))
                self.done.wait()
            except BaseException as error:
                interrupt = error
        if self.thread.ident is not None:
            self.thread.join()
        return interrupt

    def _innermost(self) -> _Continuation:
        """The continuation that is running; the outer ones wait."""
        found = self
        while found.inner is not None:
            found = found.inner
        return found

    def _raise(self, error: type[BaseException]) -> None:
        """Raise an error in the thread at its next instruction."""
        thread = ctypes.c_ulong(self.thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(error))


outside.nested = nested
