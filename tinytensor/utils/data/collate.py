"""Combine a list of samples into a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...create import as_tensor, full, tensor
from ...dtype import float64
from ...ops import stack
from ...tensor import Tensor


def default_collate(batch: Sequence) -> Any:
    """Combine samples of the same structure into one such structure of batches.

    Tensors and arrays are stacked along a new first dimension, numbers become a tensor (float64 for
    Python floats), strings a list. Dicts, tuples and lists of these are collated item by item.

        [(x0, 3), (x1, 5)]  →  [stack(x0, x1), tensor([3, 5])]
    """
    return _collate("default_collate", batch, stack)


def pad_collate(batch: Sequence, padding_value: float = 0) -> Any:
    """default_collate for tensors of different sizes: each is padded at its end to the largest.

    A list of numbers counts as a tensor. To choose another padding_value:

        DataLoader(…, collate_fn=functools.partial(pad_collate, padding_value=-1))
    """

    def padded_stack(tensors: Sequence[Tensor]) -> Tensor:
        first = tensors[0]
        if any(x.dim() != first.dim() for x in tensors):
            raise RuntimeError(
                f"pad_collate: got tensors of {[x.dim() for x in tensors]} dimensions, expected "
                "the same number"
            )
        if all(x.shape == first.shape for x in tensors):
            return stack(tensors)
        largest = [max(sizes) for sizes in zip(*(x.shape for x in tensors))]
        shape = (len(tensors), *largest)
        result = full(shape, padding_value, dtype=first.dtype, device=first.device)
        for i, x in enumerate(tensors):
            corner = (i, *map(slice, x.shape))
            result[corner] = x
        return result

    return _collate("pad_collate", batch, padded_stack, lists_are_tensors=True)


def _collate(
    name: str, batch: Sequence, join: Callable[[Any], Tensor], lists_are_tensors: bool = False
) -> Any:
    first = batch[0]
    kind: Any = type(first)

    def inner(samples: Sequence) -> Any:
        return _collate(name, samples, join, lists_are_tensors)

    if isinstance(first, Tensor):
        return join(batch)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(f"{name}: got an array of {first.dtype}, expected numbers")
        return join([as_tensor(array) for array in batch])
    if isinstance(first, (np.bool_, np.number)):
        return as_tensor(np.stack(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        collated = {key: inner([sample[key] for sample in batch]) for key in first}
        return collated if kind is dict else _same_kind(kind, collated)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*map(inner, zip(*batch)))
    if isinstance(first, Sequence):
        if lists_are_tensors and isinstance(first, list) and _all_numbers(batch):
            return join([tensor(numbers) for numbers in batch])
        sizes = {len(sample) for sample in batch}
        if len(sizes) > 1:
            raise RuntimeError(
                f"{name}: got samples of {sorted(sizes)} items, expected the same number in each"
            )
        items = [inner(samples) for samples in zip(*batch)]
        return items if kind in (tuple, list) else _same_kind(kind, items)
    raise TypeError(
        f"{name}: got {kind.__name__}, expected tensors, arrays, numbers, strings, and dicts, "
        "tuples or lists of these; pass a collate_fn of your own"
    )


def _all_numbers(batch: Sequence) -> bool:
    return all(isinstance(x, (int, float)) for sample in batch for x in sample)


def _same_kind(kind: Any, items: Any) -> Any:
    """A container of the sample's own class if it can be built from the items, else a plain one."""
    try:
        return kind(items)
    except TypeError:
        return items


def default_convert(data: Any) -> Any:
    """Convert the arrays in a sample to tensors; replaces collating when there are no batches."""
    kind: Any = type(data)
    if isinstance(data, (np.ndarray, np.bool_, np.number)):
        is_text = isinstance(data, np.ndarray) and data.dtype.kind in "SUO"
        return data if is_text else as_tensor(data)
    if isinstance(data, Mapping):
        converted = {key: default_convert(value) for key, value in data.items()}
        return converted if kind is dict else _same_kind(kind, converted)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        items = [default_convert(item) for item in data]
        return items if kind is list else _same_kind(kind, items)
    return data
