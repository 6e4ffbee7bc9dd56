"""How the time of a GPT training step grows with the context: PyTorch and tinytensor in turn.

    python benchmarks/growth.py         a table; exit code 1 if ours grows faster, beyond the noise

One sequence, twice as long in each row. `a token more` is the time that each further token adds to
the step, from one row to the next. It grows, because each token attends to all before it.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

from contender import is_there
from gpt import CONTEXTS
from run import Contender, figures

THEIRS, OURS = "PyTorch", "tinytensor"
NOISE = 0.05  # relative to PyTorch's added time


def measured(rounds: int) -> dict[tuple[int, str], dict[str, Any]]:
    """{(context, contender): its figures}; all take turns, as the machine's speed may change."""
    contenders: dict[tuple[int, str], Contender] = {}
    try:
        for length in CONTEXTS:
            for name in (THEIRS, OURS):
                contenders[length, name] = Contender(f"context-{length}", name)
                contenders[length, name].warm_up()
        for _ in range(rounds):
            for contender in contenders.values():
                contender.take_turn()
        return {key: figures(c.seconds, c.ask("memory")) for key, c in contenders.items()}
    finally:
        for contender in contenders.values():
            contender.end()


def print_steps(found: dict[tuple[int, str], dict[str, Any]]) -> None:
    print(f"{'context':>8}{THEIRS:>14}{'memory':>10}{OURS:>14}{'memory':>10}   ratio")
    for length in CONTEXTS:
        row = [found[length, name] for name in (THEIRS, OURS)]
        text = f"{length:8}"
        for figure in row:
            memory = figure["memory_bytes"]
            text += f"{figure['median_ms']:11.1f} ms"
            text += f"{memory['step'] / 2**20:7.0f} MB" if memory else " " * 10
        print(f"{text}{row[1]['median_ms'] / row[0]['median_ms']:8.2f}")


def added(found: dict[tuple[int, str], dict[str, Any]], name: str) -> list[float]:
    """Milliseconds for each further token, from one context to the next."""
    return [
        (found[long, name]["median_ms"] - found[short, name]["median_ms"]) / (long - short)
        for short, long in pairwise(CONTEXTS)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12, help="turns of each contender")
    rounds = parser.parse_args().rounds
    if not (is_there(THEIRS) and is_there(OURS)):
        print("growth: PyTorch and Numba are needed; nothing is measured")
        return 0
    found = measured(rounds)
    print_steps(found)
    print(f"\n{'a token more':>14}{THEIRS:>14}{OURS:>14}   ratio")
    faster = False
    pairs = zip(pairwise(CONTEXTS), added(found, THEIRS), added(found, OURS), strict=True)
    for (short, long), theirs, ours in pairs:
        between = f"{short} – {long}"
        print(f"{between:>14}{1e3 * theirs:11.0f} µs{1e3 * ours:11.0f} µs{ours / theirs:8.2f}")
        faster |= ours > theirs * (1 + NOISE)
    return int(faster)


if __name__ == "__main__":
    raise SystemExit(main())
