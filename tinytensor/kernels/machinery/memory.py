"""Reuses the memory of large results of kernels and of a few other ops.

The system provides the pages of a new large array one by one, when they are first touched, and
takes them back when it is freed: in a training step that costs more than many ops. Here the memory
of an array without references is kept on a shelf for the next array of its size.
"""

from __future__ import annotations

import math
import mmap
import threading
from typing import Any

import numpy as np

from ...backend import Array
from ...fork import HeldLock, at_fork

FLOAT32 = np.dtype(np.float32)
SMALL = 1 << 15  # bytes up to which the C allocator needs no fresh pages
MOST_KEPT = 1 << 30  # bytes that the shelf may hold
# Python's default is memory that a forked child shares with its parent: both would write to it.
# (Windows has neither flags nor fork.)
PRIVATE: dict[str, int] = {"flags": mmap.MAP_PRIVATE} if hasattr(mmap, "MAP_PRIVATE") else {}


def _new_block(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size, **PRIVATE)
    except OSError:
        raise MemoryError(f"Unable to allocate {size / 2**30:,.1f} GiB") from None


class _Shelf:
    """Unused blocks of memory, by size."""

    def __init__(self) -> None:
        # Reentrant: a block may be put back at any moment, even while this thread is in here.
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
            self.clear()  # blocks of other sizes may be what is missing
        return _new_block(size)

    def put_back(self, block: mmap.mmap, size: int) -> None:
        with self.lock:
            if self.idle + size <= MOST_KEPT:
                blocks = self.blocks.setdefault(size, [])
                self.idle += size  # next to `append`: Ctrl-C cannot come between the two
                blocks.append(block)

    def clear(self) -> None:
        with self.lock:
            self.blocks, self.idle = {}, 0


class _ShelfAtFork(HeldLock):
    """Empties the shelf in a child: writing to pages shared with the parent would copy them."""

    def renew(self, held: bool) -> None:
        super().renew(held)
        _shelf.clear()


_shelf = _Shelf()
at_fork([_ShelfAtFork(_shelf.lock)])


class _Loan(np.ndarray):
    """A block in use. Every array in it refers to this object, which is freed with the last one.

    (If this were a plain ndarray, NumPy would make arrays refer to the block itself.)
    """

    def __del__(self, put_back: Any = _shelf.put_back) -> None:
        if self.base is not None:
            put_back(self.base, self.nbytes)


def empty(shape: tuple) -> Array:
    """Return an uninitialised float32 array, contiguous."""
    count = math.prod(shape)
    size = 4 * count
    if size <= SMALL:
        return np.empty(shape, FLOAT32)
    return np.ndarray(shape, FLOAT32, _Loan(count, FLOAT32, _shelf.take(size)))


def empty_like(x: Array) -> Array:
    """As `empty`, with the shape of x."""
    return empty(x.shape)


def copy(x: Array) -> Array:
    """Return a contiguous copy of x; a float32 copy uses memory of the shelf."""
    if x.dtype is not FLOAT32:
        return x.copy(order="C")
    y = empty_like(x)
    np.copyto(y, x)
    return y


def release_memory() -> None:
    """Return the memory that kernels keep for reuse, at most 1 GB, to the system."""
    _shelf.clear()
