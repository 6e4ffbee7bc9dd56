"""Writes docs/measured.md, the tables of measured ratios, from what `make bench` found.

    make bench; python docs/bench_table.py

The page on performance shows them; the README names its first rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "bench.json"
sys.path.insert(0, str(ROOT / "benchmarks"))


def tables(results: dict[str, Any], names: dict[str, str]) -> str:
    """The ratio of each contender to PyTorch, case by case; names: what each case is.

    Contenders that do not run in every case have a second table, of those in which they do.
    """
    cases = results["cases"]
    contenders = list(dict.fromkeys(name for row in cases.values() for name in row))
    everywhere = [name for name in contenders if all(name in row for row in cases.values())]
    others = [name for name in contenders if name not in everywhere]
    found = [_table(cases, everywhere, names)]
    if others:
        some = {case: row for case, row in cases.items() if any(name in row for name in others)}
        found.append(_table(some, others, names))
    return "\n\n".join(found)


def _table(cases: dict[str, Any], contenders: list[str], names: dict[str, str]) -> str:
    lines = [
        "| | " + " | ".join(contenders) + " |",
        "|---|" + "---:|" * len(contenders),
    ]
    for case, row in cases.items():
        cells = [f"{row[name]['ratio']:.2f}" if name in row else "" for name in contenders]
        lines.append(f"| {names[case]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def about(results: dict[str, Any]) -> str:
    """On what, and with which versions."""
    versions = dict(results["versions"])
    versions.pop("system", None)
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    threads = results["threads"]
    return f"Time over PyTorch's, medians; {threads} threads; {packages}. Less is faster."


def main() -> None:
    from run import CASES

    if not RESULTS.exists():
        sys.exit(f"bench_table: {RESULTS} is not there, expected it from `make bench`")
    results = json.loads(RESULTS.read_text("utf-8"))
    text = f"{about(results)}\n\n{tables(results, CASES)}\n"
    (ROOT / "docs" / "measured.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
