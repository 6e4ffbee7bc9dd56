"""Batches for the Trainer: from any iterable, on any device, of any structure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..tensor import Tensor
from ..utils.data import DataLoader, IterableDataset


def as_loader(data: Any) -> DataLoader:
    """`data` if it is a DataLoader; otherwise a DataLoader over an iterable of batches."""
    if isinstance(data, DataLoader):
        return data
    return DataLoader(_Batches(data), batch_size=None, collate_fn=_unchanged)


class _Batches(IterableDataset):
    """An iterable of ready-made batches, as a dataset."""

    def __init__(self, batches: Iterable):
        self.batches = batches

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]


def _unchanged(batch: Any) -> Any:
    return batch


def on_device(batch: Any, device: Any) -> Any:
    """Move all tensors of a batch, nested in tuples, lists and dicts, to the device."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {key: on_device(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(on_device(value, device) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(on_device(value, device) for value in batch)
    return batch


def samples_in(batch: Any) -> int:
    """The first dimension of the first tensor in the batch; 1 if there is none."""
    if isinstance(batch, Tensor):
        return len(batch) if batch.dim() else 1
    if isinstance(batch, dict):
        batch = list(batch.values())
    if isinstance(batch, (tuple, list)) and batch:
        return samples_in(batch[0])
    return 1
