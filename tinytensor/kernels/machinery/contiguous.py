"""Puts arrays in the memory layout that kernels take: others would be compiled separately."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from ...backend import Array
from .compile import part
from .memory import copy


def contiguous(x: Array) -> Array:
    """Return x, or a copy, contiguous and writable (to Numba, read-only is another type)."""
    return x if x.flags.writeable and x.flags.c_contiguous else copy(x)


def flat(x: Array) -> Array:
    """Return x as one dimension, contiguous and writable."""
    return contiguous(x).reshape(-1)


def as_rows(x: Array) -> Array:
    """(…, N) → (M, N), contiguous and writable."""
    x = contiguous(x)
    if x.ndim == 2:
        return x
    return x.reshape(-1, x.shape[-1]) if x.size else x.reshape(0, x.shape[-1])


@part
def line(x, i):
    """Row i of x (M, N), whose rows are contiguous, as an array of contiguous type.

    For arrays of any layout Numba does not know the distance between elements, and loops over them
    do not vectorise.
    """
    return carray(pointer(x.ctypes.data + i * x.strides[0]), x.shape[1], np.float32)


@intrinsic
def pointer(typing, address):
    """Cast an address to a pointer."""

    def generate(context, builder, _, values):
        return builder.inttoptr(values[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.uintp), generate
