"""Tensor: an array with a gradient.

What is here: making one, what it knows of itself, its part in autograd, and its way to Python,
NumPy and other devices. Its operators and the methods that compute are in `methods.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import backend
from .autograd import engine
from .autograd.hooks import AfterAccumulation, RemovableHandle, add_hook, retain_grad
from .autograd.variable import RETAIN, refresh, registry, unwrap, wrap, writes_of
from .backend import device, device_of, xp
from .dtype import DType, from_numpy_dtype
from .errors import GradientError
from .methods import Methods
from .repr import tensor_html, tensor_repr
from .size import Size


class Tensor(Methods):
    """An array that records what is done with it, for backpropagation.

    Made by `tinytensor.tensor(data)` and its kin. `Tensor(data)` is float32 like PyTorch's.
    """

    __slots__ = ()
    __array_priority__ = 1000  # ndarray + Tensor asks Tensor first

    def __new__(cls, *data: Any) -> Tensor:
        sizes = all(isinstance(n, (int, np.integer)) for n in data) and data
        if sizes:
            array = np.zeros(data, dtype=np.float32)
        else:
            source = unwrap(data[0]) if data else ()
            array = xp(source).array(source, dtype=np.float32)
        return wrap(array)

    # --------------------------------------------------------------------------------------
    # What it is
    # --------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size(self.array.shape)

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
        """How many elements apart neighbours along each dimension lie in memory."""
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if dim is None else strides[dim]

    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in row-major order without gaps."""
        return self.array.flags.c_contiguous

    def data_ptr(self) -> int:
        """The address of the first element."""
        if isinstance(self.array, np.ndarray):
            return self.array.__array_interface__["data"][0]
        return self.array.data.ptr

    def is_floating_point(self) -> bool:
        return self.array.dtype.kind == "f"

    def is_complex(self) -> bool:
        return False

    def __len__(self) -> int:
        if not self.array.ndim:
            raise TypeError("len: got a 0-d tensor, which has no length")
        return self.array.shape[0]

    __hash__ = object.__hash__  # by identity, as ops are: leaves and ops are keys of one dict

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return tensor_repr(self)

    def _repr_html_(self) -> str:
        return tensor_html(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and not self.array.ndim else repr(self)

    # --------------------------------------------------------------------------------------
    # Autograd
    # --------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        if self._view is not None:
            refresh(self)
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start or stop tracking a leaf."""
        if self._node is not None and not requires_grad:
            raise RuntimeError(
                "requires_grad_: this tensor is the result of an op, only a leaf's flag can be "
                "cleared; use detach()"
            )
        if requires_grad and self.array.dtype.kind != "f":
            raise RuntimeError(
                f"requires_grad_: got dtype {self.dtype.name}, only floating point tensors can "
                "require gradients"
            )
        self._tracked = bool(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() has accumulated here, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"grad: got {type(value).__name__}, expected a Tensor or None")
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
        return writes_of(self)[0]

    @property
    def _base(self) -> Tensor | None:
        return self._view.base if self._view is not None else None  # type: ignore[return-value]

    def is_inference(self) -> bool:
        return False

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add d(self)/d(leaf), weighted by `gradient`, to the `.grad` of every leaf."""
        engine.backward(self, gradient, retain_graph, create_graph, inputs)

    def retain_grad(self) -> None:
        """Keep this non-leaf's gradient in `.grad` when backward comes by."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: the tensor does not require grad")
        if self._node is not None and not self.retains_grad:
            retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        return self._node is not None and RETAIN in (self._node._hooks or ())

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(gradient) when this tensor's gradient is complete; it may return another."""
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
        """The same memory, outside the graph."""
        tensor = wrap(self.array.view())
        tensor._writes = writes_of(self)
        return tensor

    def detach_(self) -> Tensor:
        """Cut this tensor off the graph: it becomes a leaf that is not tracked."""
        if self._view is not None:
            raise RuntimeError("detach_: a view cannot be detached in place; use detach()")
        self._node, self._tracked = None, False
        return self

    @property
    def data(self) -> Tensor:
        """The same memory, outside the graph, and with writes that autograd does not see."""
        return wrap(self.array.view())

    @data.setter
    def data(self, value: Tensor) -> None:
        self.array = value.array.view()

    # --------------------------------------------------------------------------------------
    # To Python, NumPy and other devices
    # --------------------------------------------------------------------------------------

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.array.size != 1:
            raise RuntimeError(
                f"item: got a tensor of shape {tuple(self.shape)}, expected exactly one element"
            )
        return self.array.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for a 0-d tensor."""
        return self.array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The NumPy array, sharing memory. force=True: detached and brought to the CPU first."""
        if not force:
            if self.requires_grad:
                raise RuntimeError("numpy: the tensor requires grad; use tensor.detach().numpy()")
            if self.is_cuda:
                raise TypeError("numpy: the tensor is on cuda; use tensor.cpu().numpy()")
        return backend.to_device(self.array, "cpu")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if copy:
            return np.array(array, dtype=dtype)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """np.exp(tensor) gives a tensor, as with PyTorch."""
        return wrap(np.asarray(array))

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
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("index: only integer tensors of one element can be used as an index")
        return int(self.array.item())

    def __iter__(self) -> Iterator[Tensor]:
        if not self.array.ndim:
            raise TypeError("iter: got a 0-d tensor, which cannot be iterated over")
        return iter(self.unbind(0))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any().item())

    def __deepcopy__(self, memo: dict) -> Tensor:
        if self._node is not None:
            raise RuntimeError(
                "deepcopy: only leaves can be copied; use detach().clone() for the result of an op"
            )
        copy = object.__new__(type(self))
        memo[id(self)] = copy
        fill(copy, self.array.copy(), self._tracked)
        if self._grad is not None:
            copy._grad = wrap(self._grad.array.copy())
        copy.__dict__.update(self.__dict__)
        return copy

    def __reduce__(self) -> tuple:
        if self._node is not None:
            raise GradientError("pickle: only leaves can be pickled; use detach()")
        return _rebuild, (type(self), backend.to_device(self.array, "cpu"), self._tracked)


def fill(tensor: Any, array: Any, requires_grad: bool = False) -> Any:
    """Set the fields of a bare instance of Tensor or of a subclass."""
    source = wrap(array)
    for name in ("array", "_grad", "_node", "_writes", "_view", "_hooks"):
        setattr(tensor, name, getattr(source, name))
    tensor._tracked = requires_grad
    return tensor


def _rebuild(cls: type, array: Any, requires_grad: bool) -> Any:
    return fill(object.__new__(cls), array, requires_grad)


registry.tensor = Tensor
