"""Programs as learners write them (learners.py): PyTorch and tinytensor by turns, on this machine.

    python benchmarks/learners_run.py                    all: about three minutes
    python benchmarks/learners_run.py --only LeNet,VAE   some
    python benchmarks/learners_run.py --seconds 10

It prints the ratio of median times for each, and their median; its exit code is 1 if that is above
1.0, or one of them above 1.5.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys

from contender import is_there
from learners import PROGRAMS
from run import chosen, measure

OURS, THEIRS = "tinytensor", "PyTorch"
LONGEST, LONGEST_MEDIAN = 1.5, 1.0  # of PyTorch's time


def missed(ratios: dict[str, float]) -> list[str]:
    """A line for each figure beyond its limit."""
    lines = [
        f"{name}: {ratio:.2f} of {THEIRS}'s time, limit {LONGEST}"
        for name, ratio in ratios.items()
        if ratio > LONGEST
    ]
    median = statistics.median(ratios.values())
    if median > LONGEST_MEDIAN:
        lines.append(f"median: {median:.2f} of {THEIRS}'s time, limit {LONGEST_MEDIAN}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help=f"comma-separated: {', '.join(PROGRAMS)}")
    parser.add_argument("--seconds", type=float, default=5.0, help="per program and contender")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that `finally` ends the contenders
    names = chosen(options.only, list(PROGRAMS), "--only")
    if not (is_there(OURS) and is_there(THEIRS)):
        raise SystemExit(f"learners_run: {OURS} and {THEIRS} must both be installed")
    print(f"{'':22}{THEIRS:>12}{OURS:>14}{'ratio':>8}")
    ratios = {}
    for name in names:
        row = measure(name, [THEIRS, OURS], options.seconds)
        theirs, ours = row[THEIRS]["median_ms"], row[OURS]["median_ms"]
        ratios[name] = ours / theirs
        print(f"{name:22}{theirs:9.2f} ms{ours:11.2f} ms{ratios[name]:8.2f}", flush=True)
    print(f"{'median':48}{statistics.median(ratios.values()):8.2f}")
    over = missed(ratios)
    print("\n".join(over) if over else "all within their limits")
    return int(bool(over))


if __name__ == "__main__":
    raise SystemExit(main())
