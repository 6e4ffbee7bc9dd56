"""Writes docs/measured.md, the tables of measured ratios, from the results of `make bench`.

    make bench; python docs/bench_table.py

docs/performance.md includes the file; the README quotes its first row.
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

    Contenders that do not run in every case go into a second table, of the cases they run.
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
    """What the tables show, with the number of threads and the versions."""
    versions = dict(results["versions"])
    versions.pop("system", None)
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    threads = results["threads"]
    return f"Median time relative to PyTorch; lower is faster. {threads} threads; {packages}."


def main() -> None:
    from run import CASES

    if not RESULTS.exists():
        sys.exit(f"bench_table: {RESULTS} does not exist; run `make bench` first")
    results = json.loads(RESULTS.read_text("utf-8"))
    text = f"{about(results)}\n\n{tables(results, CASES)}\n"
    (ROOT / "docs" / "measured.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
