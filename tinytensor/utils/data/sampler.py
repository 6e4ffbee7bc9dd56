"""Samplers: the order of a dataset's samples, and how they are grouped into batches.

The order depends only on the seed, however far ahead batches are prefetched: up to BLOCK indices
are drawn when an iteration begins. A longer order is drawn block by block from a generator of its
own, so that 10**10 indices need no more memory than BLOCK of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...create import Generator, as_tensor, multinomial, randint, randperm
from ...dtype import float64

if TYPE_CHECKING:
    from ...tensor import Tensor

BLOCK = 2**20  # indices drawn at a time: 8 MiB
Index = TypeVar("Index", covariant=True)


class Sampler(Generic[Index]):
    """An iterable of sample indices: subclasses implement `__iter__`, and optionally `__len__`."""

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError(f"{type(self).__name__}: __iter__ is not implemented")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The samples in random order.

    num_samples: how many; by default all of them. If more, further rounds follow in new orders.
    replacement: draw each index independently from all.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: got replacement={replacement!r}, expected a bool")
        _check_count("RandomSampler", "num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            return _in_blocks(
                lambda count, generator: randint(n, (count,), generator=generator),
                wanted,
                self.generator,
            )
        rounds = -(-wanted // n)  # rounded up
        if rounds == 1 or wanted <= BLOCK:
            orders = [randperm(n, generator=self.generator) for _ in range(rounds)]
            numbers = itertools.chain.from_iterable(map(_numbers, orders))
        else:
            generator = _own_generator(self.generator)
            numbers = itertools.chain.from_iterable(
                _numbers(randperm(n, generator=generator)) for _ in range(rounds)
            )
        return itertools.islice(numbers, wanted)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None):
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = randperm(len(self.indices), generator=self.generator)
        return (self.indices[i] for i in _numbers(order))

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """num_samples indices; the probability of i is proportional to weights[i]."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ):
        _check_count("WeightedRandomSampler", "num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler: got replacement={replacement!r}, expected a bool"
            )
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights have shape {tuple(self.weights.shape)}, expected "
                "one dimension"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        if not self.replacement:  # at most as many as there are weights
            order = multinomial(self.weights, self.num_samples, generator=self.generator)
            return _numbers(order)
        return _in_blocks(
            lambda count, generator: multinomial(self.weights, count, True, generator=generator),
            self.num_samples,
            self.generator,
        )

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of batch_size indices from another sampler; drop_last drops a shorter last list."""

    def __init__(self, sampler: Iterable, batch_size: int, drop_last: bool):
        _check_count("BatchSampler", "batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: got drop_last={drop_last!r}, expected a bool")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _in_blocks(
    draw: Callable[[int, Generator | None], Tensor], wanted: int, generator: Generator | None
) -> Iterator[int]:
    """`wanted` independent indices, of which draw(count, generator) returns `count`."""
    if wanted <= BLOCK:
        return _numbers(draw(wanted, generator))
    own = _own_generator(generator)
    sizes = (min(BLOCK, wanted - start) for start in range(0, wanted, BLOCK))
    return itertools.chain.from_iterable(_numbers(draw(size, own)) for size in sizes)


def _own_generator(generator: Generator | None) -> Generator:
    """A generator for one iteration, seeded by a number drawn from `generator`.

    Numbers that are drawn later do not interfere with those that the program draws meanwhile.
    """
    return Generator().manual_seed(int(randint(2**62, (), generator=generator)))


def _numbers(indices: Tensor) -> Iterator[int]:
    """The elements of a vector as Python ints, which need much more memory, a few at a time."""
    for start in range(0, len(indices), 1024):
        yield from indices[start : start + 1024].tolist()


def _check_count(name: str, label: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name}: got {label}={value!r}, expected a positive integer")
