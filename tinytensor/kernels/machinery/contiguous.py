"""Arrays as kernels take them. Each further layout would be a further compilation."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from .compile import part
from .memory import copy


def contiguous(x: Any) -> Any:
    """x in its own shape, contiguous and writable (which is a type of its own to Numba)."""
    return x if x.flags.writeable and x.flags.c_contiguous else copy(x)


def flat(x: Any) -> Any:
    """The elements of x, one after the other, contiguous and writable."""
    return contiguous(x).reshape(-1)


def as_rows(x: Any) -> Any:
    """(…, N) → (M, N), contiguous and writable."""
    x = contiguous(x)
    if x.ndim == 2:
        return x
    return x.reshape(-1, x.shape[-1]) if x.size else x.reshape(0, x.shape[-1])


@part
def line(x, i):
    """Row i of x (M, N), whose rows are contiguous: an array that Numba knows to be so.

    Of other arrays it does not know how far apart their numbers are, and loops do not vectorise.
    """
    return carray(_pointer(x.ctypes.data + i * x.strides[0]), x.shape[1], np.float32)


@intrinsic
def _pointer(typing, address):
    def generate(context, builder, _, values):
        return builder.inttoptr(values[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.uintp), generate
