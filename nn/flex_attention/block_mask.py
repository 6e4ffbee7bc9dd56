"""Masks of attention as functions of four indices, and the blocks of queries and keys they leave.

    def causal(b, h, q_idx, kv_idx):
        return q_idx >= kv_idx

    mask = create_block_mask(causal, B=None, H=None, Q_LEN=256, KV_LEN=256)

A mask function is called once, with integer tensors of shapes (B, 1, 1, 1), (1, H, 1, 1),
(1, 1, L, 1) and (1, 1, 1, S); arithmetic, comparisons and indexing broadcast them to (B, H, L, S).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import tinytensor as tt
from tinytensor import Tensor

DEFAULT_BLOCK = 128


def index_tensors(shape: tuple[int, int, int, int], device: Any = None) -> list[Tensor]:
    """The index along each of the four dimensions, ready to broadcast with the others."""
    found = []
    for place, size in enumerate(shape):
        view = [1, 1, 1, 1]
        view[place] = size
        found.append(tt.arange(size, device=device).reshape(view))
    return found


def evaluate(mask_mod: Callable, shape: tuple[int, int, int, int], device: Any = None) -> Tensor:
    """mask_mod at all places: a boolean tensor of that shape."""
    value = mask_mod(*index_tensors(shape, device))
    if not isinstance(value, Tensor):
        value = tt.tensor(value, device=device)
    return tt.broadcast_to(value, shape).to(tt.bool)


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that keeps everything."""
    return batch.new_ones((), dtype=tt.bool)


def and_masks(*mask_mods: Callable) -> Callable:
    """The mask that keeps what all of the given masks keep."""
    _check_callable("and_masks", mask_mods)

    def both(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=tt.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return both


def or_masks(*mask_mods: Callable) -> Callable:
    """The mask that keeps what at least one of the given masks keeps."""
    _check_callable("or_masks", mask_mods)

    def either(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=tt.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return either


def _check_callable(name: str, mask_mods: tuple) -> None:
    for mask in mask_mods:
        if not callable(mask):
            raise RuntimeError(f"{name}: got {mask!r}, expected functions of (b, h, q_idx, kv_idx)")


def create_mask(
    mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """mask_mod at all places, (B, H, Q_LEN, KV_LEN); B and H are 1 if None.

    A score_mod, with five arguments, is applied to scores of 0 instead.
    """
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if len(inspect.signature(mod_fn).parameters) == 5:
        score = mod_fn(tt.zeros(shape, device=device), *index_tensors(shape, device))
        return tt.broadcast_to(score, shape).to(tt.float32)
    return evaluate(mod_fn, shape, device)


# ------------------------------------------------------------------------------------------
# Blocks
# ------------------------------------------------------------------------------------------


def _listed(dense: Tensor) -> tuple[Tensor, Tensor]:
    """(number, indices) of the True entries of each row, which come first among all indices."""
    order = tt.argsort(dense.to(tt.int32), dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(tt.int32), order.to(tt.int32)


def _unlisted(number: Tensor, indices: Tensor, columns: int) -> Tensor:
    """The reverse of `_listed`: (…, rows, columns), True for the listed entries."""
    place = tt.arange(indices.shape[-1])
    kept = place < number.unsqueeze(-1)
    dense = tt.zeros((*indices.shape[:-1], columns + 1), dtype=tt.int32)
    target = tt.where(kept, indices.long(), columns)  # the extra column takes what is not listed
    return dense.scatter(-1, target, 1)[..., :columns].bool()


class BlockMask:
    """The blocks of a mask that keep something.

    kv_num_blocks (B, H, rows) and kv_indices (B, H, rows, columns) list, for each row of blocks,
    those of which mask_mod keeps a part; full_kv_num_blocks and full_kv_indices those of which it
    keeps everything, or None. `create_block_mask` makes one from a function.
    """

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int], mask_mod: Callable,
    ):  # fmt: skip
        if kv_indices.ndim < 2:
            raise RuntimeError(
                f"BlockMask: got kv_indices of shape {tuple(kv_indices.shape)}, expected at least "
                "2 dimensions"
            )
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "BlockMask: expected both or none of full_kv_num_blocks and full_kv_indices"
            )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.BLOCK_SIZE, self.mask_mod = BLOCK_SIZE, mask_mod

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK,
        mask_mod: Callable | None = None, seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """A mask from its lists of blocks. seq_lengths: by default, those of whole blocks."""
        rows, columns = _pair(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * rows, kv_indices.shape[-1] * columns
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
            (rows, columns), mask_mod or noop_mask,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, Q_LEN, KV_LEN)"""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of pairs of a query and a key, over all batches and heads."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self) -> float:
        """The share of pairs outside the blocks, in percent."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def partial_and_full(self) -> tuple[Tensor, Tensor | None]:
        """Which blocks are kept in part, and which in full: booleans (B, H, rows, columns)."""
        columns = -(-self.seq_lengths[1] // self.BLOCK_SIZE[1])
        partial = _unlisted(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partial, None
        return partial, _unlisted(self.full_kv_num_blocks, self.full_kv_indices, columns)

    def to_dense(self) -> Tensor:
        """1 for each block that keeps something: (B, H, rows, columns), int32."""
        partial, full = self.partial_and_full()
        return (partial if full is None else partial | full).to(tt.int32)

    def kept(self, batch: int, heads: int) -> Tensor:
        """Which pairs are kept: boolean (batch, heads, Q_LEN, KV_LEN)."""
        shape = (batch, heads, *self.seq_lengths)
        inside = evaluate(self.mask_mod, shape)
        partial, full = (
            None if blocks is None else self._spread(blocks) for blocks in self.partial_and_full()
        )
        inside = inside & partial
        return inside if full is None else inside | full

    def _spread(self, blocks: Tensor) -> Tensor:
        """(B, H, rows, columns) of blocks → (B, H, Q_LEN, KV_LEN)"""
        for dim, size, length in zip((-2, -1), self.BLOCK_SIZE, self.seq_lengths, strict=True):
            blocks = blocks.repeat_interleave(size, dim).narrow(dim, 0, length)
        return blocks

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks: three indices at most."""
        given = index if isinstance(index, tuple) else (index,)
        parts = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in given)
        full_number, full_indices = self.full_kv_num_blocks, self.full_kv_indices
        return BlockMask(
            self.seq_lengths, self.kv_num_blocks[parts], self.kv_indices[parts],
            None if full_number is None else full_number[parts],
            None if full_indices is None else full_indices[parts],
            self.BLOCK_SIZE, self.mask_mod,
        )  # fmt: skip

    def to(self, device: Any) -> BlockMask:
        """The same mask: its lists stay on the CPU."""
        return self

    def to_string(self) -> str:
        """A picture of the blocks of each batch and head."""
        dense = self.to_dense()
        lines = []
        for b in range(dense.shape[0]):
            for h in range(dense.shape[1]):
                rows = ["".join("██" if x else "  " for x in row) for row in dense[b, h].tolist()]
                lines += [f"({b}, {h})", *rows, ""]
        return "\n".join(lines).rstrip()

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"

    def __str__(self) -> str:
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%,\n{self.to_string()}\n)"
        )


def _pair(BLOCK_SIZE: int | tuple[int, int]) -> tuple[int, int]:
    return (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE


def create_block_mask(
    mask_mod: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK, _compile: bool = False,
) -> BlockMask:  # fmt: skip
    """The BlockMask of a function mask_mod(b, h, q_idx, kv_idx), True where a key is attended to.

    B, H: None if the mask does not depend on the batch or the head.
    """
    if not callable(mask_mod):
        raise AssertionError(
            f"create_block_mask: got mask_mod {mask_mod!r}, expected a function of "
            "(b, h, q_idx, kv_idx)"
        )
    rows, columns = _pair(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    down, right = -Q_LEN % rows, -KV_LEN % columns  # up to whole blocks
    mask = tt.nn.functional.pad(mask, (0, right, 0, down), value=False)
    parts = mask.reshape(
        (*mask.shape[:2], (Q_LEN + down) // rows, rows, (KV_LEN + right) // columns, columns)
    )
    counts = parts.long().sum((-3, -1))  # (B, H, rows of blocks, columns of blocks)
    full = counts == rows * columns
    return BlockMask(
        (Q_LEN, KV_LEN), *_listed((counts > 0) & ~full), *_listed(full), (rows, columns), mask_mod
    )


__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]
