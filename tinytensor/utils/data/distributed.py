"""DistributedSampler: the part of a dataset that one of several processes works on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...create import Generator, randperm
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th index, from `rank` on: the samples of one of num_replicas processes.

    shuffle: the indices are permuted by seed + epoch, the same in all processes; call `set_epoch`
    before each epoch, or the order repeats. All processes get the same number of samples: the
    first ones are repeated to fill up, or with drop_last the last ones left out. By default there
    is one process, of rank 0.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        from ...compat import distributed  # loaded on first use

        num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: got rank={rank}, expected 0 <= rank < num_replicas "
                f"({num_replicas})"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(count, generator=generator).tolist()
        else:
            order = list(range(count))
        # i % count: beyond the last sample, the first ones again
        places = range(self.rank, self.total_size, self.num_replicas)
        return iter([order[i % count] for i in places])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle by seed + epoch from the next iteration on."""
        self.epoch = epoch


__all__ = ["DistributedSampler"]
