"""The engine's overhead, on tensors so small that the arithmetic costs nothing.

    python benchmarks/overhead.py            a table, and benchmarks/results/overhead.json; exit
                                             code 1 if ours costs more, beyond the noise

chain   (x·w + w), tanh, ·0.9 … on four numbers: forward and backward, per op
mlp     one training step of a 2-16-16-2 MLP with Adam on 32 points
import  how much longer `import tinytensor` takes than `import numpy`

The machine may be busy: each figure is a median over rounds in which PyTorch and tinytensor take
turns, and what counts is the ratio. Without PyTorch only tinytensor's own figures are shown.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tinytensor

try:
    import torch
except ImportError:
    torch = None

CHAIN = 1000  # ops in the chain
ROUNDS = 60
NOISE = 0.05  # of PyTorch's time


def chain(lib: Any) -> Callable[[], float]:
    """Seconds per op of a chain of tiny ops, forward and backward."""
    x = lib.full((4,), 0.3, requires_grad=True)
    w = lib.full((4,), 0.5, requires_grad=True)
    weight = lib.ones(4)

    def run() -> float:
        start = time.perf_counter()
        y = x
        for _ in range(CHAIN // 4):
            y = y * w
            y = y + w
            y = y.tanh()
            y = y * 0.9
        y.backward(weight)
        return (time.perf_counter() - start) / CHAIN

    return run


def mlp(lib: Any) -> Callable[[], float]:
    """Seconds per training step of a 2-16-16-2 MLP with Adam."""
    lib.manual_seed(0)
    linear = lib.linear if lib is tinytensor else lib.nn.functional.linear
    cross_entropy = lib.cross_entropy if lib is tinytensor else lib.nn.functional.cross_entropy
    sizes = [2, 16, 16, 2]
    layers = [
        (
            (lib.randn(n, m) * math.sqrt(2 / m)).requires_grad_(),
            lib.zeros(n, requires_grad=True),
        )
        for m, n in zip(sizes, sizes[1:])
    ]
    optimizer = lib.optim.Adam([p for layer in layers for p in layer], lr=1e-3)
    x, y = lib.randn(32, 2), lib.randint(0, 2, (32,))

    def run() -> float:
        start = time.perf_counter()
        for _ in range(20):
            optimizer.zero_grad()
            h = x
            for weight, bias in layers[:-1]:
                h = lib.relu(linear(h, weight, bias))
            loss = cross_entropy(linear(h, *layers[-1]), y)
            loss.backward()
            optimizer.step()
        return (time.perf_counter() - start) / 20

    return run


def import_seconds(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    # Let Python write bytecode, so that imports use cached bytecode as in an installed package.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def by_turns(runs: list[Callable[[], float]], rounds: int) -> list[float]:
    """The median of each, after one round to warm up."""
    times: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    for _ in range(rounds):
        for seconds, run in zip(times, runs):
            seconds.append(run())
    return [statistics.median(seconds) for seconds in times]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    libraries = [tinytensor] + ([torch] if torch is not None else [])
    results: dict[str, dict[str, float]] = {}
    for name, measure in {"chain": chain, "mlp": mlp}.items():
        figures = by_turns([measure(lib) for lib in libraries], rounds)
        results[name] = {lib.__name__: 1e6 * t for lib, t in zip(libraries, figures)}
    imports = by_turns([lambda m=m: import_seconds(m) for m in ("numpy", "tinytensor")], 7)
    results["import"] = {"tinytensor": 1e6 * (imports[1] - imports[0])}

    print(f"{'':8}{'tinytensor':>14}{'PyTorch':>14}{'ratio':>9}")
    for name, row in results.items():
        ours, theirs = row["tinytensor"], row.get("torch")
        ratio = "" if theirs is None else f"{ours / theirs:9.2f}"
        print(f"{name:8}{ours:11.1f} µs" + (f"{theirs:11.1f} µs" if theirs else " " * 14) + ratio)
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "overhead.json").write_text(json.dumps(results, indent=2) + "\n")
    compared = [row for row in results.values() if "torch" in row]
    return int(any(row["tinytensor"] > row["torch"] * (1 + NOISE) for row in compared))


if __name__ == "__main__":
    raise SystemExit(main())
