"""What a fork must not cut in two: locks and what they guard are held while a process forks.

`os.fork` copies the memory as it is at that moment, but only the thread that calls it. A lock that
another thread holds would stay locked in the child for ever, and what it guards might be half
changed. So the forking thread first takes each lock, which waits for its owner, and both processes
release it afterwards.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, Protocol

PATIENCE = 60.0  # seconds: a fork that has to wait longer for a lock goes on without it


class Guard(Protocol):
    """Something to hold while a process forks."""

    def hold(self) -> bool:
        """Called before the fork; returns False if it could not be had within PATIENCE."""

    def release(self) -> None:
        """Called in the parent after the fork, if it is held."""

    def renew(self, held: bool) -> None:
        """Called in the child after the fork: make it free, and fit for a new process."""


class HeldLock:
    """A lock, free in the child. An RLock: the forking thread, in a signal handler, may own it."""

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
    """What a thread holds for its fork: two may fork at once, and the second waits for the first.

    It may hold nothing, as another thread may register a guard when the fork is under way.
    """

    def __init__(self) -> None:
        self.reached: list[tuple[Guard, bool]] = []


def at_fork(guards: Sequence[Guard]) -> None:
    """Hold these, in this order, in every fork from now on. The list may grow later.

    Python calls what was registered last first. So a lock that is taken inside another one has to
    come after it in the list, or be registered earlier.
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
