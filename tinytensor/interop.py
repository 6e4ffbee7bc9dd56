"""Convert tensors to Python and NumPy values; copy and pickle them."""

from __future__ import annotations

import copy as copying
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import devices
from .autograd.arguments import array_of
from .autograd.settings import is_grad_enabled
from .autograd.site import warn
from .autograd.variable import wrap, writes_of
from .autograd.walk import sum_to
from .create.size_arguments import shape_of
from .dtype import from_numpy_dtype, is_supported
from .methods import Methods
from .ops.broadcast import expands_to
from .ops.convert import copy_of
from .ops.promote import is_operand
from .storage import (
    TypedStorage,
    UntypedStorage,
    check_may_be_copied,
    is_shared_array,
    resize,
    share,
    share_with_forks,
)


class Interop(Methods):
    """Conversions, copying and pickling; the base class of `Tensor`."""

    __slots__ = ()

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.array.size != 1:
            raise RuntimeError(
                f"item: got a tensor of shape {tuple(self.shape)}, expected exactly one element"
            )
        return self.array.item()

    def pin_memory(self, device: Any = None) -> Any:
        """Returns the tensor itself: copies to a GPU need no pinned memory here."""
        return self

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for a 0-d tensor."""
        return self.array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The NumPy array, sharing memory. force=True: detach and move to the CPU first."""
        if not force:
            if self.requires_grad and is_grad_enabled():
                raise RuntimeError("numpy: the tensor requires grad; use tensor.detach().numpy()")
            if self.is_cuda:
                raise TypeError("numpy: the tensor is on cuda; use tensor.cpu().numpy()")
        if self.array.dtype.kind == "V":
            raise TypeError("numpy: got bfloat16, which NumPy lacks; use tensor.float().numpy()")
        return devices.to_device(self.array, "cpu")

    def is_pinned(self, device: Any = None) -> bool:
        """False: memory is never pinned."""
        return False

    def is_shared(self) -> bool:
        """True after `share_memory_`, and on a GPU, as in PyTorch."""
        return self.is_cuda or is_shared_array(self.array)

    def share_memory_(self) -> Any:
        """Move the elements into memory that processes forked from now on share.

        Views that were made before keep the old memory. A tensor with shared memory is refused by a
        process that is spawned, not forked. No effect on a GPU.
        """
        return share_with_forks(self)

    def is_same_size(self, other: Any) -> bool:
        """Whether `other` has the same shape."""
        return self.array.shape == other.array.shape

    def is_neg(self) -> bool:
        """False: a negation is never postponed."""
        return False

    def sum_to_size(self: Any, *size: Any) -> Any:
        """Sum over the dimensions along which a tensor of shape `size` is broadcast to this one."""
        shape = shape_of("sum_to_size", size)
        if not expands_to(shape, self.array.shape):
            raise RuntimeError(
                f"sum_to_size: got size {shape}, which does not expand to {self.array.shape}"
            )
        if not shape:
            return self.sum()  # integers become int64, as in PyTorch
        return self if shape == self.array.shape else sum_to(self, shape)

    def __reversed__(self: Any) -> Any:
        """The tensor with its first dimension in reverse order."""
        return self.flip(0) if self.array.ndim else self

    def apply_(self: Any, callable: Any) -> Any:
        """Replace each element x by callable(x), in place; slow, and without a gradient."""
        if self.requires_grad:
            raise TypeError("apply_: got a tensor that requires grad; use detach()")
        values = [callable(x) for x in self.array.reshape(-1).tolist()]
        return self.copy_(self.new_tensor(values).reshape(self.array.shape))

    def to_sparse_coo(self) -> Any:
        """As `to_sparse`."""
        return self.to_sparse()

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None) -> Any:
        """The elements that are not 0, in COO layout; see `tinytensor.sparse`."""
        return importlib.import_module("tinytensor.sparse").to_sparse(
            self, sparse_dim, layout=layout
        )

    def to_sparse_csr(self) -> Any:
        """The elements of a matrix that are not 0, by rows."""
        return importlib.import_module("tinytensor.sparse").to_sparse_csr(self)

    @property
    def volatile(self) -> bool:
        """False, with a warning: PyTorch's flag from before `no_grad`."""
        warn("volatile: the flag was removed and is always False; use no_grad()")
        return False

    @property
    def _grad_fn(self: Any) -> Any:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("_grad_fn: cannot be deleted; use detach_()")

    @property
    def _backward_hooks(self: Any) -> dict | None:
        """The hooks on the tensor, {id: hook}; None if there are none."""
        return (self._node or self)._hooks

    @_backward_hooks.setter
    def _backward_hooks(self: Any, hooks: dict | None) -> None:
        (self._node or self)._hooks = hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("_backward_hooks: cannot be deleted; remove each hook by its handle")

    def storage(self: Any) -> TypedStorage:
        """The memory that this tensor and its views share, as elements."""
        return TypedStorage(self)

    def untyped_storage(self: Any) -> UntypedStorage:
        """The memory that this tensor and its views share, as bytes."""
        return UntypedStorage(self)

    def resize_(self: Any, *sizes: Any, memory_format: Any = None) -> Any:
        """Another shape, of the first elements of the memory; new ones are not initialised."""
        return resize(self, shape_of("resize_", sizes))

    def resize_as_(self: Any, other: Any, *, memory_format: Any = None) -> Any:
        """As `resize_`, to the shape of `other`."""
        return resize(self, array_of("resize_as_", other).shape)

    def set_(self: Any, source: Any = None) -> Any:
        """Share the memory and the shape of the tensor `source`; without one, be empty."""
        return share(self, source)

    def is_set_to(self: Any, other: Any) -> bool:
        """Whether both show the same elements of the same memory."""
        mine, given = self.array, array_of("is_set_to", other)
        same = mine.shape == given.shape and mine.dtype == given.dtype
        return same and self.stride() == other.stride() and self.data_ptr() == other.data_ptr()

    def to_dense(self: Any, dtype: Any = None) -> Any:
        """The tensor itself, which is dense, or in another dtype."""
        return self if dtype is None else self.to(dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """np.exp(tensor) returns a tensor, as in PyTorch, if its dtype is supported."""
        array = np.asarray(array)
        return wrap(array) if is_supported(array.dtype) else array

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.requires_grad:
            raise BufferError("__dlpack__: the tensor requires grad; use tensor.detach()")
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise RuntimeError(
                f"bool: the truth of a tensor of shape {tuple(self.shape)} is ambiguous; "
                "use .any() or .all()"
            )
        return bool(self.array.item())

    def __float__(self) -> float:
        return float(self._real_element("float"))

    def __int__(self) -> int:
        return int(self._real_element("int"))

    def __complex__(self) -> complex:
        return complex(self._only_element("complex"))

    def _real_element(self, name: str) -> Any:
        value = self._only_element(name)
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError(f"{name}: got {value}, expected a real number; use .real")
            return value.real
        return value

    def _only_element(self, name: str) -> Any:
        if self.array.size != 1:
            raise ValueError(
                f"{name}: got a tensor of shape {self._shape}, expected exactly one element"
            )
        return self.array.item()

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("index: only integer tensors of one element can be used as an index")
        return int(self.array.item())

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.array.ndim:
            raise TypeError("iter: got a 0-d tensor, which cannot be iterated over")
        return iter(self.unbind(0))

    def __contains__(self, value: Any) -> bool:
        if not is_operand(value):
            kind = type(value).__name__
            raise RuntimeError(f"in: got a {kind} to look for, expected a tensor or a number")
        return bool((self == value).any().item())

    def __deepcopy__(self, memo: dict) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "deepcopy: only leaves can be copied; use detach().clone() for the result of an op"
            )
        copy = object.__new__(type(self))
        memo[id(self)] = copy
        fill(copy, copy_of(self.array), self._tracked)
        copy._grad = copying.deepcopy(self._grad, memo)
        copy.__dict__.update(copying.deepcopy(self.__dict__, memo))
        return copy

    def __copy__(self) -> Any:
        """A new leaf that shares the memory."""
        copy = fill(object.__new__(type(self)), self.array.view(), self.requires_grad)
        copy._writes = writes_of(self)
        copy.__dict__.update(self.__dict__)
        return copy

    def __reduce__(self) -> tuple:
        """For pickle: values, dtype, requires_grad and attributes, but not the graph."""
        check_may_be_copied(self.array)
        array = devices.to_device(self.array, "cpu")
        return rebuild, (type(self), array, self.requires_grad), self.__dict__ or None


def fill(tensor: Any, array: Any, requires_grad: bool = False) -> Any:
    """Set the fields of a bare instance of Tensor or of a subclass."""
    source = wrap(array)
    for name in ("array", "_grad", "_node", "_writes", "_view", "_hooks"):
        setattr(tensor, name, getattr(source, name))
    tensor._tracked = requires_grad
    return tensor


def rebuild(cls: type, array: Any, requires_grad: bool) -> Any:
    """Recreate a tensor; pickle calls this."""
    from_numpy_dtype(array.dtype)
    return fill(object.__new__(cls), array, requires_grad)
