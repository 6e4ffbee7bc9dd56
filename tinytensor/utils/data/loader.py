"""DataLoader: batches of a dataset, in order or shuffled, optionally fetched by worker threads.

for x, y in DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2):
    …

Each pass over the dataset draws one number, its seed. The seed determines the order. The seed and a
batch's index determine the random numbers that the dataset draws for that batch, whichever worker
fetches it. So a pass is the same for any number of workers, and can be resumed in the middle
without fetching the earlier batches again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ...autograd.site import warn
from ...create import Generator, manual_seed, randint
from ...create.generator import use_generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .workers import WorkerInfo, WorkerPool

Sample = TypeVar("Sample", covariant=True)
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[Sample]):
    """Yields the batches of one pass over the dataset each time it is iterated over.

    dataset            a Dataset, an IterableDataset, or anything with len() and [i]
    batch_size         samples in a batch; None: single samples, not collated
    shuffle            a new random order in every pass
    sampler            an iterable of sample indices that sets the order
    batch_sampler      an iterable of lists of indices that sets order and batches
    num_workers        threads that prefetch; 0: batches are fetched when needed. The batches are
                       the same for any number of workers
    collate_fn         makes a batch from a list of samples; default: default_collate
    drop_last          drop a shorter last batch
    timeout            seconds to wait for a batch from the workers; 0: forever
    worker_init_fn     called in each worker with its index, before it fetches
    generator          draws the random order; default: the default generator
    prefetch_factor    batches that each worker prefetches; default: 2

    pin_memory, persistent_workers, multiprocessing_context and in_order are accepted as in PyTorch
    and have no effect: threads start quickly and share all memory.
    """

    _made = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self._iterable = isinstance(dataset, IterableDataset)
        _check_order(self._iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            if self._iterable:
                sampler = _Nameless()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.drop_last = drop_last
        self.collate_fn = collate_fn
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor or (2 if num_workers else None)
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._latest: dict[str, Any] | None = None  # position of the latest pass, until it ends
        self._go_on: dict[str, Any] | None = None  # where the next pass will start
        self._said: int | None = None  # the length of a stream, once it was asked for
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._made and name in FIXED:
            raise ValueError(f"DataLoader: {name} cannot be changed later; make a new DataLoader")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        return _Pass(self)

    def state_dict(self) -> dict[str, Any]:
        """The position of the latest pass, for `load_state_dict`: its seed, the number of batches
        taken, and the states that the order's generators had when the pass began.
        """
        if self._latest is None:
            return {"seed": None, "batches": 0, "generators": self._generator_states()}
        return dict(self._latest)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Start the next pass at the position that `state_dict` of an equal loader returned.

        Earlier batches are skipped without fetching them, except those of an IterableDataset,
        which can only be skipped by fetching.
        """
        states, generators = state_dict["generators"], self._generators()
        if len(states) != len(generators):
            raise ValueError(
                f"DataLoader: the state has {len(states)} generators, expected {len(generators)}, "
                "as many as were given to this loader and its samplers"
            )
        for generator, state in zip(generators, states):
            generator.set_state(state)
        self._latest = self._go_on = dict(state_dict) if state_dict["seed"] is not None else None

    def reset(self) -> None:
        """Forget a pass that was left early: the next one starts from the beginning."""
        self._latest = self._go_on = None

    def _generators(self) -> list[Generator]:
        """The generators, other than the default one, that the order may be drawn from."""
        inner = getattr(self.batch_sampler, "sampler", None)
        owners = (self, self.sampler, self.batch_sampler, inner)
        found = [getattr(owner, "generator", None) for owner in owners]
        return list(dict.fromkeys(g for g in found if isinstance(g, Generator)))

    def _generator_states(self) -> list:
        return [generator.get_state() for generator in self._generators()]

    def __len__(self) -> int:
        """The number of batches, if the dataset knows its length."""
        if not self._iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        samples = self._said = len(self.dataset)
        if self.batch_size is None:
            return samples
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)

    def _check_length(self, batches: int) -> None:
        """Warn, as PyTorch does, of more batches than the samples that a stream said it has."""
        if self._said is not None and batches > self._said:
            warn(
                f"DataLoader: len of the stream was {self._said}, but {batches} batches were "
                "fetched; with several workers each yields the whole stream unless the dataset "
                "shares it out (see get_worker_info)"
            )


class _Nameless:
    """The sampler of an IterableDataset, whose samples have no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(f"DataLoader: got num_workers={num_workers}, expected 0 or more")
    if timeout < 0:
        raise ValueError(f"DataLoader: got timeout={timeout}, expected 0 or more seconds")
    if prefetch_factor is not None and (num_workers == 0 or prefetch_factor < 1):
        raise ValueError(
            f"DataLoader: got prefetch_factor={prefetch_factor} with num_workers={num_workers},"
            " expected both to be positive"
        )
    if persistent_workers and num_workers == 0:
        raise ValueError("DataLoader: persistent_workers=True needs num_workers > 0")


def _check_order(
    is_stream: bool,
    batch_size: int | None,
    shuffle: bool | None,
    sampler: Iterable | None,
    batch_sampler: Iterable[list] | None,
    drop_last: bool,
) -> None:
    """Only one argument may decide the order of the samples, and one the batches."""
    if is_stream and (shuffle or sampler is not None or batch_sampler is not None):
        raise ValueError(
            "DataLoader: an IterableDataset has an order of its own; omit shuffle, "
            "sampler and batch_sampler"
        )
    if sampler is not None and shuffle:
        raise ValueError("DataLoader: got a sampler and shuffle=True, expected one of them")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "DataLoader: a batch_sampler decides batch_size, shuffle, sampler and "
                "drop_last; omit them"
            )
    elif batch_size is None and drop_last:
        raise ValueError("DataLoader: got drop_last=True with batch_size=None")


class _Pass:
    """One pass over the dataset: the iterator that a loop holds."""

    def __init__(self, loader: DataLoader):
        self.loader = loader
        state, loader._go_on = loader._go_on, None
        if state is None:
            # Also drawn without workers, so that the generator advances in the same way.
            seed = int(randint(2**62, (), generator=loader.generator))
            state = {"seed": seed, "batches": 0, "generators": loader._generator_states()}
        seed, taken = state["seed"], state["batches"]
        self._state = loader._latest = state

        batched = loader.batch_sampler is not None
        tasks = _tasks(
            loader.sampler if loader.batch_sampler is None else loader.batch_sampler, seed
        )
        dataset, collate = loader.dataset, loader.collate_fn
        is_stream = isinstance(dataset, IterableDataset)
        if not is_stream:
            tasks = itertools.islice(tasks, taken, None)

        def make_fetch() -> Callable[[Any], Any]:
            if is_stream:
                fetch = _from_stream(iter(dataset), batched, loader.drop_last, collate)
            else:
                fetch = _from_numbers(dataset, batched, collate)
            return _with_numbers_of_its_own(fetch, seed)

        self._pool: WorkerPool | None = None
        if loader.num_workers:
            count = loader.num_workers
            infos = [WorkerInfo(i, count, seed + 1 + i, dataset) for i in range(count)]
            ahead = count * (loader.prefetch_factor or 1)
            self._pool = WorkerPool(
                make_fetch, tasks, infos, loader.worker_init_fn, ahead, loader.timeout
            )
        else:
            self._tasks = tasks
            with use_generator(Generator().manual_seed(seed + 1)):  # like the first worker
                self._fetch = make_fetch()
        if is_stream:
            for _ in range(taken):
                self._next()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            batch = self._next()
        except StopIteration:
            if self.loader._latest is self._state:
                self.loader._latest = None
            raise
        self._state["batches"] += 1
        if self.loader._iterable:
            self.loader._check_length(self._state["batches"])
        return batch

    def _next(self) -> Any:
        if self._pool is not None:
            return self._pool.take()
        return self._fetch(next(self._tasks))

    def __len__(self) -> int:
        return len(self.loader)


def _tasks(sampler: Iterable, seed: int) -> Iterator[tuple[int, Any]]:
    """Number what the sampler yields: (0, task), (1, task), …

    A sampler that draws from the default generator gets one that belongs to this pass.
    """
    of_this_pass = use_generator(Generator().manual_seed(seed))
    with of_this_pass:
        tasks = iter(sampler)
    for number in itertools.count():
        with of_this_pass:
            try:
                task = next(tasks)
            except StopIteration:
                return
        yield number, task


def _with_numbers_of_its_own(fetch: Callable[[Any], Any], seed: int) -> Callable[[Any], Any]:
    """`fetch` with random numbers that depend only on the batch, not on the worker."""
    of_this_batch = use_generator(Generator())

    def fetch_seeded(numbered: tuple[int, Any]) -> Any:
        number, task = numbered
        with of_this_batch:
            manual_seed(seed - 1 - number)  # counts down, as the workers' seeds count up
            return fetch(task)

    return fetch_seeded


def _from_numbers(dataset: Any, batched: bool, collate: Callable) -> Callable[[Any], Any]:
    """A function that fetches samples by index."""
    several = getattr(dataset, "__getitems__", None)

    def fetch(task: Any) -> Any:
        if not batched:
            return collate(dataset[task])
        return collate(several(task) if callable(several) else [dataset[i] for i in task])

    return fetch


def _from_stream(
    samples: Iterator, batched: bool, drop_last: bool, collate: Callable
) -> Callable[[Any], Any]:
    """A function that fetches the next len(task) samples of a stream."""

    def fetch(task: Any) -> Any:
        if not batched:
            return collate(next(samples))
        batch = list(itertools.islice(samples, len(task)))
        if not batch or (drop_last and len(batch) < len(task)):
            raise StopIteration
        return collate(batch)

    return fetch
