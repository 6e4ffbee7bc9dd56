"""Time and memory of a graph of a million nodes: forward, backward and freeing it.

    python benchmarks/huge_graph.py              a table; exit code 1 if a limit is missed
    python benchmarks/huge_graph.py --nodes 1e5

Each library runs in its own process. Limits: no more memory per node than PyTorch, and at most
LONGEST times the seconds per node of a graph a tenth the size.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from contender import is_there

LIBRARIES = {"PyTorch": "torch", "tinytensor": "tinytensor"}
LONGEST = 1.5  # seconds per node, relative to a graph a tenth the size


def numbers(lib: Any, n: int) -> Any:
    """A chain of products of one number: x·c·c·…"""
    y = lib.ones((), requires_grad=True)
    for _ in range(n):
        y = y * 1.000001
    return y


def mixed(lib: Any, n: int) -> Any:
    """A chain of different ops that reuse one leaf."""
    y = x = lib.ones(8, requires_grad=True)
    for _ in range(n // 4):
        y = (y * x + x).tanh().exp()
    return y


def branches(lib: Any, n: int) -> Any:
    """Many ops on one leaf, joined at the end."""
    x = lib.ones(8, requires_grad=True)
    return lib.stack([x * 1.5 for _ in range(n)])


def writes(lib: Any, n: int) -> Any:
    """In-place writes to one tensor."""
    y = lib.ones(8, requires_grad=True) * 1.0
    for _ in range(n):
        y.add_(1.0)
    return y


GRAPHS: dict[str, Callable] = {f.__name__: f for f in (numbers, mixed, branches, writes)}


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(library: str, graph: str, nodes: int) -> dict[str, float]:
    """CPU seconds of each phase and peak bytes, per node, measured in this process."""
    lib = importlib.import_module(library)
    build = GRAPHS[graph]
    build(lib, 100).sum().backward()
    before, moments = peak(), [time.process_time()]
    y = build(lib, nodes)
    moments.append(time.process_time())
    y.sum().backward()
    moments.append(time.process_time())
    del y
    moments.append(time.process_time())
    phases = ("forward", "backward", "free")
    seconds = {p: (b - a) / nodes for p, a, b in zip(phases, moments, moments[1:])}
    return {**seconds, "bytes": (peak() - before) / nodes}


def in_a_process(library: str, graph: str, nodes: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", library, graph, "--nodes", str(nodes)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def missed(graph: str, found: dict[str, dict[str, float]], tenth: dict[str, float]) -> list[str]:
    """A line for each limit that our figures exceed."""
    ours = found["tinytensor"]
    lines = []
    if "PyTorch" in found and ours["bytes"] > found["PyTorch"]["bytes"]:
        lines.append(f"{graph}: {ours['bytes']:.0f} bytes, PyTorch {found['PyTorch']['bytes']:.0f}")
    growth = sum(ours[p] for p in ("forward", "backward")) / (tenth["forward"] + tenth["backward"])
    if growth > LONGEST:
        lines.append(f"{graph}: {growth:.2f} times the seconds per node with ten times the nodes")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=float, default=1e6)
    parser.add_argument("--measure", nargs=2, metavar=("LIBRARY", "GRAPH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    nodes = int(options.nodes)
    if options.measure:
        print(json.dumps(measure(*options.measure, nodes)))
        return 0

    contenders = {name: m for name, m in LIBRARIES.items() if m == "tinytensor" or is_there(name)}
    print(f"{nodes:,} nodes; per node: µs forward, backward, free, and bytes")
    lines: list[str] = []
    for graph in GRAPHS:
        found = {name: in_a_process(m, graph, nodes) for name, m in contenders.items()}
        for name, figures in found.items():
            times = "".join(f"{figures[p] * 1e6:9.2f}" for p in ("forward", "backward", "free"))
            print(f"{graph:10}{name:12}{times}{figures['bytes']:9.0f}", flush=True)
        lines += missed(graph, found, in_a_process("tinytensor", graph, nodes // 10))
    print("\n".join(lines) or "within the limits")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
