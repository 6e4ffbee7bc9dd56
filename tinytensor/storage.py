"""Tensor.storage() and untyped_storage(): the memory that a tensor and its views share.

Enough for programs that ask where a tensor lives and how large its memory is:

    x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()    do x and y share memory?
    x.storage().size(), x.untyped_storage().nbytes()                    elements, bytes
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .autograd.arguments import array_of
from .autograd.inference import check_write
from .autograd.inplace import finish_write
from .autograd.mode import state
from .autograd.strided import in_order_of_memory, offset_in, storage_of
from .autograd.variable import writes_of
from .autograd.views import root_of
from .backend import xp
from .devices import to_device

if TYPE_CHECKING:
    from .tensor import Tensor


class UntypedStorage:
    """The bytes of a tensor's memory."""

    def __init__(self, tensor: Tensor):
        self._memory = in_order_of_memory(storage_of(tensor))
        self.device = tensor.device

    def _elements(self) -> Any:
        return self._memory.reshape(-1).view(np.uint8)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        if isinstance(self._memory, np.ndarray):
            return self._memory.__array_interface__["data"][0]
        return self._memory.data.ptr

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._memory.nbytes

    def size(self) -> int:
        """The number of elements, here bytes."""
        return int(self._elements().size)

    def __len__(self) -> int:
        return self.size()

    def element_size(self) -> int:
        """Bytes in one element."""
        return self._elements().itemsize

    def __getitem__(self, index: Any) -> Any:
        item = self._elements()[index]
        return item.item() if not getattr(item, "ndim", 0) else item.tolist()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator:
        return iter(self.tolist())

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return to_device(self._elements(), "cpu").tolist()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage) or type(other) is not type(self):
            return False
        return other.data_ptr() == self.data_ptr() and len(other) == len(self)

    def __hash__(self) -> int:
        return hash((type(self), self.data_ptr()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={len(self)}, device={self.device})"


class TypedStorage(UntypedStorage):
    """The elements of a tensor's memory, in its dtype."""

    def __init__(self, tensor: Tensor):
        super().__init__(tensor)
        self.dtype = tensor.dtype

    def _elements(self) -> Any:
        return self._memory.reshape(-1)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        made = UntypedStorage.__new__(UntypedStorage)
        made._memory, made.device = self._memory, self.device
        return made


def location_tag(storage: UntypedStorage) -> str:
    """Where the storage is, "cpu" or "cuda:0", as PyTorch writes it into its files."""
    return str(storage.device)


def normalize_storage_type(storage_type: type) -> type:
    """The class itself: a storage has the same class on every device."""
    return storage_type


def resize(tensor: Any, shape: tuple[int, ...]) -> Any:
    """Tensor.resize_: `tensor` shows the first elements of its memory, which grows if need be."""
    if tensor.array.shape == shape:
        return tensor
    _check_free("resize_", tensor, state.mode.inference is None)
    memory = in_order_of_memory(storage_of(tensor))
    start, count = offset_in(memory, tensor.array), math.prod(shape)
    if start + count > memory.size:
        larger = xp(memory).empty(start + count, dtype=memory.dtype)
        larger[: memory.size] = memory
        memory = larger
    tensor.array = memory[start : start + count].reshape(shape)
    return finish_write(tensor)


def share(tensor: Any, source: Any) -> Any:
    """Tensor.set_: `tensor` shows what `source` does; nothing if source is None."""
    _check_free("set_", tensor, state.mode.grad)
    if source is None:
        tensor.array = xp(tensor.array).empty((0,), dtype=tensor.array.dtype)
        return finish_write(tensor)
    array = array_of("set_", source)
    if array.dtype != tensor.array.dtype:
        raise RuntimeError(f"set_: got dtype {array.dtype}, expected {tensor.array.dtype}")
    tensor.array, tensor._writes = array.view(), writes_of(source)
    return finish_write(tensor)


def share_with_forks(tensor: Any) -> Any:
    """Tensor.share_memory_: move the elements into memory that processes forked later share."""
    if not isinstance(tensor.array, np.ndarray) or is_shared_array(tensor.array):
        return tensor
    if tensor._view is not None:
        raise RuntimeError("share_memory_: got a view, expected the tensor that owns the memory")
    array = tensor.array
    shared: Any = np.ndarray(array.shape, array.dtype, mmap.mmap(-1, max(array.nbytes, 1)))
    shared[...] = array
    tensor.array = shared
    return tensor


def is_shared_array(array: Any) -> bool:
    """Whether an array is in memory that `share_with_forks` made."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def check_may_be_copied(array: Any) -> None:
    """Refuse to pickle shared memory for a process that is spawned: it would get a copy."""
    context = sys.modules.get("multiprocessing.context")
    if context is not None and context.get_spawning_popen() is not None and is_shared_array(array):
        raise RuntimeError(
            "share_memory_: a spawned process would get a copy of a tensor with shared memory; "
            "fork it: multiprocessing.set_start_method('fork')"
        )


def _check_free(name: str, tensor: Any, recording: bool) -> None:
    """Refuse a tensor of the graph while ops are recorded; take others out of their views."""
    check_write(name, tensor)
    if tensor._tracked and recording:
        raise RuntimeError(f"{name}: got a tensor that requires grad; use detach()")
    if tensor._view is not None and root_of(tensor)._tracked:
        raise RuntimeError(f"{name}: got a view of a tensor that requires grad; use clone()")
    tensor._view = None  # from now on it stands for itself


__all__ = ["TypedStorage", "UntypedStorage"]
