"""Datasets: samples by index, or as a stream."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...autograd.site import warn
from ...create import Generator, randperm

if TYPE_CHECKING:
    from ...tensor import Tensor

Sample = TypeVar("Sample", covariant=True)


class Dataset(Generic[Sample]):
    """Samples by index: subclasses implement `__getitem__`, and `__len__` if it is known.

    A subclass that can fetch several samples faster than one by one may also implement
    `__getitems__(indices)`, which returns a list of them.
    """

    def __getitem__(self, index: Any) -> Sample:
        raise NotImplementedError(f"{type(self).__name__}: __getitem__ is not implemented")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample], Iterable[Sample]):
    """A stream of samples: subclasses implement `__iter__`.

    With several workers, each iterates over the whole stream. `get_worker_info()` identifies the
    calling worker, so that `__iter__` can yield only that worker's share.
    """

    def __iter__(self) -> Iterator[Sample]:
        raise NotImplementedError(f"{type(self).__name__}: __iter__ is not implemented")

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple]):
    """Sample i is (a[i], b[i], …), from tensors with the same first dimension."""

    def __init__(self, *tensors: Tensor):
        sizes = [len(tensor) for tensor in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(
                f"TensorDataset: got tensors with {sizes} samples, expected the same first size"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset):
    """Datasets of the same length side by side.

    Sample i is (a[i], b[i], …), or {"name": a[i], …} for datasets passed by keyword.
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any):
        if bool(args) == bool(kwargs):
            raise ValueError(
                f"StackDataset: got {len(args)} datasets and {len(kwargs)} with names, expected "
                "at least one dataset, all with names or none"
            )
        self.datasets = args or kwargs
        sizes = [len(dataset) for dataset in args or kwargs.values()]
        if len(set(sizes)) > 1:
            raise ValueError(f"StackDataset: got datasets of lengths {sizes}, expected one length")
        self._length = sizes[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[int]) -> list:
        named = isinstance(self.datasets, dict)
        parts = [_several(d, indices) for d in (self.datasets.values() if named else self.datasets)]
        samples = zip(*parts, strict=True)
        return [dict(zip(self.datasets, sample)) if named else sample for sample in samples]

    def __len__(self) -> int:
        return self._length


def _several(dataset: Any, indices: list[int]) -> Any:
    """The samples at some indices: `__getitems__` of the dataset, if it has one."""
    fetch = getattr(dataset, "__getitems__", None)
    if not callable(fetch):
        return [dataset[i] for i in indices]
    samples = fetch(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"StackDataset: __getitems__ of {type(dataset).__name__} returned {len(samples)} "
            f"samples, expected {len(indices)}, one for each index"
        )
    return samples


class ConcatDataset(Dataset[Sample]):
    """The concatenation of datasets."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: got no datasets, expected at least one")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError(
                "ConcatDataset: got an IterableDataset, expected datasets with numbered samples; "
                "use ChainDataset"
            )
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Sample:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    f"ConcatDataset: index {index} is out of range for {len(self)} samples"
                )
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset[Sample]):
    """The concatenation of IterableDatasets."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = datasets

    def __iter__(self) -> Iterator[Sample]:
        for dataset in self.datasets:
            yield from self._checked(dataset)

    def __len__(self) -> int:
        return sum(len(self._checked(dataset)) for dataset in self.datasets)

    @staticmethod
    def _checked(dataset: Any) -> Any:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError(
                f"ChainDataset: got a {type(dataset).__name__}, expected IterableDatasets only"
            )
        return dataset


class Subset(Dataset[Sample]):
    """The samples of a dataset at the given indices, in that order."""

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list:
        several = getattr(self.dataset, "__getitems__", None)
        if callable(several) and type(self).__getitem__ is Subset.__getitem__:
            return several([self.indices[i] for i in indices])
        return [self[i] for i in indices]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """Split a dataset at random into parts that do not overlap.

    lengths: the number of samples in each part, or fractions that add up to 1. Fractions are
    rounded down, and the samples left over go to the parts in turn.
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if min(lengths) < 0:
            raise ValueError(f"random_split: got shares {list(lengths)}, expected numbers >= 0")
        counts = [math.floor(total * share) for share in lengths]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
        if 0 in counts:
            warn(f"random_split: part {counts.index(0)} of {total} samples is empty")
    elif sum(lengths) == total:
        counts = [int(n) for n in lengths]
    else:
        raise ValueError(
            f"random_split: got lengths {list(lengths)}, which add up to {sum(lengths)}, expected "
            f"{total}, the length of the dataset, or shares that add up to 1"
        )
    order = randperm(total, generator=generator).tolist()
    stops = itertools.accumulate(counts)
    return [Subset(dataset, order[stop - n : stop]) for stop, n in zip(stops, counts)]
