"""Sequences of different lengths in one tensor: padded to one length, or packed without padding.

A packed batch holds the first step of all sequences, then the second step of those that have one,
and so on; the longest sequence comes first:

    a b c        data         a d f  b e  c
    d e     →    batch_sizes  3      2    1
    f

so that at each step the sequences that still run are the first rows.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """A packed batch; made by pack_padded_sequence and pack_sequence.

    data              (Σ lengths, …), the steps one after the other
    batch_sizes       the number of sequences at each step, on the CPU
    sorted_indices    the order of the sequences, by decreasing length; None: as they were given
    unsorted_indices  the inverse permutation
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move or convert the data; the indices move along, batch_sizes stays on the CPU."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [i if i is None else i.to(data.device) for i in self[2:]]
        return PackedSequence(data, self.batch_sizes, *indices)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to("cuda")

    def cpu(self) -> PackedSequence:
        return self.to("cpu")

    def double(self) -> PackedSequence:
        return self.to(tt.float64)

    def float(self) -> PackedSequence:
        return self.to(tt.float32)

    def half(self) -> PackedSequence:
        return self.to(tt.float16)

    def bfloat16(self) -> PackedSequence:
        return self.to(tt.bfloat16)

    def long(self) -> PackedSequence:
        return self.to(tt.int64)

    def int(self) -> PackedSequence:
        return self.to(tt.int32)

    def short(self) -> PackedSequence:
        return self.to(tt.int16)

    def char(self) -> PackedSequence:
        return self.to(tt.int8)

    def byte(self) -> PackedSequence:
        return self.to(tt.uint8)

    def is_pinned(self) -> bool:
        return False

    def pin_memory(self) -> PackedSequence:
        return self

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation: result[permutation[i]] = i."""
    return None if permutation is None else permutation.argsort()


# ------------------------------------------------------------------------------------------
# Padded and packed
# ------------------------------------------------------------------------------------------


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack sequences that were padded to one length: (T, N, …), or (N, T, …) if batch_first.

    lengths: one for each sequence, decreasing, or in any order with enforce_sorted=False.
    """
    sizes = _as_list(lengths)
    batch_dim, time_dim = (0, 1) if batch_first else (1, 0)
    shape = tuple(input.shape)
    if len(shape) < 2 or len(sizes) != shape[batch_dim]:
        raise ShapeError(
            f"pack_padded_sequence: got {len(sizes)} lengths for input of shape {shape}, expected "
            f"one for each entry of dimension {batch_dim}"
        )
    if min(sizes, default=0) <= 0 or max(sizes) > shape[time_dim]:
        raise RuntimeError(
            f"pack_padded_sequence: got lengths {sizes}, expected numbers from 1 to "
            f"{shape[time_dim]}, the size of dimension {time_dim}"
        )
    order = list(range(len(sizes)))
    if not enforce_sorted:
        order.sort(key=lambda i: -sizes[i])
    elif any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            f"pack_padded_sequence: got lengths {sizes}, expected decreasing ones; sort the "
            "sequences, or pass enforce_sorted=False"
        )
    places = [(t, i) for t in range(max(sizes)) for i in order if t < sizes[i]]
    rows = [_row(t, i, shape, batch_first) for t, i in places]
    steps = input.flatten(0, 1)  # (T, N, …) → (T·N, …)
    data = steps.index_select(0, tt.tensor(rows, device=input.device))
    batch_sizes = tt.tensor([sum(n > t for n in sizes) for t in range(max(sizes))])
    sorted_indices = None if enforce_sorted else tt.tensor(order, device=input.device)
    return PackedSequence(data, batch_sizes, sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded tensor (T, N, …) and the lengths of the sequences, in their original order.

    total_length: pad further, to this length.
    """
    data, batch_sizes = sequence.data, sequence.batch_sizes.tolist()
    if not batch_sizes:
        raise RuntimeError("pad_packed_sequence: got a batch of no steps, expected at least one")
    length, count = len(batch_sizes), batch_sizes[0]
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                f"pad_packed_sequence: got total_length={total_length}, expected at least "
                f"{length}, the length of the longest sequence"
            )
        length = total_length
    order = list(range(count))
    if sequence.sorted_indices is not None:
        order = sequence.sorted_indices.tolist()
    places = [(t, order[j]) for t, n in enumerate(batch_sizes) for j in range(n)]
    lengths = [0] * count
    for _, i in places:
        lengths[i] += 1
    shape = (count, length) if batch_first else (length, count)
    return _spread(data, places, shape, batch_first, padding_value), tt.tensor(lengths)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors (L, …), each with its own length L."""
    lengths = [len(sequence) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch, each with its own length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Pad tensors (L, …) into one tensor (T, N, …), or (N, T, …) if batch_first.

    T is the largest length; padding_side: where the padding goes, "right" or "left".
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: got {type(sequences).__name__}, expected a list of tensors"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: got no sequences, expected at least one")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"pad_sequence: got padding_side={padding_side!r}, expected 'left' or 'right'"
        )
    lengths = [len(sequence) for sequence in sequences]
    longest, count = max(lengths), len(lengths)
    shape = (count, longest) if batch_first else (longest, count)
    starts = [longest - n if padding_side == "left" else 0 for n in lengths]
    places = [(starts[i] + t, i) for i, n in enumerate(lengths) for t in range(n)]
    return _spread(tt.cat(sequences), places, shape, batch_first, padding_value)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, each with its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)  # (T, N, …) → (N, T, …)
    return [sequence[:n] for sequence, n in zip(padded_sequences, _as_list(lengths), strict=True)]


def _as_list(lengths: Any) -> list[int]:
    values = lengths.tolist() if hasattr(lengths, "tolist") else lengths
    if any(isinstance(n, list) for n in values):
        raise RuntimeError(
            f"lengths: got a tensor of shape {tuple(lengths.shape)}, expected one dimension"
        )
    return [builtins.int(n) for n in values]


def _row(t: int, i: int, shape: tuple, batch_first: bool) -> int:
    """The row of step t of sequence i in a padded batch with its first two dimensions merged."""
    return i * shape[1] + t if batch_first else t * shape[1] + i


def _spread(
    data: Tensor, places: list[tuple[int, int]], shape: tuple, batch_first: bool, filler: float
) -> Tensor:
    """Put the rows of data at their places (step, sequence) of a padded batch."""
    rest = tuple(data.shape[1:])
    padded = tt.full((shape[0] * shape[1], *rest), filler, dtype=data.dtype, device=data.device)
    rows = tt.tensor(
        [_row(t, i, shape, batch_first) for t, i in places], dtype=tt.int64, device=data.device
    )
    return padded.index_copy(0, rows, data).reshape(*shape, *rest)  # (T·N, …) → (T, N, …)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
