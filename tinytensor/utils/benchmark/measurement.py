"""Measured times of a statement, their statistics, and a table of several of them."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from typing import Any


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What was measured: the statement, and labels for tables."""

    stmt: str
    setup: str = ""
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement; with the sub-label."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")


@dataclasses.dataclass
class Measurement:
    """Times of a statement: raw_times has the seconds of runs of number_per_run calls each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self) -> list[float]:
        """Seconds of one call, one number for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    def _sorted(self) -> list[float]:
        if not self.raw_times:
            raise ValueError("Measurement: there are no times, expected at least one run")
        return sorted(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self._sorted())

    @property
    def mean(self) -> float:
        return statistics.fmean(self._sorted())

    @property
    def iqr(self) -> float:
        """The distance between the quartiles."""
        times = self._sorted()
        return _quantile(times, 0.75) - _quantile(times, 0.25)

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary by more than a tenth of the median."""
        return self.iqr / self.median > 0.1

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def num_threads(self) -> int:
        return self.task_spec.num_threads

    @property
    def description(self) -> str | None:
        return self.task_spec.description

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Those of the same task and number of calls joined into one."""
        groups: dict[tuple[TaskSpec, int], Measurement] = {}
        for m in measurements:
            key = m.task_spec, m.number_per_run
            empty = Measurement(m.number_per_run, [], m.task_spec)
            groups.setdefault(key, empty).raw_times.extend(m.raw_times)
        return list(groups.values())

    def __repr__(self) -> str:
        value, unit = _readable(self.median)
        runs = f"{len(self.raw_times)} runs of {self.number_per_run} calls"
        setup = f"\n  setup: {self.task_spec.setup}" if self.task_spec.setup != "pass" else ""
        return (
            f"<Measurement>\n{self.title}{setup}\n  {value:.2f} {unit} per call (median of {runs}, "
            f"{self.num_threads} thread{'s' * (self.num_threads > 1)})"
        )


def _quantile(ordered: list[float], q: float) -> float:
    """Linear interpolation between the neighbouring values."""
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _readable(seconds: float) -> tuple[float, str]:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return seconds / size, unit
    return seconds / 1e-9, "ns"


class Compare:
    """A table of measurements: a row for each sub-label, a column for each description."""

    def __init__(self, results: Iterable[Measurement]):
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        self._results += list(results)

    def trim_significant_figures(self) -> None:
        """No effect: three digits are shown."""

    def colorize(self, rowwise: bool = False) -> None:
        """No effect: tables have no colours."""

    def highlight_warnings(self) -> None:
        """No effect."""

    def print(self) -> None:
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        columns = list(dict.fromkeys(m.description or m.task_spec.stmt for m in merged))
        rows: dict[tuple, dict[str, float]] = {}
        for m in merged:
            key = (m.task_spec.label or "", m.task_spec.sub_label or "", m.num_threads)
            rows.setdefault(key, {})[m.description or m.task_spec.stmt] = m.median
        lines = [["", *columns]]
        for (label, sub_label, threads), times in rows.items():
            name = f"{label} {sub_label} ({threads} threads)".strip()
            lines.append([name, *(f"{times[c] * 1e6:.3g}" if c in times else "" for c in columns)])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        table = [
            " | ".join(t.rjust(w) for t, w in zip(line, widths, strict=True)) for line in lines
        ]
        return "\n".join([*table, "Times are in microseconds (us)."])


__all__ = ["Compare", "Measurement", "TaskSpec"]
