"""Times: the results of a profile by op and by module, as a table and as a flame graph.

An op that runs inside another one (a rule may call ops) is counted once, in the module and the
direction of the outer op. Its time is subtracted from the outer op's time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..devices import wait_for_gpu
from ..fork import HeldLock, at_fork
from ..serialize import write_whole
from ..text import one_line
from .flame_graph import flame_graph

FORWARD, BACKWARD, STEP = "forward", "backward", "step"
TOP = 25  # rows of a table
LONGEST = 80  # the most characters of a name in it
_lock = threading.RLock()  # guards the entries of all Times
at_fork([HeldLock(_lock)])


class Entry:
    """The calls of one op in one module, in one direction."""

    __slots__ = ("calls", "seconds")

    def __init__(self) -> None:
        self.calls, self.seconds = 0, 0.0


class _Running(threading.local):
    """The op that this thread is running."""

    inside = 0.0  # seconds that ops inside the current one took
    place: tuple[str, str] | None = None  # module path and direction of the outermost op


class Times:
    """entries {(module path, op, direction): Entry}, and the seconds of the whole block."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], Entry] = {}
        self.total = 0.0
        self._running = _Running()

    def measure(self, scope: str, name: str, direction: str, call: Callable[[], Any]) -> Any:
        """Run call() and add its time to the entry of (scope, name, direction)."""
        running = self._running
        around, place = running.inside, running.place
        running.inside, running.place = 0.0, place or (scope, direction)
        scope, direction = running.place
        start = time.perf_counter()
        try:
            return call()
        finally:
            wait_for_gpu()  # or a later op would be charged for its work
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
        """{module path: {direction: Entry}}, modules inside it included, the longest first.

        The path "" is for ops outside all modules.
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
        """Seconds inside ops and optimisers. The rest of the total is Python around them."""
        return sum(entry.seconds for entry in self.entries.values())

    # --------------------------------------------------------------------------------------
    # Output
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
        """Write a flame graph: each module above what runs inside it, as wide as its time."""
        stacks = {
            (direction, *_names_in(scope), name): entry.seconds
            for (scope, name, direction), entry in self.entries.items()
        }
        write_whole(path, flame_graph(stacks, self.total).encode(), "profile")


def _names_in(scope: str) -> tuple[str, ...]:
    """ "GPT.blocks.0.attn" → GPT, blocks.0, attn: an index stays with the name of its list."""
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
