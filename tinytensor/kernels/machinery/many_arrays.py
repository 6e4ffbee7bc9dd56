"""Passes many arrays to one kernel: it gets their addresses and treats them as one long array.

One call then handles all parameters of a model. Most parameters are small: with a kernel call for
each, the calls would cost more than the arithmetic.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from ...backend import Array
from .compile import part


@intrinsic
def _pointer(context, address):
    """Cast an address to a pointer to float32."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.uint64), generate


@part
def piece(address, start, stop):
    """Elements start … stop of the array at an address."""
    return carray(_pointer(address + np.uint64(4 * start)), (stop - start,))


@part
def overlap(start, stop, offset, size):
    """(first, last): the part of an array, which begins at `offset`, that lies in start … stop."""
    return max(start - offset, 0), min(stop - offset, size)


def addresses(arrays: Sequence[Array]) -> Array:
    """Return the address of each array; the caller keeps the arrays alive."""
    return np.array([x.ctypes.data for x in arrays], dtype=np.uint64)


_known: dict[int, tuple[Any, int]] = {}  # id(array): (weak reference, address)


def lasting_addresses(arrays: Sequence[Array]) -> Array:
    """As `addresses`, cached for arrays that come again: asking NumPy takes a microsecond each."""
    return np.array([_address(x) for x in arrays], dtype=np.uint64)


def _address(x: Array) -> int:
    reference, address = _known.get(id(x), (None, 0))
    if reference is None or reference() is not x:
        key, address = id(x), x.ctypes.data
        _known[key] = weakref.ref(x, lambda _: _known.pop(key, None)), address
    return address


def sizes(arrays: Sequence[Array]) -> Array:
    """Return the number of elements of each array."""
    return np.array([x.size for x in arrays], dtype=np.int64)
