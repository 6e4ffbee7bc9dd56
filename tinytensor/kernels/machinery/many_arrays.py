"""Many arrays in one kernel: it gets their addresses, and takes them as one long row of numbers.

So that all parameters of a model are gone through at once: a kernel for each would cost more in
calls than in arithmetic, as most parameters are small.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from .compile import part


@intrinsic
def _pointer(context, address):
    """An address as a pointer to float32 numbers."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.uint64), generate


@part
def piece(address, start, stop):
    """The numbers start … stop of the array at an address."""
    return carray(_pointer(address + np.uint64(4 * start)), (stop - start,))


@part
def overlap(start, stop, offset, size):
    """(first, last): what of an array that begins at `offset` in the row lies in start … stop."""
    return max(start - offset, 0), min(stop - offset, size)


def addresses(arrays: Sequence[Any]) -> Any:
    """Where the numbers of each array are; the caller keeps the arrays alive."""
    return np.array([x.ctypes.data for x in arrays], dtype=np.uint64)


_known: dict[int, tuple[Any, int]] = {}  # id of an array: (weak reference to it, its address)


def lasting_addresses(arrays: Sequence[Any]) -> Any:
    """As `addresses`, for arrays that come again: to ask NumPy takes a microsecond each."""
    return np.array([_address(x) for x in arrays], dtype=np.uint64)


def _address(x: Any) -> int:
    reference, address = _known.get(id(x), (None, 0))
    if reference is None or reference() is not x:
        key, address = id(x), x.ctypes.data
        _known[key] = weakref.ref(x, lambda _: _known.pop(key, None)), address
    return address


def sizes(arrays: Sequence[Any]) -> Any:
    return np.array([x.size for x in arrays], dtype=np.int64)
