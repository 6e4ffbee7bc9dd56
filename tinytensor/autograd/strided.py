"""AsStrided: a view given by its size, strides and offset in the storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array, xp
from . import views
from .op import Op
from .variable import Variable, own_copy, writes_of


class AsStrided(Op):
    """y[i, j, …] = element offset + i·stride₀ + j·stride₁ + … of the memory of x;
    dx = for each element of x, the sum of g at the same place in memory

    memory: the array that owns the memory, if x shows only a part of it. Elements of y that lie
    outside x pass on no gradient, as in PyTorch.
    """

    view = True

    def forward(self, x: Array, size: tuple, stride: tuple, offset: int, memory: Any) -> Array:
        memory = x if memory is None else memory
        self.length = memory.size
        strides = tuple([s // x.itemsize for s in x.strides])
        self.source = x.shape, strides, offset_in(memory, x)
        self.places = size, stride, offset
        return _strided(in_order_of_memory(memory), size, stride, offset)

    def backward(self, g: Any) -> Any:
        x, y = self.source, self.places
        dx = Transfer.apply(g, self.length, y, x)
        if 0 not in x[1]:
            return dx
        # x is expanded: elements at the same place share its gradient equally.
        ones = np.ones(x[0], dtype=np.float64)
        shares = Transfer.apply(ones, self.length, x, x)
        return dx / xp(g).asarray(shares, dtype=self._edges[0]._dtype)


class Transfer(Op):
    """y = m[target], where m is a memory of zeros with x added at the places `source`;
    dx = the same with source and target exchanged

    source, target: (size, stride, offset) of tensors in a memory of `length` elements.
    """

    def forward(self, x: Array, length: int, source: tuple, target: tuple) -> Array:
        self.args = length, target, source
        library = xp(x)
        memory = library.zeros(length, dtype=x.dtype)
        places = library.arange(length)
        library.add.at(memory, _strided(places, *source), x)
        return memory[_strided(places, *target)]

    def backward(self, g: Any) -> Any:
        return Transfer.apply(g, *self.args)


def _strided(flat: Array, size: tuple, stride: tuple, offset: int) -> Array:
    strides = tuple([s * flat.itemsize for s in stride])
    return xp(flat).lib.stride_tricks.as_strided(flat[offset:], size, strides)


def _address(x: Array) -> int:
    return x.__array_interface__["data"][0] if isinstance(x, np.ndarray) else x.data.ptr


def memory_order(x: Array) -> tuple[int, ...]:
    """The dimensions of x by decreasing stride."""
    return tuple(sorted(range(x.ndim), key=lambda d: -x.strides[d]))


def in_order_of_memory(x: Array) -> Array:
    """The elements of x in memory order, as a 1-d view; raises if the memory has gaps."""
    if x.flags.c_contiguous:
        return x.reshape(-1)
    flat = x.transpose(memory_order(x))
    if not flat.flags.c_contiguous:
        raise RuntimeError(
            f"as_strided: the memory of a tensor of shape {x.shape} has gaps; call contiguous() "
            "on the tensor that this is a view of"
        )
    return flat.reshape(-1)


def storage_of(variable: Variable) -> Array:
    """The array that owns a tensor's memory, in the tensor's dtype."""
    array, storage = variable.array, writes_of(variable)[1]
    if array.size and not xp(array).may_share_memory(array, storage):
        return array  # its memory was replaced: x.data = …
    return (
        storage if storage.dtype == array.dtype else in_order_of_memory(storage).view(array.dtype)
    )


def offset_in(memory: Array, x: Array) -> int:
    """The number of elements between the start of `memory` and that of x."""
    return (_address(x) - _address(memory)) // x.itemsize


def copy_in_order(g: Any, order: tuple[int, ...]) -> Any:
    """A copy of g (array or tensor) whose dimensions are laid out in memory in `order`."""
    back = sorted(range(len(order)), key=order.__getitem__)
    if isinstance(g, Variable):
        return g.permute(order).clone().contiguous().permute(back)
    return own_copy(g.transpose(order)).transpose(back)


views.strided = AsStrided
