"""The limits for the figures of run.py, and a line for each figure beyond its limit."""

from __future__ import annotations

from typing import Any

OURS, THEIRS = "tinytensor", "PyTorch"
LONGEST = {OURS: 1.0}  # at most this fraction of PyTorch's time, in every case
LONGEST_OF_GPT = {"tinytensor NumPy only": 1.7}
TIMES_AS_LONG = {"autograd": 8.0, "MyGrad": 8.0}  # at least, relative to tinytensor on the GPT
NO_MORE_MEMORY = ("gpt-512", "gpt-2048", "gpt-wide")  # than PyTorch, in these cases only

Row = dict[str, dict[str, Any]]  # {contender: its figures}, of one case


def missed(results: dict[str, Row]) -> list[str]:
    """A line for each figure beyond its limit; figures that were not measured are skipped."""
    lines = []
    for case, row in results.items():
        if THEIRS in row:
            lines += _too_slow(case, row)
        if case == "gpt" and OURS in row:
            lines += _too_close(case, row)
        if case in NO_MORE_MEMORY and OURS in row and THEIRS in row:
            lines += _too_large(case, row)
    return lines


def _too_slow(case: str, row: Row) -> list[str]:
    limits = LONGEST | (LONGEST_OF_GPT if case == "gpt" else {})
    return [
        f"{case}: {name} takes {row[name]['ratio']:.3f} of {THEIRS}'s time, limit {limit}"
        for name, limit in limits.items()
        if name in row and row[name]["ratio"] > limit
    ]


def _too_close(case: str, row: Row) -> list[str]:
    ours = row[OURS]["median_ms"]
    return [
        f"{case}: {name} takes {row[name]['median_ms'] / ours:.2f} times as long as {OURS}, "
        f"limit {limit}"
        for name, limit in TIMES_AS_LONG.items()
        if name in row and row[name]["median_ms"] < limit * ours
    ]


def _too_large(case: str, row: Row) -> list[str]:
    ours, theirs = (row[name]["memory_bytes"] for name in (OURS, THEIRS))
    if not ours or not theirs or ours["step"] <= theirs["step"]:  # not measured outside Linux
        return []
    text = "{}: a step of {} needs {:.0f} MB, that of {} {:.0f} MB"
    return [text.format(case, OURS, ours["step"] / 2**20, THEIRS, theirs["step"] / 2**20)]
