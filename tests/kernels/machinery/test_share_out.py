"""The work of a kernel, shared out among threads: all of it is done, once, whatever the pool."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("numba")

import tinytensor as tt
from tinytensor.kernels.machinery.compile import parallel, part, serial

from .test_route import python


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = tt.get_num_threads()
    yield
    tt.set_num_threads(before)


@parallel
def count_up(start, stop, visits):
    """visits[i] ← visits[i] + 1"""
    for i in range(start, stop):
        visits[i] += 1


@parallel
def note_parts(start, stop, starts, stops):
    """Where each part starts and stops, at its start."""
    starts[start], stops[start] = start, stop


@parallel
def take_room(start, stop, size, y):
    y[start:stop] = np.empty(size, dtype=np.int8)[0]


@part
def double(x):
    return 2 * x


@serial
def quadruple(x):
    return double(double(x))


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 1000])
def test_everything_is_done_once(count: int, number: int) -> None:
    tt.set_num_threads(number)
    visits = np.zeros(1001, np.int64)
    count_up(count, visits)
    assert visits[:count].tolist() == [1] * count and not visits[count:].any()


@pytest.mark.skipif(tt.get_num_threads() < 2, reason="there is one core")
@pytest.mark.parametrize("number, expected", [(1, {0: 7}), (2, {0: 3, 3: 7})])
def test_there_is_a_part_for_each_thread(number: int, expected: dict) -> None:
    tt.set_num_threads(number)
    starts, stops = np.zeros(7, np.int64), np.zeros(7, np.int64)
    note_parts(7, starts, stops)
    assert {int(a): int(b) for a, b in zip(starts, stops) if b} == expected


def test_without_memory_there_is_an_error() -> None:
    with pytest.raises(MemoryError, match="a kernel ran out of memory"):
        take_room(4, 1 << 60, np.zeros(4, np.int8))


def test_parts_are_for_kernels() -> None:
    assert quadruple(3) == 12
    with pytest.raises(TypeError, match="double: called from Python, expected a kernel"):
        double(3)


# ------------------------------------------------------------------------------------------
# Other pools, other processes
# ------------------------------------------------------------------------------------------

IN_THREADS = """
import threading, tinytensor as tt
x = tt.linspace(-3, 3, 1 << 16)
expected = tt.gelu(x)
results = []
def work():
    for _ in range(50):
        results.append(tt.equal(tt.gelu(x), expected))
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
import numba
print(numba.threading_layer(), len(results), all(results))
"""


@pytest.mark.parametrize("pool", ["workqueue", "omp"])
def test_threads_of_the_program_share_any_pool(pool: str) -> None:
    done = python(IN_THREADS, NUMBA_THREADING_LAYER=pool)
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"Numba has no {pool} here")
    assert done.stdout.split() == [pool, "200", "True"], done.stderr
