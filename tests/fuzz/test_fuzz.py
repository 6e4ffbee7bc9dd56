"""Random cases of every op, by number: a few in each run, 20,000 in the slow ones.

`python -m tests.fuzz.run --op NAME --seed 0 --number N` runs a failing case alone.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
pytest.importorskip("numba", reason="Numba compiles what is tested")

from ..kernels.spy import kernel_of, routed_methods, watched_kernels
from .cases import CASES
from .judge import difference
from .run import Failure, failures, ready, run_case

OPS = sorted(CASES)
QUICK, SLOW, PARTS = 6, 20_000, 40


def check(ops: list[str], numbers: range) -> None:
    found = [str(failure) for _, failure in failures(ops, 0, numbers)]
    assert not found, f"{len(found)} of {len(numbers)} cases differ\n" + "\n".join(found)


@pytest.mark.parametrize("op", OPS)
def test_some_cases(op: str) -> None:
    check([op], range(QUICK))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_cases(part: int) -> None:
    """The ops take turns."""
    size = SLOW // PARTS
    check(OPS, range(1000 + part * size, 1000 + (part + 1) * size))


@pytest.mark.slow
def test_every_kernel_is_drawn() -> None:
    have = {name for name, method in routed_methods().items() if kernel_of(method) is not None}
    with watched_kernels() as counts:
        for _ in failures(OPS, 0, range(12 * len(OPS))):
            pass
    assert sorted(have - set(counts)) == []


def test_a_case_is_the_same_each_time() -> None:
    with ready():
        for op in ("linear", "scaled_dot_product_attention"):
            outcomes = []
            for _ in range(2):
                try:
                    run_case(op, 1, 7)
                    outcomes.append("")
                except Failure as failure:
                    outcomes.append(str(failure))
            assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "ours", [1.00001, np.nan, np.inf, 0.0, -1.0], ids=["digits", "nan", "inf", "zero", "sign"]
)
def test_wrong_numbers_are_seen(ours: float) -> None:
    """The judge itself can fail."""
    theirs, truth = np.array([2.0, 1.0], np.float32), np.array([2.0, 1.0])
    found = np.array([2.0, ours], np.float32)
    wrong = difference("y", found, theirs, truth, lambda n: 1e-7 * truth, 1)
    assert wrong is not None and wrong.place == (1,)
    assert difference("y", theirs, theirs, truth, lambda n: 0 * truth, 1) is None
