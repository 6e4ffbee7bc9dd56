"""DistributedSampler against PyTorch's."""

from __future__ import annotations

import itertools

import pytest

import tinytensor as tt
from tinytensor.utils.data import DataLoader
from tinytensor.utils.data.distributed import DistributedSampler

SIZES = (0, 1, 2, 3, 7, 8, 20)
REPLICAS = (1, 2, 3, 8, 30)
ARGUMENTS = list(itertools.product(SIZES, REPLICAS, (False, True)))


@pytest.mark.parametrize("size, replicas, drop_last", ARGUMENTS)
def test_without_shuffle_the_indices_are_pytorchs(
    size: int, replicas: int, drop_last: bool
) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.utils.data.distributed.DistributedSampler
    options = {"num_replicas": replicas, "shuffle": False, "drop_last": drop_last}
    for rank in range(replicas):
        ours = DistributedSampler(range(size), rank=rank, **options)  # type: ignore[arg-type]
        expected = theirs(range(size), rank=rank, **options)
        assert len(ours) == len(expected) and ours.total_size == expected.total_size
        try:
            indices = list(expected)
        except ZeroDivisionError:  # PyTorch's, for an empty dataset
            indices = []
        assert list(ours) == indices


def test_with_shuffle_the_processes_share_a_permutation() -> None:
    parts = [DistributedSampler(range(12), 3, rank, seed=5) for rank in range(3)]
    first = [list(part) for part in parts]
    assert sorted(itertools.chain(*first)) == list(range(12)) and first == [
        list(part) for part in parts
    ]
    for part in parts:
        part.set_epoch(1)
    second = [list(part) for part in parts]
    assert sorted(itertools.chain(*second)) == list(range(12)) and second != first
    for part in parts:  # seed + epoch decides
        part.seed, part.epoch = 6, 0
    assert [list(part) for part in parts] == second
    state = tt.get_rng_state().tolist()
    list(parts[0])
    assert tt.get_rng_state().tolist() == state


def test_in_a_loader_with_one_process() -> None:
    sampler = DistributedSampler(range(10), shuffle=False)
    assert (sampler.num_replicas, sampler.rank) == (1, 0)
    batches = [batch.tolist() for batch in DataLoader(range(10), 4, sampler=sampler)]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_wrong_rank_is_refused(rank: int) -> None:
    with pytest.raises(ValueError, match=f"DistributedSampler: got rank={rank}, expected 0 <= ra"):
        DistributedSampler(range(4), 2, rank)
