"""Tensor: an array with a gradient.

This file has the constructor, the properties and the autograd methods. Operators are in
`operators.py`, methods that compute in `methods.py`, conversions to Python and NumPy in
`interop.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd import engine
from .autograd.hooks import AfterAccumulation, RemovableHandle, add_hook, retain_grad
from .autograd.inference import check_write, is_inference
from .autograd.mode import outside, state
from .autograd.site import warn
from .autograd.strided import offset_in, storage_of
from .autograd.variable import wrap, writes_of
from .autograd.views import RETAIN, refresh, root_of
from .create.from_data import is_sequence, tensor
from .create.size_arguments import shape_of
from .devices import device, device_of
from .dtype import DType, default_float, from_numpy_dtype
from .interop import Interop, fill
from .memory_format import channels_last, channels_last_3d, strided
from .repr import tensor_html, tensor_repr
from .size import Size


class Tensor(Interop):
    """An array that records the ops applied to it, for backpropagation.

    Make one with `tinytensor.tensor(data)`, `zeros`, `randn` and so on. `Tensor(data)` is float32,
    as in PyTorch.
    """

    __slots__ = ()
    __array_priority__ = 1000  # ndarray + Tensor asks Tensor first

    def __new__(cls, *data: Any) -> Tensor:
        """Tensor(2, 3): zeros of that shape. Tensor([1, 2]): default dtype. Tensor(x): a view."""
        source: Any = data[0] if len(data) == 1 else None
        if isinstance(source, Tensor):
            return source[...] if cls is Tensor else fill(object.__new__(cls), source.array)
        is_data = isinstance(source, np.ndarray) or is_sequence(type(source))
        if is_data and not isinstance(source, Size):
            array = tensor(source, dtype=default_float()).array
        elif data and not all(isinstance(n, (int, np.integer, Size)) for n in data):
            kinds = ", ".join(type(value).__name__ for value in data)
            raise TypeError(f"Tensor: got ({kinds}), expected sizes, a list, an array or a tensor")
        else:
            array = np.zeros(shape_of("Tensor", data or (0,)), dtype=default_float())
        return fill(object.__new__(cls), array)

    def new(self, *data: Any, device: Any = None) -> Tensor:
        """PyTorch's old form of new_empty and new_tensor: of this tensor's dtype and device.

        new(2, 3): an uninitialised tensor of that shape. new([1, 2]): one with these values.
        new(x): a view of x, which has the same dtype.
        """
        source: Any = data[0] if len(data) == 1 else None
        if isinstance(source, Tensor):
            if source.dtype != self.dtype:
                raise TypeError(f"new: got a tensor of {source.dtype}, expected {self.dtype}")
            return source.detach()
        if isinstance(source, (list, tuple, range, np.ndarray)) and not isinstance(source, Size):
            return self.new_tensor(source, device=device or self.device)
        if not all(isinstance(n, (int, np.integer, Size)) for n in data):
            kinds = ", ".join(type(value).__name__ for value in data)
            raise TypeError(f"new: got ({kinds}), expected sizes, a list, an array or a tensor")
        return self.new_empty(*(data or (0,)), device=device or self.device)

    # --------------------------------------------------------------------------------------
    # What it is
    # --------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return tuple.__new__(Size, self.array.shape)  # the sizes need no check

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dimension."""
        return Size(self.array.shape) if dim is None else self.array.shape[dim]

    @property
    def dtype(self) -> DType:
        return from_numpy_dtype(self.array.dtype)

    @property
    def device(self) -> device:
        return device_of(self.array)

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    def get_device(self) -> int:
        """The index of the tensor's GPU; -1 on the CPU."""
        return self.device.index or 0 if self.is_cuda else -1

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self.array.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes in one element."""
        return self.array.itemsize

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def itemsize(self) -> int:
        return self.array.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """The distance in memory, in elements, between neighbours along each dimension."""
        if self.array.size:
            strides = tuple(s // self.array.itemsize for s in self.array.strides)
        else:  # NumPy's strides are 0 in this case
            lengths = [max(n, 1) for n in self.array.shape]
            strides = tuple(math.prod(lengths[i + 1 :]) for i in range(len(lengths)))
        return strides if dim is None else strides[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in row-major order without gaps.

        memory_format: channels_last asks for the channels, dimension 1, as the last in memory.
        """
        if memory_format is channels_last:
            return self.ndim == 4 and self.array.transpose(0, 2, 3, 1).flags.c_contiguous
        if memory_format is channels_last_3d:
            return self.ndim == 5 and self.array.transpose(0, 2, 3, 4, 1).flags.c_contiguous
        return self.array.flags.c_contiguous

    def data_ptr(self) -> int:
        """The address of the first element."""
        if isinstance(self.array, np.ndarray):
            return self.array.__array_interface__["data"][0]
        return self.array.data.ptr

    def storage_offset(self) -> int:
        """The position of the first element in the storage, in elements."""
        return offset_in(storage_of(self), self.array)

    def is_floating_point(self) -> bool:
        return self.array.dtype.kind in "fV"

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_complex(self) -> bool:
        return self.array.dtype.kind == "c"

    # kinds of tensors and devices that do not exist here
    layout = strided
    is_sparse = is_sparse_csr = is_quantized = is_nested = is_meta = is_mkldnn = False
    is_ipu = is_maia = is_mps = is_mtia = is_vulkan = is_xla = is_xpu = False

    def is_nonzero(self) -> bool:
        """Whether the only element is not zero."""
        return bool(self)

    def __len__(self) -> int:
        if not self.array.ndim:
            raise TypeError("len: got a 0-d tensor, which has no length")
        return self.array.shape[0]

    __hash__ = object.__hash__  # by identity, like ops: leaves and ops are keys of one dict

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return tensor_repr(self)

    def _repr_html_(self) -> str:
        return tensor_html(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec) if self.array.ndim else format(self.item(), spec)

    # --------------------------------------------------------------------------------------
    # Autograd
    # --------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        if self._view is not None and self._view.live:
            refresh(self)
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad: got {value!r}, expected True or False")
        if not self.is_leaf:
            raise RuntimeError(
                "requires_grad: this tensor is the result of an op, only a leaf's flag can be set; "
                "use detach()"
            )
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad: cannot be deleted; set it to False")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start or stop tracking a leaf."""
        if not isinstance(requires_grad, bool):
            raise TypeError(f"requires_grad_: got {requires_grad!r}, expected True or False")
        if self._view is not None:
            refresh(self)
        if self._node is not None and not requires_grad:
            raise RuntimeError(
                "requires_grad_: this tensor is the result of an op, only a leaf's flag can be "
                "cleared; use detach()"
            )
        if requires_grad and self.array.dtype.kind not in "fVc":
            raise RuntimeError(
                f"requires_grad_: got dtype {self.dtype.name}, only floating point and complex "
                "tensors can require gradients"
            )
        if requires_grad and not self._tracked and is_inference(self):
            check_write("requires_grad_", self)
        self._tracked = requires_grad
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() has accumulated here, or None."""
        if self._grad is None and self._node is not None and not self.retains_grad:
            warn(
                "grad: The .grad attribute of a Tensor that is not a leaf Tensor is being "
                "accessed; backward() fills it only after retain_grad()"
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"grad: got {type(value).__name__}, expected a Tensor or None")
            if value is self:
                raise RuntimeError("grad: got the tensor itself, which cannot be its own gradient")
            if value.array.shape != self.array.shape or value.array.dtype != self.array.dtype:
                raise RuntimeError(
                    f"grad: got {value.array.dtype} of shape {tuple(value.shape)}, expected "
                    f"{self.array.dtype} of shape {tuple(self.shape)}, as the tensor itself"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_fn(self) -> Any:
        """The node of the op that made this tensor; None for a leaf."""
        if self._view is not None:
            refresh(self)
        return None if self._node is None else self._node.function_and_index()[0]

    @property
    def is_leaf(self) -> bool:
        """Whether gradients stop here: made by the user, or not tracked."""
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        return getattr(self._node, "index", 0)

    @property
    def _version(self) -> int:
        if is_inference(self):
            raise RuntimeError("_version: inference tensors do not track a version")
        return writes_of(self)[0]

    @property
    def _base(self) -> Tensor | None:
        return root_of(self) if self._is_view() else None

    def _is_view(self) -> bool:
        return self._view is not None and not is_inference(self)

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode`."""
        return is_inference(self)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add d(self)/d(leaf), weighted by `gradient`, to the `.grad` of every leaf."""
        if create_graph:
            warn(
                "backward: Using backward() with create_graph=True will create a reference cycle "
                "between a leaf and its gradient; use autograd.grad, or set .grad to None after"
            )
        engine.backward(self, gradient, retain_graph, create_graph, inputs)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in its `.grad` during backward."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: the tensor does not require grad")
        if self._node is not None and not self.retains_grad:
            retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        return self._node is not None and RETAIN in (self._node._hooks or ())

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(gradient) once this tensor's gradient is complete; it may return a new one."""
        if not self.requires_grad:
            raise RuntimeError(
                "register_hook: the tensor does not require grad, so no gradient will come"
            )
        return add_hook(self._node or self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(self) each time backward has added to this leaf's `.grad`."""
        name = "register_post_accumulate_grad_hook"
        if not self.requires_grad:
            raise RuntimeError(f"{name}: the tensor does not require grad")
        if self._node is not None:
            raise RuntimeError(f"{name}: got the result of an op, expected a leaf")
        return add_hook(self, AfterAccumulation(hook))

    def detach(self) -> Tensor:
        """A tensor with the same memory, outside the graph."""
        tensor = wrap(self.array.view())
        tensor._writes = writes_of(self)
        return tensor

    def detach_(self) -> Tensor:
        """Detach this tensor from the graph: it becomes an untracked leaf."""
        if self._view is not None:
            raise RuntimeError("detach_: a view cannot be detached in place; use detach()")
        if state.mode.dual is not None:
            state.mode.dual.drop(self)
        self._node, self._tracked = None, False
        return self

    @property
    def data(self) -> Tensor:
        """A tensor with the same memory, outside the graph; autograd ignores writes to it."""
        tensor = wrap(self.array.view())
        tensor._writes = [0, storage_of(self)]
        return tensor

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"data: got {type(value).__name__}, expected a Tensor")
        if self._tracked and value.array.dtype.kind not in "fVc":
            raise RuntimeError(
                f"data: got dtype {value.dtype.name} for a tensor that requires grad, expected "
                "floating point"
            )
        self.array = value.array.view()

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("data: cannot be deleted; assign another tensor to it")


outside.tensor = Tensor
