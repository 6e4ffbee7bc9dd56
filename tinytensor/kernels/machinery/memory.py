"""Memory for large results, of kernels and of a few other ops, used again.

The pages of a fresh large array come from the system one by one, as they are first touched, and go
back when it is freed: in a training step that is more work than many an op. Here the memory of an
array that nobody refers to any more lies on a shelf until the next array of its size.
"""

from __future__ import annotations

import math
import mmap
import threading
from typing import Any

import numpy as np

from ...fork import HeldLock, at_fork

FLOAT32 = np.dtype(np.float32)
SMALL = 1 << 15  # bytes up to which the allocator of C has no need for fresh pages
MOST_KEPT = 1 << 30  # bytes that may lie on the shelf
# Python's default is shared memory, which a forked child and its parent would both write to.
# (Windows has neither flags nor fork.)
PRIVATE: dict[str, int] = {"flags": mmap.MAP_PRIVATE} if hasattr(mmap, "MAP_PRIVATE") else {}


def _new_block(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size, **PRIVATE)
    except OSError:
        raise MemoryError(f"Unable to allocate {size / 2**30:,.1f} GiB") from None


class _Shelf:
    """Blocks of memory that are not in use, by size."""

    def __init__(self) -> None:
        # A block may come back in the middle of anything, also of what this thread does here.
        self.lock = threading.RLock()
        self.blocks: dict[int, list[mmap.mmap]] = {}
        self.idle = 0  # bytes

    def take(self, size: int) -> mmap.mmap:
        with self.lock:
            blocks = self.blocks.get(size)
            if blocks:
                self.idle -= size
                return blocks.pop()
        try:
            return _new_block(size)
        except MemoryError:
            self.clear()  # what lies here in other sizes may be what is missing
        return _new_block(size)

    def put_back(self, block: mmap.mmap, size: int) -> None:
        with self.lock:
            if self.idle + size <= MOST_KEPT:
                blocks = self.blocks.setdefault(size, [])
                self.idle += size  # beside what it counts: Ctrl-C cannot come between the two
                blocks.append(block)

    def clear(self) -> None:
        with self.lock:
            self.blocks, self.idle = {}, 0


class _ShelfAtFork(HeldLock):
    """A child starts with an empty shelf: writing to pages that it shares would copy them."""

    def renew(self, held: bool) -> None:
        super().renew(held)
        _shelf.clear()


_shelf = _Shelf()
at_fork([_ShelfAtFork(_shelf.lock)])


class _Loan(np.ndarray):
    """A block in use. Every array on it refers to this one, and so it goes with the last of them.

    (NumPy would let an array refer to the block itself if this were no class of its own.)
    """

    def __del__(self, put_back: Any = _shelf.put_back) -> None:
        if self.base is not None:
            put_back(self.base, self.nbytes)


def empty(shape: tuple) -> Any:
    """A float32 array with whatever numbers are in its memory, contiguous."""
    count = math.prod(shape)
    size = 4 * count
    if size <= SMALL:
        return np.empty(shape, FLOAT32)
    return np.ndarray(shape, FLOAT32, _Loan(count, FLOAT32, _shelf.take(size)))


def empty_like(x: Any) -> Any:
    """As `empty`, in the shape of x."""
    return empty(x.shape)


def copy(x: Any) -> Any:
    """A copy of x, contiguous; of float32 in such memory."""
    if x.dtype is not FLOAT32:
        return x.copy(order="C")
    y = empty_like(x)
    np.copyto(y, x)
    return y


def release_memory() -> None:
    """Give the memory that kernels keep for later, at most 1 GB, back to the system."""
    _shelf.clear()
