"""Measure the ops and optimiser steps of a block."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..autograd.mode import state
from ..autograd.op import Op
from ..optim.optimizer import Optimizer
from .times import BACKWARD, FORWARD, STEP, Times


@contextmanager
def profile(times: Times | None = None) -> Iterator[Times]:
    """Measure all ops and optimiser steps of a `with` block, in all threads.

    Adds to `times` if given, else to new ones.
    """
    times = Times() if times is None else times
    replaced: list[tuple[type, str, Any]] = []
    for owner, name, method in _methods():
        replaced.append((owner, name, method))
        timed = _timed_step if name == STEP else _timed_rule
        setattr(owner, name, timed(times, name, method))
    start = time.perf_counter()
    try:
        yield times
    finally:
        times.total += time.perf_counter() - start
        for owner, name, method in replaced:
            setattr(owner, name, method)


def _methods() -> Iterator[tuple[type, str, Any]]:
    """(class, name, method) of every op's forward and backward, and every optimiser's step."""
    for base, names in ((Op, (FORWARD, BACKWARD)), (Optimizer, (STEP,))):
        stack: list[type] = [base]
        seen: set[type] = set()
        while stack:
            owner = stack.pop()
            if owner in seen:
                continue
            seen.add(owner)
            stack += owner.__subclasses__()
            for name in names:
                if name in owner.__dict__:
                    yield owner, name, owner.__dict__[name]


def _timed_rule(times: Times, direction: str, method: Any) -> Any:
    """An op's forward or backward, timed. A backward counts for the module its forward ran in."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = state.mode.scope if direction == FORWARD else getattr(self, "scope", "")
        return times.measure(scope, self.op_name, direction, lambda: method(self, *args, **kwargs))

    run.__wrapped__ = method  # type: ignore[attr-defined]
    return run


def _timed_step(times: Times, direction: str, method: Any) -> Any:
    """An optimiser's step, timed."""

    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = f"{type(self).__name__}.step"
        return times.measure("", name, direction, lambda: method(self, *args, **kwargs))

    step.__wrapped__ = method  # type: ignore[attr-defined]
    return step
