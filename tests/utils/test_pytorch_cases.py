"""Cases from PyTorch's own tests of data loading: both libraries must agree."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tinytensor as tt

torch: Any = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")


def fast(short: bool = False) -> Any:
    """A dataset with __getitems__, which may return too few samples."""

    class Fast:
        def __getitem__(self, i: int) -> int:
            return [10, 11, 12, 13][i]

        def __getitems__(self, indices: list) -> list:
            found = [self[i] for i in indices]
            return found[:-1] if short else found

        def __len__(self) -> int:
            return 4

    return Fast()


def stream(L: Any, length: int, said: int) -> Any:
    class Stream(L.utils.data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[int]:
            return iter(range(length))

        def __len__(self) -> int:
            return said

    return Stream()


def fetched(L: Any, indices: list, **named: Any) -> Any:
    data = L.utils.data
    whole = data.StackDataset(**named) if named else data.StackDataset(fast(), [1, 2, 3, 4])
    return whole.__getitems__(indices)


def warned(L: Any, length: int, said: int, ask: bool, **options: Any) -> Any:
    loader = L.utils.data.DataLoader(stream(L, length, said), **options)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        if ask:
            len(loader)
        batches = [batch.tolist() for batch in loader]
    return batches, len(seen)


CASES = {
    "StackDataset.__getitems__": lambda L: fetched(L, [0, 2, 3]),
    "StackDataset.__getitems__ by name": lambda L: fetched(L, [3, 1], a=fast(), b=[1, 2, 3, 4]),
    "StackDataset.__getitems__ of nothing": lambda L: fetched(L, []),
    "StackDataset.__getitems__ out of range": lambda L: fetched(L, [0, 4]),
    "StackDataset.__getitems__ too few": lambda L: fetched(L, [0, 1], a=fast(True), b=[1] * 4),
    "DataLoader of a StackDataset": lambda L: [
        [x.tolist() for x in batch]
        for batch in L.utils.data.DataLoader(L.utils.data.StackDataset(fast(), [1, 2, 3, 4]), 3)
    ],
    "ChainDataset": lambda L: list(L.utils.data.ChainDataset([stream(L, 2, 2), stream(L, 1, 1)])),
    "ChainDataset of a list": lambda L: list(L.utils.data.ChainDataset([stream(L, 2, 2), [1]])),
    "len of a ChainDataset of a list": lambda L: len(L.utils.data.ChainDataset([[1]])),
    "a stream + numbered samples": lambda L: list(stream(L, 2, 2) + fast()),
    "a stream as long as said": lambda L: warned(L, 4, 4, True, batch_size=2),
    "a stream longer than said": lambda L: warned(L, 6, 4, True, batch_size=2),
    "a stream longer than said, single": lambda L: warned(L, 3, 1, True, batch_size=None),
    "nobody asked how long": lambda L: warned(L, 6, 4, False, batch_size=2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    found: list[Any] = []
    for library in (tt, torch):
        try:
            found.append(CASES[name](library))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]
