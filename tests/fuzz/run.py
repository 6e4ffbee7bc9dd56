"""Run many random cases and print those in which tinytensor and PyTorch differ.

python -m tests.fuzz.run --count 500000 --seed 0
python -m tests.fuzz.run --op linear --number 4711      one case alone
"""

from __future__ import annotations

import argparse
import functools
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

import tinytensor as tt
from tinytensor.autograd.variable import wrap
from tinytensor.kernels.machinery.route import kernels_for_all_sizes

from . import cases_layers  # noqa: F401 - fills CASES
from .cases import CASES, Case
from .judge import Difference, difference, unit
from .layouts import laid_out
from .ours import ours
from .steps import Rounding, by_steps
from .theirs import exact, theirs
from .values import Draw

# What runs: kernels, the ops' own NumPy version in float32, and the same in float64.
ROUTES = (("numba", np.float32), ("numpy", np.float32), ("numpy", np.float64))


# Probes with smaller errors as well: of a row of numbers that were equal, the variance after large
# errors is large, and the gradient small; after smaller ones it is the other way round.
SMALLER = (1, 1, 30, 1000)


BILINEAR = (
    "linear",
    "matmul",
    *(f"conv{how}{n}d" for how in ("", "_transpose") for n in (1, 2, 3)),
)


class Failure(AssertionError):
    """One case in which the two libraries differ, or ours raised an error."""


@contextmanager
def ready() -> Iterator[None]:
    """Kernels for arrays of all sizes, one thread in PyTorch, and no warnings about overflow."""
    before, threads = torch.get_num_threads(), tt.get_num_threads()
    torch.set_num_threads(1)
    try:
        with kernels_for_all_sizes(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(before)
        tt.set_num_threads(threads)
        tt.set_kernels("auto")


def with_dtype(array: np.ndarray, dtype: Any) -> np.ndarray:
    return array.astype(dtype) if array.dtype.kind == "f" else array


def run_case(op: str, seed: int, number: int) -> None:
    """Draw one case and compare; raises Failure with all that is needed to reproduce it."""
    draw = Draw(seed, number)
    kernels, dtype = ROUTES[draw.rng.choice(3, p=[0.7, 0.15, 0.15])]
    tt.set_kernels(kernels)
    tt.set_num_threads(2 if draw.chance(0.1) else 1)
    case = CASES[op](draw)
    arrays = [laid_out(with_dtype(arg.array, dtype), draw) for arg in case.tensors()]
    where = f"--op {op} --seed {seed} --number {number}  # {case}, {kernels} {dtype.__name__}"
    try:
        found = compare(case, arrays, dtype, draw)
    except Exception as error:
        raise Failure(f"{where}\n    {type(error).__name__}: {error}") from error
    if found:
        raise Failure("\n    ".join([where, *map(str, found)]))


def compare(case: Case, arrays: list, dtype: Any, draw: Draw) -> list[Difference]:
    wide = [with_dtype(a, np.float64) for a in arrays]
    outputs, inputs = call_theirs(case, wide, exact(case.name))
    # The gradient of a loss is an ordinary number.
    seeds = [draw.numbers(tuple(y.shape), None if y.ndim else "normal") for y in outputs]
    if case.finite:
        seeds = [np.nan_to_num(g, posinf=2.0, neginf=-2.0).clip(-1e25, 1e25) for g in seeds]
    seeds = [laid_out(g.astype(dtype), draw) for g in seeds]
    truth = results_of_theirs(outputs, inputs, seeds)
    if dtype is np.float64:
        expected = truth
    else:
        expected = results_of_theirs(*call_theirs(case, arrays, theirs(case.name)), seeds)
    found = results_of_ours(case, arrays, seeds)
    names = [f"output {i} " for i in range(len(outputs))]
    names += [f"gradient {i} " for i, arg in enumerate(case.tensors()) if arg.grad]
    assert len(found) == len(expected) == len(truth) == len(names), "another number of results"

    probes = Probes(case, wide, seeds, truth, dtype, draw)
    differences = []
    products = ("output 0 ", "gradient 0 ", "gradient 1 ") if case.name in BILINEAR else ()
    for i, name in enumerate(names):
        change = functools.partial(lambda i, n: probes(n)[i], i)
        terms = functools.partial(lambda i: probes.terms()[i], i) if name in products else None
        wrong = difference(name, found[i], expected[i], truth[i], change, case.depth, terms)
        if wrong is not None:
            differences.append(wrong)
    return differences


class Probes:
    """How much the results change with a random rounding error in each input and each step."""

    def __init__(
        self, case: Case, arrays: list, seeds: list, truth: list, dtype: Any, draw: Draw
    ) -> None:
        self.case, self.arrays, self.seeds, self.truth = case, arrays, seeds, truth
        self.unit = unit(np.dtype(dtype))
        self.inputs = Rounding(dtype, self.unit, 0.0, draw.rng)
        self.function, stepwise = exact(case.name), by_steps(case.name)
        self.stepwise = stepwise is not None
        if stepwise is not None:
            self.steps = Rounding(dtype, self.unit, float(np.finfo(dtype).tiny), draw.rng)
            self.function = functools.partial(stepwise, self.steps)
        self.count, self.most = 0, [np.zeros(t.shape) for t in truth]

    def __call__(self, count: int) -> list[np.ndarray]:
        """The largest change of each element of each result, over this many probes."""
        while self.count < count:
            self.count += 1
            self._probe()
        return self.most

    def terms(self) -> list[np.ndarray]:
        """Σ |terms| of each result of a bilinear op: what it gives for numbers without signs."""
        outputs, inputs = call_theirs(self.case, list(map(np.abs, self.arrays)), self.function)
        return results_of_theirs(outputs, inputs, list(map(np.abs, self.seeds)))

    def _probe(self) -> None:
        moved = self.arrays
        self.inputs.unit = self.unit / SMALLER[self.count // 2 % len(SMALLER)]
        if self.stepwise:
            self.steps.unit, self.steps.forward = self.inputs.unit, bool(self.count % 2)
        else:
            args = zip(moved, self.case.tensors())
            moved = [self._shaken(a) if arg.smooth else a for a, arg in args]
        slopes = [self._shaken(g) for g in self.seeds]
        outputs, inputs = call_theirs(self.case, moved, self.function)
        for most, result, truth in zip(
            self.most, results_of_theirs(outputs, inputs, slopes), self.truth
        ):
            change = np.abs(result - truth)
            np.fmax(most, np.where(np.isfinite(change), change, 0), out=most)

    def _shaken(self, x: np.ndarray) -> np.ndarray:
        return self.inputs.noise(torch.from_numpy(np.array(x, np.float64, order="C"))).numpy()


# ------------------------------------------------------------------------------------------
# One call in each library
# ------------------------------------------------------------------------------------------


def flatten(outputs: Any) -> list:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def call_theirs(case: Case, arrays: list, function: Callable) -> tuple[list, list]:
    tensors = [torch.from_numpy(np.array(a, order="C")) for a in arrays]
    for tensor, arg in zip(tensors, case.tensors()):
        tensor.requires_grad_(arg.grad)
    args, kwargs = case.filled(tensors)
    inputs = [t for t in tensors if t.requires_grad]
    return flatten(function(*args, **kwargs)), inputs


def results_of_theirs(outputs: list, inputs: list, seeds: list) -> list[np.ndarray]:
    """The outputs, and the gradients of the inputs."""
    gradients: tuple = ()
    if inputs:
        dtype = outputs[0].dtype
        slopes = [torch.from_numpy(np.array(g, order="C")).to(dtype) for g in seeds]
        pairs = [(y, g) for y, g in zip(outputs, slopes) if y.requires_grad]
        outs, slopes = [y for y, _ in pairs], [g for _, g in pairs]
        gradients = torch.autograd.grad(outs, inputs, slopes, allow_unused=True)
        gradients = tuple(
            torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients)
        )
    return [x.detach().numpy() for x in (*outputs, *gradients)]


def results_of_ours(case: Case, arrays: list, seeds: list) -> list[np.ndarray]:
    tensors = [wrap(a) for a in arrays]
    for tensor, arg in zip(tensors, case.tensors()):
        if arg.grad:
            tensor.requires_grad_()
    args, kwargs = case.filled(tensors)
    outputs = flatten(ours(case.name)(*args, **kwargs))
    inputs, gradients = [t for t in tensors if t.requires_grad], []
    if inputs:
        pairs = [(y, wrap(g)) for y, g in zip(outputs, seeds) if y.requires_grad]
        outs, slopes = [y for y, _ in pairs], [g for _, g in pairs]
        found = tt.autograd.grad(outs, inputs, slopes, allow_unused=True)
        gradients = [tt.zeros_like(x) if g is None else g for x, g in zip(inputs, found)]
    return [x.detach().numpy() for x in (*outputs, *gradients)]


# ------------------------------------------------------------------------------------------
# Many cases
# ------------------------------------------------------------------------------------------


def failures(ops: list[str], seed: int, numbers: range) -> Iterator[tuple[str, Failure]]:
    """(op, what differs) for each failing case; the ops take turns."""
    with ready():
        for number in numbers:
            op = ops[number % len(ops)]
            try:
                run_case(op, seed, number)
            except Failure as failure:
                yield op, failure


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="cases to run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op", action="append", choices=sorted(CASES), help="only this op")
    parser.add_argument("--number", type=int, help="only the case of this number")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    ops = options.op or list(CASES)
    numbers = range(options.first, options.first + options.count)
    if options.number is not None:
        numbers = range(options.number, options.number + 1)
    bad: Counter[str] = Counter()
    start = time.perf_counter()
    for op, failure in failures(ops, options.seed, numbers):
        bad[op] += 1
        print(failure, flush=True)
    took = time.perf_counter() - start
    print(f"{len(numbers)} cases of {len(ops)} ops, {sum(bad.values())} differ, {took:.0f} s")
    for op, count in bad.most_common():
        print(f"    {op}: {count}")


if __name__ == "__main__":
    main()
