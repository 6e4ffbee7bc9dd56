"""y[index] += values for an index with repeats, of which NumPy's own `+=` adds only one.

The gradients of indexing, gather and embedding use it. Raw arrays only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import Array, xp
from ..kernels.machinery.route import fast_version
from .parse_index import outside


def add_rows(target: Array, rows: Array, values: Array) -> None:
    """target[rows[i]] += values[i] for all i. target (N, …), rows (M,), values (M, …)."""
    library = xp(target)
    if not rows.size or not values.size:
        return
    few = target.ndim == 1 or rows.size <= 32  # for which this is the best way
    if library is not np or few or target.dtype.kind == "b":
        _add_at(target, rows, values)
        return
    kernel = fast_version("embedding", "add_to_rows", (target, values), written=False)
    if kernel is not None and target.flags.writeable and outside(rows, 0, len(target)) is None:
        kernel(target, rows, values)
        return
    # np.add.at is slow for rows: sort equal rows together and sum each group at once.
    order = rows.argsort(kind="stable")
    rows = rows[order]
    first = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    if first.size == rows.size:
        target[rows] += values[order]
    else:
        # in float64: reduceat adds one row after the other
        wide = {"float32": np.float64, "complex64": np.complex128}.get(values.dtype.name)
        target[rows[first]] += np.add.reduceat(values[order], first, axis=0, dtype=wide)


def _add_at(target: Array, index: Any, values: Array) -> None:
    library = xp(target)
    if library is np or target.dtype.kind == "f":
        library.add.at(target, index, values)
        return
    if target.dtype.kind == "c":  # CuPy adds the two parts by themselves only
        real, imag = target.real.copy(), target.imag.copy()
        library.add.at(real, index, values.real)
        library.add.at(imag, index, values.imag)
        target.real, target.imag = real, imag
        return
    # CuPy's atomic add supports few integer types. Modulo 2⁶⁴ signed and unsigned addition agree.
    total = target.astype(np.uint64)
    library.add.at(total, index, values.astype(np.uint64))
    target[...] = total.astype(target.dtype)


def multiply_rows(target: Array, rows: Array, values: Array) -> None:
    """target[rows[i]] *= values[i] for all i. target (N,), rows (M,), values (M,)."""
    library = xp(target)
    if library is np:
        np.multiply.at(target, rows, values)
        return
    # CuPy has no multiply.at: the first of each group of equal rows, then the second, …
    order = rows.argsort(kind="stable")
    rows, values = rows[order], values[order]
    turn = library.arange(rows.size) - library.searchsorted(rows, rows)
    while rows.size:
        now = turn == 0
        target[rows[now]] *= values[now]
        rows, values, turn = rows[~now], values[~now], turn[~now] - 1


def add_at_index(shape: tuple, index: tuple, values: Array) -> Array:
    """zeros(shape) with y[index] += values, for an index of full slices and integer arrays."""
    library = xp(values)
    if len(index) == 1 and index[0].ndim == 1 and library is np:  # x[rows], the most common
        total = library.zeros(shape, dtype=values.dtype)
        rows = index[0].astype(np.int64)
        rows[rows < 0] += shape[0]
        add_rows(total, rows, values)
        return total
    axes = [axis for axis, entry in enumerate(index) if not isinstance(entry, slice)]
    arrays = [index[axis] for axis in axes]
    if len(arrays) > 1:
        arrays = library.broadcast_arrays(*arrays)
    rank = arrays[0].ndim
    others = [axis for axis in range(len(shape)) if axis not in axes]
    # The indexed dimensions of the result are where the index arrays are if these are adjacent,
    # else in front: move them to the front in both cases.
    neighbours = axes[-1] - axes[0] + 1 == len(axes)
    if neighbours and axes[0]:
        front = range(axes[0], axes[0] + rank)
        values = library.moveaxis(values, tuple(front), tuple(range(rank)))
    sizes = [shape[axis] for axis in axes]
    rows = library.zeros(arrays[0].shape, dtype=np.int64)  # these may not fit an int8 index
    for array, size in zip(arrays, sizes, strict=True):
        rows = rows * size + library.where(array < 0, array.astype(np.int64) + size, array)
    rest = [shape[axis] for axis in others]
    # (indexed …, others …) as (row, others …), so that repeated rows are repeated numbers
    total = library.zeros([math.prod(sizes), *rest], dtype=values.dtype)
    if values.size:
        add_rows(total, rows.reshape(-1), values.reshape(rows.size, *rest))
    # (indexed …, others …) → the order of `shape`
    return library.moveaxis(total.reshape(*sizes, *rest), tuple(range(len(axes))), tuple(axes))
