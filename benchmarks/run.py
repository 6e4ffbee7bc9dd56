"""Training steps and generation: PyTorch, tinytensor and others in turn, on this machine.

    python benchmarks/run.py                           everything: about ten minutes
    python benchmarks/run.py --only gpt,LSTM           some cases
    python benchmarks/run.py --contenders PyTorch,tinytensor --seconds 10

It prints a table and writes results/bench.json and results/bench.svg; its exit code is 1 if a
figure is beyond its limit (limits.py). Each contender runs in its own process, which is stopped
between turns so that its threads do not disturb the others. The machine may be busy; what counts is
the ratio of medians over many turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from chart import bar_chart
from contender import CONTENDERS, CORES, FRAMEWORKS, GENERATED, is_there
from limits import missed

RESULTS = Path(__file__).parent / "results"
TURN = 0.3  # seconds that a turn should take
BASE = "PyTorch"  # ratios are to this one; to the first if it is not installed

CASES: dict[str, str] = {
    "gpt": "GPT step, 4 layers, width 128, context 64, batch 12",
    "gpt-512": "GPT step, context 512, batch 4",
    "gpt-2048": "GPT step, context 2048, batch 1",
    "gpt-wide": "GPT step, 6 layers, width 384, context 256, batch 8",
    "encoder-decoder": "encoder-decoder step, 2+2 layers, width 128",
    "LSTM": "LSTM step, width 128, 64 tokens",
    "GRU": "GRU step, width 128, 64 tokens",
    "CNN": "CNN step, 28×28 pictures",
    "MLP": "MLP step, 784-256-10, batch 128",
    "Mamba": "Mamba block step, width 128",
    "generation": f"generation, {GENERATED} tokens with KV cache",
}


class Contender:
    """A process that runs steps on request, and is stopped otherwise."""

    def __init__(self, case: str, name: str, environment: dict[str, str] | None = None):
        self.case, self.name = case, name
        self.seconds: list[float] = []
        script = Path(__file__).with_name("contender.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), case, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **CONTENDERS[name][1], **(environment or {})},
        )

    def ask(self, request: str) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self._send(getattr(signal, "SIGCONT", None))
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.case}: {self.name} ended; its error is above")
        self._send(getattr(signal, "SIGSTOP", None))
        return json.loads(answer)

    def _send(self, wanted: Any) -> None:
        if wanted is None:
            time.sleep(0.3)  # no such signals here: let its threads go to sleep by themselves
        else:
            self.process.send_signal(wanted)

    def warm_up(self) -> None:
        """Run the first steps, which compile and load, and find how many steps make a turn."""
        self.ask("3")
        self.steps = max(1, round(TURN / min(self.ask("2"))))

    def take_turn(self) -> None:
        """Time one turn without its first step, which finds threads asleep and caches cold."""
        self.seconds += self.ask(str(self.steps + 1))[1:]

    def end(self) -> None:
        self.process.kill()  # works on a stopped process too
        self.process.communicate()  # closes its pipes


def measure(case: str, names: list[str], seconds: float) -> dict[str, dict[str, Any]]:
    """{contender: its figures}, after turns of about `seconds` for each."""
    contenders: list[Contender] = []
    try:
        for name in names:
            contenders.append(Contender(case, name))
            contenders[-1].warm_up()
        for _ in range(max(3, round(seconds / TURN))):
            for contender in contenders:
                contender.take_turn()
        memory = {contender.name: contender.ask("memory") for contender in contenders}
    finally:
        for contender in contenders:
            contender.end()
    return {c.name: figures(c.seconds, memory[c.name]) for c in contenders}


def figures(seconds: list[float], memory: dict[str, int] | None) -> dict[str, Any]:
    low, median, high = statistics.quantiles(seconds, n=4)
    return {
        "median_ms": 1e3 * median,
        "quartiles_ms": [1e3 * low, 1e3 * high],
        "steps": len(seconds),
        "memory_bytes": memory,
    }


def add_ratios(row: dict[str, dict[str, Any]]) -> None:
    base = row.get(BASE) or next(iter(row.values()))
    for found in row.values():
        found["ratio"] = found["median_ms"] / base["median_ms"]


# ------------------------------------------------------------------------------------------
# Output
# ------------------------------------------------------------------------------------------


def print_case(case: str, row: dict[str, dict[str, Any]]) -> None:
    print(f"\n{CASES[case]}")
    print(f"  {'':26}{'median':>12}{'quartiles':>18}{'ratio':>8}{'step':>10}{'process':>10}")
    for name, found in row.items():
        low, high = found["quartiles_ms"]
        text = f"  {name:26}{found['median_ms']:9.2f} ms{low:9.2f} – {high:6.2f}"
        text += f"{found['ratio']:8.2f}"
        if found["memory_bytes"]:
            peaks = found["memory_bytes"]["step"], found["memory_bytes"]["process"]
            text += "".join(f"{peak / 2**20:7.0f} MB" for peak in peaks)
        if case == "generation":
            text += f"{1e3 * GENERATED / found['median_ms']:10.0f} tokens/s"
        print(text, flush=True)


def versions() -> dict[str, str]:
    packages = ("torch", "numpy", "numba", "autograd", "mygrad")
    found = {"python": platform.python_version(), "system": platform.platform()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def write_results(results: dict[str, dict[str, dict[str, Any]]], seconds: float) -> None:
    """Write results/bench.json and results/bench.svg; cases that were not run are kept."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "bench.json"
    known = json.loads(path.read_text())["cases"] if path.exists() else {}
    merged = {case: results.get(case) or known.get(case) for case in CASES}
    merged = {case: row for case, row in merged.items() if row}
    about = {"threads": CORES, "seconds": seconds, "versions": versions()}
    path.write_text(json.dumps({**about, "cases": merged}, indent=2) + "\n")
    rows = {
        CASES[case]: {name: found["median_ms"] for name, found in row.items()}
        for case, row in merged.items()
    }
    caption = "median time of a step in ms; shorter is better"
    (RESULTS / "bench.svg").write_text(bar_chart(rows, list(CONTENDERS), caption))
    print(f"\nwritten: {path} and {path.with_suffix('.svg').name}")


def chosen(text: str | None, known: list[str], what: str) -> list[str]:
    """The names in a comma-separated list, checked; all known names for None."""
    if text is None:
        return known
    names = text.split(",")
    wrong = [name for name in names if name not in known]
    if wrong:
        raise SystemExit(f"{what}: got {wrong[0]!r}, expected some of {', '.join(known)}")
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help=f"cases, comma-separated: {', '.join(CASES)}")
    parser.add_argument("--contenders", help="comma-separated; skips those not installed")
    parser.add_argument("--seconds", type=float, default=6.0, help="per case and contender")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that `finally` ends the contenders
    contenders = chosen(options.contenders, list(CONTENDERS), "--contenders")
    left_out = [name for name in contenders if not is_there(name)]
    if left_out:
        print(f"not installed: {', '.join(left_out)}")

    results = {}
    for case in chosen(options.only, list(CASES), "--only"):
        entered = contenders if case == "gpt" else [c for c in contenders if c in FRAMEWORKS]
        row = measure(case, [name for name in entered if is_there(name)], options.seconds)
        add_ratios(row)
        print_case(case, row)
        results[case] = row
    write_results(results, options.seconds)
    over = missed(results)
    print("\n".join(over) if over else "all within their limits")
    return int(bool(over))


if __name__ == "__main__":
    raise SystemExit(main())
