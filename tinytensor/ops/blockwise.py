"""Elementwise formulas over large arrays, a block at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..kernels.machinery.memory import empty
from ..kernels.machinery.route import FLOAT32, ndarray

BLOCK = 1 << 14  # numbers: a few arrays of this size fit into the cache of a core


def blockwise(formula: Callable, *arrays: Any) -> Any:
    """formula(*arrays), elementwise, for arrays or tensors of one shape.

    NumPy evaluates a formula one step at a time, each over whole arrays. Block by block, the
    intermediate results stay in the cache and need no large arrays of their own.
    """
    if not all(map(_is_large, arrays)):
        return formula(*arrays)
    out = empty(arrays[0].shape)
    flat_out, *flat = (x.reshape(-1) for x in (out, *arrays))  # views, as all are contiguous
    for start in range(0, out.size, BLOCK):
        block = slice(start, start + BLOCK)
        flat_out[block] = formula(*(x[block] for x in flat))
    return out


def _is_large(x: Any) -> bool:
    """Whether this is a contiguous float32 NumPy array of several blocks."""
    large = type(x) is ndarray and x.size >= 2 * BLOCK
    return large and x.dtype is FLOAT32 and x.flags.c_contiguous
