"""The cost of tracing when it is not used: this engine against a copy without tracing.

    python benchmarks/tracing.py        a table; exit code 1 if the cost exceeds the noise

The copy lacks the lines that tracing needs: in every forward, the source line, the module path and
the test for a recording; in the backward walk, the steps that can be watched. Both engines take
turns at steps of the GPT, each in its own process. A second process of the first engine shows how
far two equal engines differ by chance.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from run import Contender

ROOT = Path(__file__).resolve().parent.parent
FLOOR = 0.02  # differences below this are noise on any machine
PLAIN, AGAIN, WITHOUT = "tinytensor", "the same once more", "without tracing"

# File: [(current lines, lines without tracing)]
TRACING: dict[str, list[tuple[str, str]]] = {
    "tinytensor/autograd/op.py": [
        ("        self.scope = state.mode.scope\n", ""),
        ("        self._code, self._instruction = outside.call_site(sys._getframe(2))\n", ""),
        ("        if mode.watched:\n            outside.watch(node, args, (tensor,))\n", ""),
    ],
    "tinytensor/autograd/outputs.py": [
        ("        self.scope = parent.scope\n", ""),
        ("        self._code, self._instruction = parent._code, parent._instruction\n", ""),
        ("    if state.mode.watched:\n        outside.watch(node, args, tensors)\n", ""),
    ],
    "tinytensor/autograd/walk.py": [
        ("        yield node, g\n", "    yield\n"),  # one step that ends the walk, not one per node
    ],
    "nn/module.py": [
        ("        path = self._path_below(caller and caller[0], scope)\n", '        path = ""\n'),
    ],
}


def copy_without_tracing(folder: Path) -> None:
    """Copy the packages without the lines of TRACING; a line that is not found is an error."""
    for package in ("tinytensor", "nn"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    for name, changes in TRACING.items():
        path = folder / name
        text = path.read_text()
        for lines, instead in changes:
            if text.count(lines) != 1:
                raise SystemExit(f"{name}: expected these lines once, change TRACING:\n{lines}")
            text = text.replace(lines, instead)
        path.write_text(text)


def measure(case: str, kernels: str, seconds: float) -> dict[str, float]:
    """{engine: median seconds of a step}."""
    contenders: dict[str, Contender] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy_without_tracing(Path(folder))
        try:
            for name in (PLAIN, AGAIN, WITHOUT):
                path = {"PYTHONPATH": folder if name == WITHOUT else str(ROOT)}
                contenders[name] = Contender(case, kernels, path)
                contenders[name].warm_up()
            order = list(contenders.values())
            for _ in range(max(3, round(seconds / 0.3))):
                random.shuffle(order)  # so that none always follows the same one
                for contender in order:
                    contender.take_turn()
        finally:
            for contender in contenders.values():
                contender.end()
    return {name: statistics.median(c.seconds) for name, c in contenders.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="gpt", help="a case of benchmarks/run.py")
    parser.add_argument("--seconds", type=float, default=20.0, help="per engine")
    parser.add_argument("--kernels", default="tinytensor", help="contender of benchmarks/run.py")
    options = parser.parse_args()
    found = measure(options.case, options.kernels, options.seconds)
    base = found[WITHOUT]
    for name, seconds in found.items():
        print(f"{name:24}{1e3 * seconds:9.3f} ms{seconds / base:9.3f}")
    noise = abs(found[AGAIN] / found[PLAIN] - 1)
    cost = (found[PLAIN] + found[AGAIN]) / 2 / base - 1
    print(f"cost of tracing, unused: {cost:+.1%}; two equal engines differ by {noise:.1%}")
    if cost > max(noise, FLOOR):
        sys.exit("tracing costs more than the noise")


if __name__ == "__main__":
    main()
