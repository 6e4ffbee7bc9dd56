"""Where a program's time goes, by op and by module, forward and backward.

    python -m tinytensor.profile script.py its arguments …      a table, and profile.svg

    with profile() as times:
        train()
    print(times.table())
    times.save_svg("profile.svg")

Meanwhile each op's `forward` and `backward`, and each optimiser's `step`, are replaced by versions
that look at the clock; otherwise nothing is measured, and nothing costs time. An op inside another
(a rule may call ops) counts once, in the module and the direction of the outer one, whose time is
what is left without it.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import backend
from .autograd.mode import state
from .autograd.op import Op
from .fork import HeldLock, at_fork
from .optim.optimizer import Optimizer
from .serialize import write_whole
from .text import clean, one_line

FORWARD, BACKWARD, STEP = "forward", "backward", "step"
TOP = 25  # rows of a table
LONGEST = 80  # characters of a name in it
_lock = threading.RLock()  # of the entries of all Times
at_fork([HeldLock(_lock)])


class Entry:
    """The calls of one op in one module, in one direction."""

    __slots__ = ("calls", "seconds")

    def __init__(self) -> None:
        self.calls, self.seconds = 0, 0.0


class _Running(threading.local):
    """What this thread is in the middle of."""

    inside = 0.0  # seconds that ops inside the current one took
    place: tuple[str, str] | None = None  # module path and direction of the outermost op


class Times:
    """What was measured: {(module path, op, direction): Entry}, and the seconds in all."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], Entry] = {}
        self.total = 0.0
        self._running = _Running()

    def measure(self, scope: str, name: str, direction: str, call: Callable[[], Any]) -> Any:
        """call(), timed."""
        running = self._running
        around, place = running.inside, running.place
        running.inside, running.place = 0.0, place or (scope, direction)
        scope, direction = running.place
        start = time.perf_counter()
        try:
            return call()
        finally:
            _wait_for_gpu()
            seconds = time.perf_counter() - start
            own = seconds - running.inside
            running.inside, running.place = around + seconds, place
            with _lock:
                entry = self.entries.setdefault((scope, name, direction), Entry())
                entry.calls += 1
                entry.seconds += own

    # --------------------------------------------------------------------------------------
    # Sums
    # --------------------------------------------------------------------------------------

    def by_op(self) -> dict[str, dict[str, Entry]]:
        """{op: {direction: Entry}}, the longest first."""
        return self._grouped(lambda scope, name: [name])

    def by_module(self) -> dict[str, dict[str, Entry]]:
        """{module path: {direction: Entry}}, with all that is inside it, the longest first.

        "" stands for ops outside of all modules.
        """
        return self._grouped(lambda scope, name: list(_paths_to(scope)) or [""])

    def _grouped(self, keys: Callable[[str, str], Iterable[str]]) -> dict[str, dict[str, Entry]]:
        groups: dict[str, dict[str, Entry]] = {}
        for (scope, name, direction), entry in self.entries.items():
            for key in keys(scope, name):
                found = groups.setdefault(key, {}).setdefault(direction, Entry())
                found.calls += entry.calls
                found.seconds += entry.seconds
        return dict(sorted(groups.items(), key=lambda item: -_seconds(item[1])))

    @property
    def in_ops(self) -> float:
        """Seconds inside ops and optimisers. What is left of the total is Python around them."""
        return sum(entry.seconds for entry in self.entries.values())

    # --------------------------------------------------------------------------------------
    # What is shown
    # --------------------------------------------------------------------------------------

    def table(self, rows: int = TOP) -> str:
        """The longest ops, then the longest modules."""
        modules = {path or "(no module)": row for path, row in self.by_module().items()}
        rest = self.total - self.in_ops
        lines = [
            *self._lines("op", self.by_op(), rows),
            "",
            *self._lines("module, with all inside", modules, rows),
            "",
            f"total {_milliseconds(self.total)}, of which outside of ops "
            f"{_milliseconds(rest)} ({self._share(rest)}): Python, the engine, data",
        ]
        return "\n".join(lines)

    def _lines(self, title: str, groups: dict[str, dict[str, Entry]], most: int) -> Iterator[str]:
        shown = {name: one_line(name, LONGEST) for name in list(groups)[:most]}
        width = max([len(title), *map(len, shown.values())])
        yield f"{title:{width}}{'calls':>9}{'forward':>14}{'backward':>14}{'share':>8}"
        for name, row in list(groups.items())[:most]:
            calls = max(entry.calls for entry in row.values())
            forward = sum(row[d].seconds for d in (FORWARD, STEP) if d in row)
            backward = row[BACKWARD].seconds if BACKWARD in row else 0.0
            yield (
                f"{shown[name]:{width}}{calls:9}{_milliseconds(forward):>14}{_milliseconds(backward):>14}"
                f"{self._share(forward + backward):>8}"
            )
        if len(groups) > most:
            yield f"and {len(groups) - most} more"

    def _share(self, seconds: float) -> str:
        return f"{100 * seconds / self.total:.1f} %" if self.total else "–"

    def save_svg(self, path: str | Path) -> None:
        """A flame graph: modules above what runs inside them, as wide as the time they take."""
        from .profile_svg import flame_graph

        stacks = {
            (direction, *_names_in(scope), name): entry.seconds
            for (scope, name, direction), entry in self.entries.items()
        }
        write_whole(path, flame_graph(stacks, self.total).encode(), "profile")


def _names_in(scope: str) -> tuple[str, ...]:
    """ "GPT.blocks.0.attn" → GPT, blocks.0, attn: a number belongs to the list that it is in."""
    names: list[str] = []
    for part in scope.split(".") if scope else ():
        if part.isdigit() and len(names) > 1:  # the first is the class of the outermost module
            names[-1] += f".{part}"
        else:
            names.append(part)
    return tuple(names)


def _paths_to(scope: str) -> Iterator[str]:
    """ "GPT.blocks.0.attn" → "GPT", "GPT.blocks.0", "GPT.blocks.0.attn"."""
    path = ""
    for name in _names_in(scope):
        path = f"{path}.{name}" if path else name
        yield path


def _seconds(row: dict[str, Entry]) -> float:
    return sum(entry.seconds for entry in row.values())


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.2f} ms"


def _wait_for_gpu() -> None:
    """A GPU works on after the call; without waiting, its time would count for a later op."""
    if backend._gpu is not None:
        backend._gpu.cuda.Stream.null.synchronize()


# ------------------------------------------------------------------------------------------
# Measuring
# ------------------------------------------------------------------------------------------


@contextmanager
def profile() -> Iterator[Times]:
    """Measure all ops and optimiser steps of this block, in all threads."""
    times = Times()
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
    """(class, name, method) for the rules of all ops and the steps of all optimisers there are."""
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
    """An op's forward or backward. A backward belongs to the module that the forward ran in."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = state.mode.scope if direction == FORWARD else getattr(self, "scope", "")
        return times.measure(scope, self.name_, direction, lambda: method(self, *args, **kwargs))

    run.__wrapped__ = method  # type: ignore[attr-defined]
    return run


def _timed_step(times: Times, direction: str, method: Any) -> Any:
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = f"{type(self).__name__}.step"
        return times.measure("", name, direction, lambda: method(self, *args, **kwargs))

    step.__wrapped__ = method  # type: ignore[attr-defined]
    return step


def main(arguments: list[str] | None = None) -> None:
    """`python -m tinytensor.profile script.py …`"""
    parser = argparse.ArgumentParser(
        prog="python -m tinytensor.profile",
        description="Run a script, then show where its time went, by op and by module.",
    )
    parser.add_argument("--svg", default="profile.svg", help="the picture's file; profile.svg")
    parser.add_argument("--rows", type=int, default=TOP, help=f"of each table; {TOP}")
    parser.add_argument("script", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script is given")
    options = parser.parse_args(arguments)
    script = clean(options.script)
    if not Path(options.script).is_file():
        parser.error(f"{script}: there is no such file; give the path of a Python script")

    argv, path = sys.argv, sys.path[:]
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, str(Path(options.script).resolve().parent))  # as `python script.py` does
    try:
        with profile() as times:
            try:
                runpy.run_path(options.script, run_name="__main__")
            except SystemExit as exit:
                if exit.code not in (None, 0):
                    print(f"{script} ended with {exit.code!r}", file=sys.stderr)
            except KeyboardInterrupt:
                print(f"{script} was interrupted", file=sys.stderr)
    finally:
        sys.argv, sys.path[:] = argv, path
    print(f"\n{times.table(options.rows)}")
    times.save_svg(options.svg)
    print(f"written: {clean(options.svg)}")


if __name__ == "__main__":
    main()
