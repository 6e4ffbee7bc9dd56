"""Fork safety: hold locks while a process forks.

`os.fork` copies all memory but only the thread that calls it. A lock held by another thread would
stay locked in the child forever, and the data it guards might be half updated. So the forking
thread first acquires each lock, waiting for its owner, and both processes release it afterwards.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, Protocol

PATIENCE = 60.0  # seconds: after waiting this long for a lock, a fork goes on without it


class Guard(Protocol):
    """Something to hold while a process forks."""

    def hold(self) -> bool:
        """Called before the fork; returns False if it was not acquired within PATIENCE."""

    def release(self) -> None:
        """Called in the parent after the fork, if it is held."""

    def renew(self, held: bool) -> None:
        """Called in the child after the fork: release it, ready for use in the new process."""


class HeldLock:
    """Guards an RLock: a signal handler may fork in a thread that already holds the lock."""

    def __init__(self, lock: Any):
        self.lock = lock

    def hold(self) -> bool:
        return self.lock.acquire(timeout=PATIENCE)

    def release(self) -> None:
        self.lock.release()

    def renew(self, held: bool) -> None:
        if held:
            self.lock.release()
        else:
            self.lock._at_fork_reinit()


class _Forks(threading.local):
    """The guards a thread has reached in its fork. Of two forking threads, one waits for the other.

    The list may be empty: another thread may register guards after this fork has begun.
    """

    def __init__(self) -> None:
        self.reached: list[tuple[Guard, bool]] = []


def at_fork(guards: Sequence[Guard]) -> None:
    """Hold these guards, in this order, in every fork from now on. The list may grow later.

    Python calls the handlers in reverse order of registration. So a lock that is taken inside
    another one must come after it in the list, or be registered earlier.
    """
    if not hasattr(os, "register_at_fork"):
        return  # Windows does not fork
    forks = _Forks()

    def before() -> None:
        for guard in guards:
            forks.reached.append((guard, guard.hold()))

    def after_in_parent() -> None:
        while forks.reached:
            guard, held = forks.reached.pop()
            if held:
                guard.release()

    def after_in_child() -> None:
        while forks.reached:
            guard, held = forks.reached.pop()
            guard.renew(held)

    os.register_at_fork(
        before=before, after_in_parent=after_in_parent, after_in_child=after_in_child
    )


class _Process:
    forked = False


def is_forked() -> bool:
    """Whether this process is a child that was forked after tinytensor was imported."""
    return _Process.forked


def _note_fork() -> None:
    _Process.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
