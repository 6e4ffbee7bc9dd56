"""Forks: a child has its own memory, random numbers and threads, and never hangs.

Most children are made by this process. Those that need other threads at work, or another pool, are
made by a program of their own.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.create import generator
from tinytensor.distributions.distribution import lazy_property
from tinytensor.kernels.machinery import memory
from tinytensor.kernels.machinery.route import kernels_for_all_sizes
from tinytensor.profile import times
from tinytensor.utils.data import DataLoader, TensorDataset

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # Python 3.12: of threads
]
SECONDS = 60  # after which a child that hangs is ended


class Child:
    """function(child) in a forked child. Each side can wait for the other to get somewhere."""

    def __init__(self, function: Callable[[Any], Any]):
        from_child, to_parent = os.pipe()
        from_parent, to_child = os.pipe()
        self.number = os.fork()
        if self.number == 0:
            self.inbox, self.outbox = from_parent, to_parent
            signal.alarm(SECONDS)
            try:
                os.write(to_parent, b"." + pickle.dumps(function(self)))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(to_parent)
        os.close(from_parent)
        self.inbox, self.outbox = from_child, to_child

    def tell(self) -> None:
        os.write(self.outbox, b"!")

    def wait(self) -> None:
        assert os.read(self.inbox, 1) == b"!"

    def result(self) -> Any:
        with open(self.inbox, "rb") as file:
            text = file.read()
        os.close(self.outbox)
        status = os.waitpid(self.number, 0)[1]
        assert text, f"the child ended with status {status}"
        return pickle.loads(text[1:])


def in_child(function: Callable[[], Any]) -> Any:
    return Child(lambda child: function()).result()


# ------------------------------------------------------------------------------------------
# Memory
# ------------------------------------------------------------------------------------------


def result_of_a_kernel() -> np.ndarray:
    pytest.importorskip("numba")
    with kernels_for_all_sizes():
        return tt.gelu(tt.ones(100, 200)).array


MEMORY = {"on loan": lambda: memory.empty((100, 200)), "kernel": result_of_a_kernel}


@pytest.mark.parametrize("make", MEMORY.values(), ids=MEMORY.keys())
def test_arrays_from_before_belong_to_each(make: Callable[[], np.ndarray]) -> None:
    x = make()
    x.fill(1)

    def function(child: Child) -> tuple:
        before = set(x.ravel().tolist())
        x.fill(2)
        child.tell()
        child.wait()  # for the parent to write
        return before, set(x.ravel().tolist())

    child = Child(function)
    child.wait()
    assert (x == 1).all()
    x.fill(3)
    child.tell()
    assert child.result() == ({1.0}, {2.0})
    assert (x == 3).all()


def test_the_shelf_is_not_handed_out_twice() -> None:
    memory.release_memory()
    memory.empty((100, 200))  # lies on the shelf now

    def function(child: Child) -> tuple:
        idle = memory._shelf.idle
        y = memory.empty((100, 200))
        y.fill(2)
        child.tell()
        child.wait()
        return idle, set(y.ravel().tolist())

    child = Child(function)
    child.wait()
    x = memory.empty((100, 200))
    x.fill(3)
    child.tell()
    assert child.result() == (0, {2.0})
    assert (x == 3).all()


def test_a_training_step_in_both() -> None:
    """Kernels, forward and backward, in parent and child at once: the numbers of one alone."""
    pytest.importorskip("numba")
    model = tt.nn.Sequential(tt.nn.Linear(64, 64), tt.nn.GELU(), tt.nn.Linear(64, 64))
    x = tt.linspace(-2, 2, 128 * 64).reshape(128, 64)

    def gradients(factor: float) -> list[bytes]:
        with kernels_for_all_sizes():
            model.zero_grad()
            (model(x * factor) ** 2).sum().backward()
            return [p.grad.array.tobytes() for p in model.parameters()]

    alone = [gradients(1.0), gradients(2.0)]
    child = Child(lambda child: [gradients(2.0) for _ in range(20)])
    assert all(gradients(1.0) == alone[0] for _ in range(20))
    assert all(found == alone[1] for found in child.result())


# ------------------------------------------------------------------------------------------
# Locks that another thread holds
# ------------------------------------------------------------------------------------------

own = tt.Generator().manual_seed(5)
LOCKS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "shelf": (lambda: memory._shelf.lock, lambda: memory.empty((100, 200)).shape),
    "profile": (lambda: times._lock, lambda: times.Times().measure("", "x", "forward", int)),
    "all generators": (lambda: generator._generators_lock, lambda: tt.Generator().initial_seed()),
    "default generator": (
        lambda: generator.default_generator_of().stream.bit_generator.lock,
        lambda: tt.rand(3).tolist(),
    ),
    "own generator": (lambda: own.stream.bit_generator.lock, lambda: tt.rand(3, generator=own)),
    "NumPy's generator": (lambda: np.random.get_bit_generator().lock, lambda: np.random.rand()),
}


@pytest.mark.parametrize("find, use", LOCKS.values(), ids=LOCKS.keys())
def test_locks_are_free_in_a_child(find: Callable, use: Callable) -> None:
    np.random.rand()
    taken, fork_begins = threading.Event(), threading.Event()

    def hold() -> None:
        with find():
            taken.set()
            fork_begins.wait()
            threading.Event().wait(0.1)  # so that the fork has to wait

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    fork_begins.set()
    try:
        assert in_child(lambda: type(use()).__name__)
    finally:
        thread.join()
    use()


def test_a_lazy_property_has_no_lock() -> None:
    started, go_on = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, wait: bool):
            self.wait = wait

        @lazy_property
        def value(self) -> Any:
            if self.wait:
                started.set()
                go_on.wait()
            return tt.ones(1)

    thread = threading.Thread(target=lambda: Slow(True).value)
    thread.start()
    started.wait()
    try:
        assert in_child(lambda: Slow(False).value.item()) == 1
    finally:
        go_on.set()
        thread.join()


# ------------------------------------------------------------------------------------------
# Random numbers
# ------------------------------------------------------------------------------------------


def draw() -> list[float]:
    return tt.rand(4).tolist()


def family() -> dict[str, list[float]]:
    """What a parent, its children and a grandchild draw."""
    tt.manual_seed(3)
    found = {"first child": in_child(draw), "second child": in_child(draw)}
    found["parent"] = draw()
    found["third child"] = in_child(draw)
    found["grandchild"] = in_child(lambda: in_child(draw))
    found["parent later"] = draw()
    return found


def test_children_do_not_repeat_numbers() -> None:
    numbers = [x for drawn in family().values() for x in drawn]
    assert len(set(numbers)) == len(numbers)


def test_children_are_reproducible() -> None:
    assert family() == family()


def test_forks_do_not_change_the_parent() -> None:
    forked = family()
    tt.manual_seed(3)
    assert [draw(), draw()] == [forked["parent"], forked["parent later"]]


def test_children_after_a_resume() -> None:
    """A child's numbers follow from the state, however often there were forks before it."""
    tt.manual_seed(3)
    in_child(draw)
    draw()
    state = tt.get_rng_state()
    expected = in_child(draw)
    tt.manual_seed(4)
    tt.set_rng_state(state)
    assert in_child(draw) == expected


def test_the_seed_of_a_child_can_be_told() -> None:
    tt.manual_seed(3)
    seed, numbers = in_child(lambda: (tt.initial_seed(), draw()))
    tt.manual_seed(seed)
    assert draw() == numbers


def test_a_child_can_be_seeded() -> None:
    tt.manual_seed(3)
    numbers = draw()
    assert in_child(lambda: tt.manual_seed(3) and draw()) == numbers


@pytest.mark.parametrize("library", ["tinytensor", "torch"])
def test_generators_of_ones_own_are_copied(library: str) -> None:
    lib = pytest.importorskip(library)
    g = lib.Generator()
    g.manual_seed(5)
    assert in_child(lambda: lib.rand(4, generator=g).tolist()) == (
        lib.rand(4, generator=g).tolist()
    )


# ------------------------------------------------------------------------------------------
# DataLoader
# ------------------------------------------------------------------------------------------


def loader(workers: int) -> DataLoader:
    return DataLoader(TensorDataset(tt.arange(40)), 4, shuffle=True, num_workers=workers)


def batches(passes: Any) -> list:
    return [x.tolist() for (x,) in passes]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_in_a_child(workers: int) -> None:
    tt.manual_seed(0)
    theirs = in_child(lambda: batches(loader(workers)))
    mine = batches(loader(workers))
    for found in (theirs, mine):
        assert sorted(x for batch in found for x in batch) == list(range(40))
    assert theirs != mine
    tt.manual_seed(0)
    assert in_child(lambda: batches(loader(0))) == theirs


def test_a_pass_with_workers_stays_in_its_process() -> None:
    tt.manual_seed(0)
    expected = batches(loader(0))
    tt.manual_seed(0)
    started = iter(loader(2))
    first = next(started)[0].tolist()

    def go_on() -> str:
        with pytest.raises(RuntimeError) as error:
            next(started)
        assert len(batches(loader(2))) == 10
        return str(error.value)

    message = f"DataLoader: this pass began in process {os.getpid()}, before a fork"
    assert in_child(go_on).startswith(message)
    assert [first, *batches(started)] == expected


# ------------------------------------------------------------------------------------------
# Threads of kernels
# ------------------------------------------------------------------------------------------

BEGIN = """
import multiprocessing, os, signal, sys, threading, time
import numpy as np, tinytensor as tt
import tinytensor.nn.functional as F

def child(function):
    number = os.fork()
    if number == 0:
        signal.alarm(60)
        right = False
        try:
            right = function()
        finally:
            os._exit(0 if right else 1)
    return number

def check(number):
    assert os.waitpid(number, 0)[1] == 0

def tasks():
    return len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else None

x = tt.linspace(-3, 3, 1 << 16)
rows, weight = x.reshape(256, 256), tt.linspace(-1, 1, 256 * 256).reshape(256, 256)
big = tt.linspace(-1, 1, 300 * 300, dtype=tt.float64).reshape(300, 300)
"""


def python(code: str, *arguments: Any, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, *map(str, arguments)],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip("Numba does not have this pool here")
    assert done.returncode == 0, done.stderr


POOLS = {
    "threads start again": """
expected = tt.gelu(x)
def work():
    before = tasks()
    right = tt.equal(tt.gelu(x), expected) and tt.get_num_threads() == most
    return right and (before is None or most == 1 or before == 1 < tasks())
most = tt.get_num_threads()
check(child(work))
assert tt.equal(tt.gelu(x), expected)
""",
    "a fork in a fork": """
expected = tt.gelu(x)
def work(depth=2):
    right = depth == 0 or tt.equal(tt.gelu(x), expected)
    if depth:
        check(child(lambda: work(depth - 1)))
    return right and tt.equal(tt.gelu(x), expected)
check(child(work))
""",
    "a child without kernels before": """
def work():
    y = tt.gelu(x)
    tt.set_kernels("numpy")
    return tt.allclose(y, tt.gelu(x), atol=1e-6)
check(child(work))
tt.gelu(x)
""",
    "threads in a child": """
expected = tt.gelu(x)
def work():
    found = []
    def run():
        for _ in range(20):
            found.append(tt.equal(tt.gelu(x), expected))
    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    return len(found) == 80 and all(found)
check(child(work))
""",
    "a fork by another thread": """
expected = tt.gelu(x)
def fork():
    check(child(lambda: tt.equal(tt.gelu(x), expected)))
    done.append(1)
done = []
thread = threading.Thread(target=fork)
thread.start()
thread.join()
assert done
""",
    "multiprocessing": """
context = multiprocessing.get_context("fork")
expected = tt.gelu(x)
def work(factor=1.0):
    return tt.gelu(x * factor).sum().item()
alone = [work(i) for i in range(6)]
with context.Pool(2) as pool:
    assert pool.map(work, range(6)) == alone
process = context.Process(target=lambda: sys.exit(not tt.equal(tt.gelu(x), expected)))
process.start()
process.join()
assert process.exitcode == 0
""",
}


@pytest.mark.parametrize("pool", ["omp", "workqueue"])
@pytest.mark.parametrize("code", POOLS.values(), ids=POOLS.keys())
def test_kernels_in_a_child(code: str, pool: str) -> None:
    pytest.importorskip("numba")
    python(code, NUMBA_THREADING_LAYER=pool)


# Threads that do `what`, the first arguments, all the time, while the process forks `forks` times.
# Each child does everything. Wrong numbers are those that differ from a thread's alone.
BUSY = """
own = tt.Generator().manual_seed(0)
everything = {
    "gelu": lambda: tt.gelu(x),
    "linear": lambda: F.linear(rows, weight),
    "softmax": lambda: tt.distributions.Categorical(logits=rows).probs,
    "product": lambda: big @ big,
    "rand": lambda: tt.rand(1 << 16),
    "own rand": lambda: tt.rand(1 << 16, generator=own),
}
*what, forks = sys.argv[1:]
expected = {name: everything[name]() for name in list(everything)[:4]}

def check_all():
    found = {name: function() for name, function in everything.items()}
    return all(tt.allclose(found[name], y, rtol=1e-5, atol=1e-4) for name, y in expected.items())

def work(name):
    while not done:
        everything[name]()

done = False
threads = [threading.Thread(target=work, args=(name,)) for name in what]
for thread in threads: thread.start()
try:
    for _ in range(int(forks)):
        check(child(check_all))
    assert check_all()
finally:
    done = True
for thread in threads: thread.join()
"""
WORK = {
    "kernels": ["gelu", "linear", "softmax"],
    "random numbers": ["rand", "own rand"],
    "products": ["product", "product", "gelu"],
}


@pytest.mark.parametrize("what", WORK.values(), ids=WORK.keys())
def test_other_threads_are_busy(what: list[str]) -> None:
    python(BUSY, *what, 8)


@pytest.mark.slow
def test_other_threads_are_busy_in_many_forks() -> None:
    python(BUSY, "gelu", "linear", "product", "rand", "own rand", 50)


LOADING = """
threads = [threading.Thread(target=tt.gelu, args=(x,))]
threads[0].start()  # imports Numba, and compiles
for pause in (0.05, 0.4, 0.4):
    time.sleep(pause)
    check(child(lambda: abs(tt.gelu(x)[-1].item() - 2.9960) < 1e-3))
threads[0].join()
"""


def test_a_kernel_is_being_loaded_and_compiled(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    python(LOADING, NUMBA_CACHE_DIR=str(tmp_path))
