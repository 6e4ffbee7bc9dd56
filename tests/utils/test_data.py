"""Datasets, samplers, collating and the DataLoader with its worker threads."""

from __future__ import annotations

import collections
import functools
import gc
import subprocess
import sys
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.create.generator import use_generator
from tinytensor.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    pad_collate,
    random_split,
)

WORKERS = [0, 1, 2, 5]


class Squares(Dataset):
    """Sample i is i², with some of them slower than others."""

    def __init__(self, n: int, slow: bool = False):
        self.n, self.slow = n, slow

    def __getitem__(self, i: int) -> int:
        if self.slow and i % 3 == 0:
            time.sleep(0.003)
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i * i

    def __len__(self) -> int:
        return self.n


class Counting(IterableDataset):
    """0 … n−1; each worker its own share if sharded."""

    def __init__(self, n: int, sharded: bool = False):
        self.n, self.sharded = n, sharded

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        if self.sharded and info is not None:
            return iter(range(info.id, self.n, info.num_workers))
        return iter(range(self.n))

    def __len__(self) -> int:
        return self.n


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Every worker has ended when a test is over."""
    before = set(threading.enumerate())
    yield
    gc.collect()
    until = time.monotonic() + 5
    while left := set(threading.enumerate()) - before:
        assert time.monotonic() < until, f"threads that still run: {left}"
        time.sleep(0.01)


def values(loader: Any) -> list:
    return [batch.tolist() for batch in loader]


# ------------------------------------------------------------------------------------------
# Datasets
# ------------------------------------------------------------------------------------------


def test_tensor_dataset() -> None:
    data = TensorDataset(tt.arange(4), tt.arange(8).reshape(4, 2))
    x, y = data[2]
    assert len(data) == 4 and x.item() == 2 and y.tolist() == [4, 5]
    assert [t.tolist() for t in data[1:3]] == [[1, 2], [[2, 3], [4, 5]]]


def test_concatenated_and_subset() -> None:
    data = Squares(3) + Squares(5)
    assert isinstance(data, ConcatDataset) and len(data) == 8
    assert [data[i] for i in range(8)] == [0, 1, 4, 0, 1, 4, 9, 16]
    assert data[-1] == 16 and data[-8] == 0
    subset = Subset(data, [7, 0, 2])
    assert [subset[i] for i in range(len(subset))] == [16, 0, 4]
    assert Subset(TensorDataset(tt.arange(5)), [4, 2])[[0, 1]][0].tolist() == [4, 2]


def test_chained_and_stacked() -> None:
    chain = Counting(2) + Counting(3)
    assert isinstance(chain, ChainDataset) and len(chain) == 5 and list(chain) == [0, 1, 0, 1, 2]
    assert StackDataset(Squares(3), Squares(3))[2] == (4, 4)
    assert StackDataset(a=Squares(3), b=[5, 6, 7])[1] == {"a": 1, "b": 6}


@pytest.mark.parametrize("lengths, counts", [
    ([7, 3], [7, 3]), ([0.5, 0.5], [5, 5]), ([0.75, 0.25], [8, 2]), ([1 / 3] * 3, [4, 3, 3]),
    ([1.0], [10]),
])  # fmt: skip
def test_random_split(lengths: list, counts: list[int]) -> None:
    parts = random_split(Squares(10), lengths, generator=tt.Generator().manual_seed(1))
    assert [len(part) for part in parts] == counts
    assert sorted(i for part in parts for i in part.indices) == list(range(10))
    again = random_split(Squares(10), lengths, generator=tt.Generator().manual_seed(1))
    assert [p.indices for p in parts] == [p.indices for p in again]
    assert [i for part in parts for i in part.indices] != list(range(10))


def test_random_split_counts_as_pytorch_does() -> None:
    torch = pytest.importorskip("torch")
    for total in (13, 20, 23):
        for shares in ([0.5, 0.5], [0.7, 0.2, 0.1], [0.34, 0.33, 0.33]):
            ours = random_split(Squares(total), shares)
            theirs = torch.utils.data.random_split(range(total), shares)
            assert [len(p) for p in ours] == [len(p) for p in theirs]


def test_an_empty_part_warns() -> None:
    with pytest.warns(UserWarning, match="part 1 of 2 samples is empty"):
        random_split(Squares(2), [0.9, 0.05, 0.05])


# ------------------------------------------------------------------------------------------
# Samplers
# ------------------------------------------------------------------------------------------


def test_random_sampler() -> None:
    assert list(SequentialSampler(Squares(4))) == [0, 1, 2, 3]
    sampler = RandomSampler(Squares(50))
    tt.manual_seed(0)
    first, second = list(sampler), list(sampler)
    tt.manual_seed(0)
    assert first == list(sampler) != second
    assert sorted(first) == sorted(second) == list(range(50)) != first
    more = list(RandomSampler(Squares(10), num_samples=25))
    assert sorted(more[:10]) == sorted(more[10:20]) == list(range(10)) and len(set(more[20:])) == 5
    assert len(list(RandomSampler(Squares(10), num_samples=3))) == 3
    drawn = list(RandomSampler(Squares(5), replacement=True, num_samples=200))
    assert set(drawn) == set(range(5)) and len(drawn) == 200


def test_subset_and_weighted_samplers() -> None:
    assert sorted(SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    generator = tt.Generator().manual_seed(0)
    drawn = Counter(WeightedRandomSampler([0.1, 0.0, 0.9], 2000, generator=generator))
    assert set(drawn) == {0, 2} and 100 < drawn[0] < 300
    assert sorted(WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]


ENDLESS: dict[str, Callable[[], Any]] = {
    "sequential": lambda: SequentialSampler(range(10**10)),
    "random": lambda: RandomSampler(range(1000), replacement=True, num_samples=10**10),
    "rounds": lambda: RandomSampler(range(1000), num_samples=10**10),
    "weighted": lambda: WeightedRandomSampler([1.0, 2.0, 3.0], 10**10),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ENDLESS)
def test_samplers_are_lazy(name: str, workers: int) -> None:
    """10¹⁰ samples in batches: nothing is allocated for them, and a pass can be resumed."""
    data = range(10**10)

    def loader() -> DataLoader:
        return DataLoader(data, 64, sampler=ENDLESS[name](), num_workers=workers)

    one = loader()
    assert len(one.sampler) == 10**10 and len(one) == 156_250_000  # type: ignore[arg-type]
    tt.manual_seed(3)
    tracemalloc.start()
    batches = iter(one)
    for _ in range(5):
        next(batches)
    state = one.state_dict()
    after = [next(batches).tolist() for _ in range(5)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    other = loader()
    other.load_state_dict({**state, "batches": 5})
    again = iter(other)
    assert [next(again).tolist() for _ in range(5)] == after


def test_blocks_are_independent_of_other_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """An order longer than a block depends on the seed only, whatever is drawn meanwhile."""
    monkeypatch.setattr("tinytensor.utils.data.sampler.BLOCK", 8)
    for make in (
        lambda g: RandomSampler(range(5), replacement=True, num_samples=50, generator=g),
        lambda g: RandomSampler(range(5), num_samples=50, generator=g),
        lambda g: WeightedRandomSampler([1, 1, 1, 1, 1], 50, generator=g),
    ):
        generator = tt.Generator().manual_seed(4)
        alone = list(make(generator))
        generator.manual_seed(4)
        disturbed = [(i, tt.rand(1, generator=generator))[0] for i in make(generator)]
        assert alone == disturbed and len(alone) == 50 and set(alone) == set(range(5))


def test_short_orders_are_drawn_at_once() -> None:
    """Up to a block, the indices are those of one call: seeded programs keep their order."""
    generator = tt.Generator()
    draw = functools.partial(tt.randint, 9, (70,), generator=generator.manual_seed(1))
    expected = draw().tolist()
    generator.manual_seed(1)
    assert list(RandomSampler(range(9), True, 70, generator)) == expected
    generator.manual_seed(1)
    expected = tt.randperm(3000, generator=generator).tolist()
    generator.manual_seed(1)
    assert list(RandomSampler(range(3000), generator=generator)) == expected


@pytest.mark.parametrize("n", [0, 1, 6, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batch_sampler_equals_pytorchs(n: int, drop_last: bool) -> None:
    torch = pytest.importorskip("torch")
    ours = BatchSampler(SequentialSampler(range(n)), 3, drop_last)
    theirs = torch.utils.data.BatchSampler(range(n), 3, drop_last)
    assert list(ours) == list(theirs) and len(ours) == len(theirs)


# ------------------------------------------------------------------------------------------
# Collating
# ------------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


class Items(list):
    """A list of a class of its own."""


def samples_of(lib: Any) -> dict[str, list]:
    """Batches by what they show, for tinytensor or PyTorch."""
    t = lib.tensor
    return {
        "tensors": [t([1.0, 2.0]), t([3.0, 4.0])],
        "integers": [t(1), t(2)],
        "arrays": [np.ones((2, 3)), np.zeros((2, 3))],
        "float32 arrays": [np.ones(3, np.float32)] * 2,
        "NumPy numbers": [np.float32(1.5), np.float32(2.5)],
        "NumPy doubles": [np.float64(1.5), np.float64(2.5)],
        "NumPy integers": [np.int32(1), np.int32(2)],
        "NumPy bools": [np.bool_(True), np.bool_(False)],
        "floats": [1.5, 2.5],
        "ints": [1, 2],
        "bools": [True, False],
        "strings": ["a", "b"],
        "bytes": [b"a", b"b"],
        "tuples": [(t([1.0]), 2), (t([3.0]), 4)],
        "lists": [[1, 2.5], [3, 4.5]],
        "dicts": [{"x": t([1.0]), "y": "a"}, {"x": t([2.0]), "y": "b"}],
        "ordered dicts": [collections.OrderedDict(b=1, a=2), collections.OrderedDict(b=3, a=4)],
        "named tuples": [Point(1, 2.0), Point(3, 4.0)],
        "nested": [{"a": [(1, t([2.0]))]}, {"a": [(3, t([4.0]))]}],
        "own lists": [Items([1, 2]), Items([3, 4])],
    }


def plain(value: Any) -> Any:
    """Tensors as (dtype, values), containers with their class."""
    if hasattr(value, "detach"):
        return str(value.dtype).split(".")[-1], value.tolist()
    if isinstance(value, dict):
        return type(value), [(k, plain(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [plain(v) for v in value]
    return value


@pytest.mark.parametrize("name", samples_of(tt))
def test_collating_equals_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = samples_of(tt)[name], samples_of(torch)[name]
    expected = plain(torch.utils.data.default_collate(theirs))
    assert plain(default_collate(ours)) == expected
    converted = plain(torch.utils.data.default_convert(theirs[0]))
    assert plain(default_convert(ours[0])) == converted


def test_pad_collate() -> None:
    batch = [(tt.tensor([1, 2, 3]), 7), (tt.tensor([4]), 8)]
    tokens, labels = pad_collate(batch)
    assert tokens.tolist() == [[1, 2, 3], [4, 0, 0]] and labels.tolist() == [7, 8]
    assert tokens.dtype == tt.int64
    lists = pad_collate([{"ids": [1, 2]}, {"ids": [3, 4, 5]}], padding_value=-1)
    assert lists["ids"].tolist() == [[1, 2, -1], [3, 4, 5]]
    images = pad_collate([tt.ones(2, 1), tt.ones(1, 3)])
    assert images.tolist() == [[[1, 0, 0], [1, 0, 0]], [[1, 1, 1], [0, 0, 0]]]
    assert tt.equal(pad_collate([tt.ones(2), tt.ones(2)]), tt.ones(2, 2))


def test_pad_collate_passes_gradients_on() -> None:
    xs = [tt.ones(3, requires_grad=True), tt.ones(1, requires_grad=True)]
    (pad_collate(xs) * tt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    assert [x.grad.tolist() for x in xs] == [[1, 2, 3], [4]]


# ------------------------------------------------------------------------------------------
# The loader
# ------------------------------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None},
    {"batch_size": 20}, {"sampler": [5, 1, 3]}, {"batch_sampler": [[1, 2], [3], [0, 0, 0]]},
    {"batch_size": 3, "sampler": range(2, 9)}, {"batch_size": 3, "collate_fn": sum},
    {"batch_size": None, "sampler": [2, 4]},
]  # fmt: skip


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_batches_equal_pytorchs(settings: dict[str, Any], workers: int) -> None:
    torch = pytest.importorskip("torch")
    ours = DataLoader(Squares(10, slow=True), num_workers=workers, **settings)
    theirs = torch.utils.data.DataLoader(Squares(10), **settings)
    found, expected = [plain(b) for b in ours], [plain(b) for b in theirs]
    assert found == expected
    assert len(ours) == len(theirs) == len(found)
    assert [plain(b) for b in ours] == expected, "the second pass differs"


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("settings", [
    {}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None},
], ids=str)  # fmt: skip
def test_iterable_batches_equal_pytorchs(settings: dict[str, Any], workers: int) -> None:
    torch = pytest.importorskip("torch")

    class Theirs(torch.utils.data.IterableDataset):
        def __iter__(self) -> Iterator[int]:
            return iter(range(10))

    ours = DataLoader(Counting(10), num_workers=workers, **settings)
    theirs = torch.utils.data.DataLoader(Theirs(), **settings)
    assert [plain(b) for b in ours] == [plain(b) for b in theirs]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_iterable_shares_of_workers(workers: int) -> None:
    loader = DataLoader(Counting(11, sharded=True), 2, num_workers=workers)
    found = values(loader)
    assert sorted(i for batch in found for i in batch) == list(range(11))
    # Worker after worker, each in its own order, those that have ended left out.
    shares = [list(range(w, 11, workers)) for w in range(workers)]
    expected = []
    while any(shares):
        expected += [share[:2] for share in shares if share]
        shares = [share[2:] for share in shares]
    assert found == expected


def test_each_worker_iterates_over_the_whole_unless_it_is_sharded() -> None:
    loader = DataLoader(Counting(4), None, num_workers=2)
    assert sorted(int(x) for x in loader) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("settings", [
    {"shuffle": True}, {"sampler": RandomSampler(Squares(30), True, 75)},
    {"sampler": WeightedRandomSampler(range(1, 31), 40)},
    {"sampler": RandomSampler(Squares(30), num_samples=70)},
], ids=["shuffle", "replacement", "weighted", "more"])  # fmt: skip
def test_order_is_the_seeds_whatever_the_number_of_workers(settings: dict[str, Any]) -> None:
    found = []
    for workers in WORKERS:
        tt.manual_seed(3)
        loader = DataLoader(Squares(30, slow=True), 4, num_workers=workers, **settings)
        passes = []
        for stop in (None, 2, None):  # the second pass is left early
            passes.append([])
            for i, batch in enumerate(loader):
                passes[-1].append((batch.tolist(), tt.rand(1).item()))
                if i == stop:
                    break
        found.append(passes)
    assert all(other == found[0] for other in found[1:])
    assert found[0][0] != found[0][2]


def test_a_generator_of_its_own() -> None:
    def order(seed: int, workers: int) -> list:
        generator = tt.Generator().manual_seed(seed)
        loader = DataLoader(Squares(20), 5, True, num_workers=workers, generator=generator)
        return values(loader) + values(loader)

    tt.manual_seed(0)
    assert order(1, 0) == order(1, 3) != order(2, 0)
    state = tt.get_rng_state()
    order(1, 2)
    assert tt.equal(state, tt.get_rng_state()), "the default generator was used too"


def test_fetching_several_at_once() -> None:
    class Batches(Squares):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [-i for i in indices]

    assert values(DataLoader(Batches(4), 2)) == [[0, -1], [-2, -3]]
    assert values(DataLoader(Subset(Batches(4), [3, 1]), 2)) == [[-3, -1]]

    class Doubled(Subset):
        def __getitem__(self, i: int) -> int:
            return 2 * i

    assert values(DataLoader(Doubled(Batches(4), [0, 1]), 2)) == [[0, 2]]


def test_a_list_is_a_dataset_and_dicts_are_batches() -> None:
    assert values(DataLoader([1, 2, 3], 2)) == [[1, 2], [3]]
    rows = [{"x": tt.ones(2) * i, "name": str(i)} for i in range(3)]
    (batch,) = DataLoader(rows, 3)
    assert tuple(batch["x"].shape) == (3, 2) and batch["name"] == ["0", "1", "2"]


def test_padding_collate_in_workers() -> None:
    rows = [tt.arange(n) for n in (1, 3, 2)]
    collate = functools.partial(pad_collate, padding_value=-1)
    (batch,) = DataLoader(rows, 3, collate_fn=collate, num_workers=2)
    assert batch.tolist() == [[0, -1, -1], [0, 1, 2], [0, 1, -1]]


def test_pytorchs_other_arguments_are_taken() -> None:
    loader = DataLoader(
        Squares(5), 2, False, num_workers=2, pin_memory=True, multiprocessing_context="fork",
        prefetch_factor=4, persistent_workers=True, pin_memory_device="cuda", in_order=True,
    )  # fmt: skip
    assert values(loader) == values(loader) == [[0, 1], [4, 9], [16]]
    assert len(iter(loader)) == 3


# ------------------------------------------------------------------------------------------
# Workers
# ------------------------------------------------------------------------------------------


def running() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("DataLoader worker")]


def test_workers_are_many_and_know_themselves() -> None:
    barrier = threading.Barrier(3)  # passes only when three fetch at the same time
    seen, started = [], []

    class Meeting(Dataset):
        def __getitem__(self, i: int) -> int:
            barrier.wait(10)
            info = get_worker_info()
            seen.append((info.id, info.num_workers, info.seed, info.dataset))
            return i

        def __len__(self) -> int:
            return 6

    data = Meeting()
    loader = DataLoader(data, num_workers=3, worker_init_fn=started.append)
    assert values(loader) == [[i] for i in range(6)]
    assert sorted(started) == [0, 1, 2] == sorted({worker for worker, *_ in seen})
    assert all(count == 3 and dataset is data for _, count, _, dataset in seen)
    assert len({seed for _, _, seed, _ in seen}) == 3
    assert get_worker_info() is None


def test_workers_end_with_the_pass() -> None:
    for batch in DataLoader(Squares(9), 2, num_workers=3):
        assert len(running()) == 3, batch
    assert not running()


def test_workers_end_when_the_loop_is_left() -> None:
    for _ in DataLoader(Squares(1000, slow=True), 2, num_workers=3):
        break
    assert not running()


def test_workers_end_after_an_error_in_the_loop() -> None:
    try:
        for _ in DataLoader(Squares(1000), 2, num_workers=3):
            raise KeyError("mine")
    except KeyError:
        pass
    assert not running()


def test_workers_end_when_the_iterator_is_forgotten() -> None:
    iterator = iter(DataLoader(Squares(1000), 2, num_workers=3))
    next(iterator)
    assert len(running()) == 3
    gc.disable()
    try:
        del iterator
        assert not running(), "something holds the iterator"
    finally:
        gc.enable()


def test_two_passes_at_once() -> None:
    loader = DataLoader(Squares(20, slow=True), 3, num_workers=2)
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(loader, loader)]
    assert all(a == b for a, b in pairs) and len(pairs) == 7


class Broken(Squares):
    def __getitem__(self, i: int) -> int:
        if i == 5:
            raise ValueError("sample 5 is broken")
        return super().__getitem__(i)


@pytest.mark.parametrize("workers", WORKERS)
def test_an_error_of_the_dataset_is_raised_in_its_place(workers: int) -> None:
    iterator = iter(DataLoader(Broken(10), 2, num_workers=workers))
    assert [next(iterator).tolist(), next(iterator).tolist()] == [[0, 1], [4, 9]]
    with pytest.raises(ValueError, match="sample 5 is broken") as info:
        next(iterator)
    assert any("__getitem__" in str(entry) for entry in info.traceback)
    assert next(iterator).tolist() == [36, 49], "the pass goes on, as PyTorch's does"


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_an_error_of_the_start_is_raised(error: type) -> None:
    def fail(number: int) -> None:
        raise error("no start")

    iterator = iter(DataLoader(Squares(3), num_workers=2, worker_init_fn=fail))
    with pytest.raises(error, match="no start"):
        next(iterator)
    assert list(iterator) == [] and not running()


def test_timeout() -> None:
    class Stuck(Squares):
        def __getitem__(self, i: int) -> int:
            time.sleep(0.3)
            return i

    with pytest.raises(RuntimeError, match=r"no batch came within timeout=0.02 seconds"):
        next(iter(DataLoader(Stuck(2), num_workers=1, timeout=0.02)))


def test_batches_are_fetched_ahead_but_not_too_far() -> None:
    fetched = []

    class Noting(Squares):
        def __getitem__(self, i: int) -> int:
            fetched.append(i)
            return i

    iterator = iter(DataLoader(Noting(100), num_workers=2, prefetch_factor=3))
    next(iterator)
    until = time.monotonic() + 5
    while len(fetched) < 6 and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(0.05)
    assert sorted(fetched) == list(range(6))
    next(iterator)


def test_a_batch_that_was_taken_is_not_held() -> None:
    class Big:
        alive = 0

        def __init__(self) -> None:
            Big.alive += 1

        def __del__(self) -> None:
            Big.alive -= 1

    class Bigs(Squares):
        def __getitem__(self, i: int) -> Any:
            return Big()

    most = 0
    for _ in DataLoader(Bigs(50), None, num_workers=2, collate_fn=lambda x: x):
        most = max(most, Big.alive)
    del _
    assert most <= 7 and Big.alive == 0  # the one in hand, 4 ahead, and 2 being handed over


@pytest.mark.parametrize("text", ["for b in loader: break", "it = iter(loader); next(it)"])
def test_a_script_ends_in_the_middle_of_a_pass(text: str) -> None:
    script = (
        "import tinytensor as tt; from tinytensor.utils.data import DataLoader\n"
        f"loader = DataLoader(list(range(1000)), num_workers=3)\n{text}\nprint('over')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "over" and not done.stderr


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------


def change_batch_size() -> None:
    DataLoader(Squares(2)).batch_size = 3


S = Squares(4)
ERRORS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: Dataset()[0], NotImplementedError, "__getitem__ is not implemented"),
    (lambda: iter(IterableDataset()), NotImplementedError, "__iter__ is not implemented"),
    (lambda: iter(Sampler()), NotImplementedError, "__iter__ is not implemented"),
    (lambda: TensorDataset(tt.ones(2), tt.ones(3)), AssertionError, r"\[2, 3\] samples"),
    (lambda: ConcatDataset([]), AssertionError, "got no datasets"),
    (lambda: ConcatDataset([Counting(2)]), AssertionError, "use ChainDataset"),
    (lambda: ConcatDataset([S])[-5], ValueError, "index -5 is out of range for 4 samples"),
    (lambda: StackDataset(), ValueError, "at least one dataset"),
    (lambda: StackDataset(S, a=S), ValueError, "got 1 datasets and 1 with names"),
    (lambda: StackDataset(S, [1]), ValueError, r"lengths \[4, 1\]"),
    (lambda: random_split(S, [3, 2]), ValueError, "add up to 5, expected 4"),
    (lambda: random_split(S, [1.5, -0.5]), ValueError, "expected numbers >= 0"),
    (lambda: RandomSampler(S, "yes"), TypeError, "replacement='yes'"),
    (lambda: RandomSampler(S, num_samples=0), ValueError, "num_samples=0, expected a positive"),
    (lambda: RandomSampler([]), ValueError, "num_samples=0, expected a positive"),
    (lambda: WeightedRandomSampler([1.0], True), ValueError, "num_samples=True"),
    (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, r"shape \(1, 1\), expected one dim"),
    (lambda: BatchSampler(range(3), 0, False), ValueError, "batch_size=0, expected a positive"),
    (lambda: BatchSampler(range(3), 1, 1), ValueError, "drop_last=1, expected a bool"),
    (lambda: default_collate([object()]), TypeError, "default_collate: got object, expected"),
    (lambda: default_collate([np.array(["a"])]), TypeError, "got an array of <U1"),
    (lambda: default_collate([[1], [1, 2]]), RuntimeError, r"samples of \[1, 2\] items"),
    (lambda: pad_collate([tt.ones(2), tt.ones(2, 2)]), RuntimeError, r"\[1, 2\] dimensions"),
    (lambda: DataLoader(S, num_workers=-1), ValueError, "num_workers=-1, expected 0 or more"),
    (lambda: DataLoader(S, timeout=-1), ValueError, "timeout=-1"),
    (lambda: DataLoader(S, prefetch_factor=2), ValueError, "expected both to be positive"),
    (lambda: DataLoader(S, persistent_workers=True), ValueError, "needs num_workers > 0"),
    (lambda: DataLoader(Counting(2), shuffle=True), ValueError, "an order of its own"),
    (lambda: DataLoader(S, shuffle=True, sampler=[1]), ValueError, "a sampler and shuffle=True"),
    (lambda: DataLoader(S, 2, batch_sampler=[[1]]), ValueError, "omit them"),
    (lambda: DataLoader(S, None, drop_last=True), ValueError, "drop_last=True with batch_size=No"),
    (lambda: DataLoader(S, 0), ValueError, "batch_size=0"),
    (change_batch_size, ValueError, "batch_size cannot be changed later"),
    (lambda: len(DataLoader(S, sampler=iter([1]))), TypeError, "has no len"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


# ------------------------------------------------------------------------------------------
# Random numbers of datasets, and passes that are resumed
# ------------------------------------------------------------------------------------------


class Noisy(Squares):
    """Sample i is (i, a random number)."""

    def __getitem__(self, i: int) -> Any:
        super().__getitem__(i)
        return i, tt.rand(()).item()


class NoisyStream(Counting):
    """Random numbers, drawn when the iteration begins and for each sample."""

    def __iter__(self) -> Iterator[Any]:
        first = tt.rand(()).item()
        return ((i, first + tt.rand(()).item()) for i in super().__iter__())


class LazySampler(Sampler):
    """Draws a new number at each call."""

    def __iter__(self) -> Iterator[int]:
        for _ in range(30):
            yield tt.randint(30, ()).item()


def pairs(batches: Any) -> list:
    return [[part.tolist() for part in batch] for batch in batches]


def noisy_loader(kind: str, workers: int) -> DataLoader:
    generator = tt.Generator().manual_seed(5)
    data = Noisy(30, slow=workers > 1)
    options: dict[str, Any] = {
        "in order": {},
        "shuffled": {"shuffle": True},
        "own generator": {"shuffle": True, "generator": generator},
        "sampler's generator": {"sampler": RandomSampler(data, generator=generator)},
        "weighted": {"sampler": WeightedRandomSampler(range(1, 31), 30)},
        "lazy": {"sampler": LazySampler()},
        "batch sampler": {
            "batch_sampler": BatchSampler(SubsetRandomSampler(range(30), generator), 4, False),
            "batch_size": 1,
        },
        "stream": {},
    }[kind]
    source = NoisyStream(30, sharded=True) if kind == "stream" else data
    return DataLoader(source, **{"batch_size": 4, **options}, num_workers=workers)


KINDS = ["in order", "shuffled", "own generator", "sampler's generator", "weighted", "lazy",
         "batch sampler", "stream"]  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "stream"])
def test_random_samples_are_the_same_for_any_number_of_workers(kind: str) -> None:
    found = []
    for workers in WORKERS:
        tt.manual_seed(3)
        loader = noisy_loader(kind, workers)
        found.append([pairs(loader), pairs(loader), tt.rand(1).item()])
    assert all(other == found[0] for other in found[1:])
    numbers = [x for a_pass in found[0][:2] for batch in a_pass for x in batch[1]]
    assert len(set(numbers)) == 60, "some numbers were drawn twice"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("taken", [0, 1, 5, 8])
def test_a_pass_goes_on(kind: str, workers: int, taken: int) -> None:
    tt.manual_seed(3)
    loader = noisy_loader(kind, workers)
    pairs(loader)  # a first pass
    batches = iter(loader)
    for _ in range(taken):
        next(batches)
    state = loader.state_dict()
    rest = pairs(batches) + pairs(loader)

    tt.manual_seed(4)
    again = noisy_loader(kind, workers)
    again.load_state_dict(state)
    assert again.state_dict()["batches"] == state["batches"] == taken
    went_on = pairs(again)
    assert went_on == rest[: len(went_on)] and len(went_on) == 8 - taken


@pytest.mark.parametrize("kind", ["own generator", "sampler's generator", "batch sampler"])
def test_own_generators_go_on_between_passes(kind: str) -> None:
    loader, again = noisy_loader(kind, 0), noisy_loader(kind, 0)
    pairs(loader)
    state = loader.state_dict()
    assert state["seed"] is None
    again.load_state_dict(state)
    assert [i for i, _ in pairs(again)] == [i for i, _ in pairs(loader)]


def test_batches_before_are_not_fetched_again() -> None:
    fetched = []

    class Noting(Squares):
        def __getitem__(self, i: int) -> int:
            fetched.append(i)
            return i

    loader = DataLoader(Noting(10), 2)
    batches = iter(loader)
    next(batches), next(batches), next(batches)
    state = loader.state_dict()
    fetched.clear()
    again = DataLoader(Noting(10), 2)
    again.load_state_dict(state)
    assert values(again) == [[6, 7], [8, 9]] and fetched == [6, 7, 8, 9]
    assert len(values(again)) == 5, "the pass after it is whole"


def test_a_pass_that_was_left_is_forgotten() -> None:
    loader = DataLoader(Squares(10), 2)
    next(iter(loader))
    assert loader.state_dict()["batches"] == 1
    assert len(values(loader)) == 5, "a new pass is a whole one"
    next(iter(loader))
    loader.reset()
    assert loader.state_dict() == {"seed": None, "batches": 0, "generators": []}
    with pytest.raises(ValueError, match="the state has 1 generators, expected 0"):
        loader.load_state_dict({"seed": 1, "batches": 1, "generators": [tt.zeros(1)]})


def test_seeding_in_a_worker_does_not_seed_the_program() -> None:
    class Seeding(Squares):
        def __getitem__(self, i: int) -> float:
            tt.manual_seed(i // 3)
            return tt.rand(()).item()

    tt.manual_seed(1)
    expected = [tt.randint(2**62, ()).item(), tt.rand(3).tolist()]
    for workers in WORKERS:
        tt.manual_seed(1)
        found = values(DataLoader(Seeding(6), 3, num_workers=workers))
        assert found[0][0] == found[0][2] != found[1][0] == found[1][2]
        assert tt.rand(3).tolist() == expected[1]


def test_a_thread_with_its_own_default_generator() -> None:
    tt.manual_seed(7)
    expected = tt.rand(4)
    tt.manual_seed(7)
    own = use_generator(tt.Generator().manual_seed(1))
    first = tt.rand(2)
    with own:
        inside = tt.rand(2)
        assert tt.initial_seed() == 1
        other: list = []
        thread = threading.Thread(target=lambda: other.append(tt.initial_seed()))
        thread.start()
        thread.join()
        assert other == [7], "another thread has the program's"
        tt.manual_seed(1)
        assert tt.equal(tt.rand(2), inside)
        with pytest.raises(KeyError), use_generator(tt.Generator()):
            raise KeyError
        assert tt.default_generator is not None and tt.initial_seed() == 1
    assert tt.equal(tt.cat([first, tt.rand(2)]), expected)
