"""Run random programs in both libraries and show the shortest form of each that differs.

python -m tests.random_programs.run --count 100000 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import time

import torch

from .compare import check
from .generator import program
from .shrink import shrink


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="that of the first program")
    parser.add_argument("--stop-after", type=int, default=10, help="that many differences")
    options = parser.parse_args()
    torch.set_num_threads(1)  # for tensors of a few elements
    start, found = time.perf_counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        if seed % 1000 == 0 and seed > options.seed:
            print(f"{seed - options.seed} programs, {found} differ", file=sys.stderr, flush=True)
        made = program(seed)
        if check(made.dtype, made.lines, made.run):
            found += 1
            lines = shrink(made.dtype, made.lines)
            print(f"seed {seed} ({made.dtype}): {check(made.dtype, lines)}")
            print("".join(f"    {line}\n" for line in lines), flush=True)
            if found == options.stop_after:
                break
    seconds = time.perf_counter() - start
    count = seed + 1 - options.seed
    print(f"{count} programs, {found} differ, {1000 * seconds / count:.1f} ms each")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
