"""How long a new process takes to import the library and run its first GPT training step.

    python benchmarks/start.py                 a table; exit code 1 above the limits

PyTorch and tinytensor start in turn, in new processes. `import` does not include NumPy's import;
`first step` is the extra time of the first step over later ones. tinytensor first compiles its
kernels into an empty folder, which is a row of its own; later processes load them from there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from contender import CONTENDERS, is_there

ROUNDS = 7
COMPILING, WARM = 25.0, 0.5  # limits on the extra seconds of the first step
SCRIPT = """
import importlib, json, sys, time
import numpy

moments = [time.perf_counter()]
lib = importlib.import_module(sys.argv[1])
importlib.import_module(sys.argv[1] + ".nn")
moments.append(time.perf_counter())
import gpt
step = gpt.training_step(lib, gpt.SETTINGS["gpt"])
seconds = []
for _ in range(6):
    start = time.perf_counter()
    step()
    seconds.append(time.perf_counter() - start)
print(json.dumps([moments[1] - moments[0], seconds[0] - sorted(seconds[1:])[2]]))
"""


def start(name: str, folder: str) -> tuple[float, float]:
    """Seconds of the import, and extra seconds of the first step, in a new process."""
    package = "torch" if name == "PyTorch" else "tinytensor"
    environment = {**os.environ, **CONTENDERS[name][1], "NUMBA_CACHE_DIR": folder}
    environment["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, "-c", SCRIPT, package]
    done = subprocess.run(command, env=environment, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.decode()}")
    imported, first = json.loads(done.stdout)
    return imported, first


def print_row(name: str, times: list[tuple[float, float]]) -> None:
    imports, firsts = zip(*times, strict=True)
    text = f"  {name:36}"
    for seconds in (imports, firsts):
        text += f"{statistics.median(seconds):8.2f} s ({min(seconds):.2f} – {max(seconds):.2f})"
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="processes of each contender")
    rounds = parser.parse_args().rounds
    names = [name for name in ("PyTorch", "tinytensor", "tinytensor NumPy only") if is_there(name)]
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':38}{'import':>8}{'first step':>27}")
        within = True
        if "tinytensor" in names:
            compiling = start("tinytensor", folder)
            print_row("tinytensor, compiling its kernels", [compiling])
            within = compiling[1] <= COMPILING
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                times[name].append(start(name, folder))
    for name in names:
        print_row(name, times[name])
    if "tinytensor" in names:
        within &= statistics.median(first for _, first in times["tinytensor"]) <= WARM
    return int(not within)


if __name__ == "__main__":
    raise SystemExit(main())
