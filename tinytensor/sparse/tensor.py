"""SparseTensor: what COO and CSR tensors have in common."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from ..memory_format import MemoryFormat
from ..repr import tensor_repr
from ..size import Size
from ..tensor import Tensor


class SparseTensor:
    """Base class: values at some positions, zeros at all others.

    A subclass defines `with_values`, `to_dense`, `to_sparse`, `to_sparse_csr`, `coalesce`, `t` and
    `parts`.
    """

    layout: MemoryFormat
    is_sparse = is_sparse_csr = False
    is_quantized = is_nested = is_meta = False
    __array_priority__ = 1001  # ndarray * sparse asks SparseTensor first

    def __init__(self, values: Tensor, shape: tuple):
        # Detached unless gradients flow to it: requires_grad_ must not change the user's tensor.
        self._data = values if values.requires_grad else values.detach()
        self._size = Size(shape)

    # --------------------------------------------------------------------------------------
    # What it is
    # --------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return self._size

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dimension."""
        return self._size if dim is None else self._size[dim]

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._size)

    ndimension = dim

    @property
    def ndim(self) -> int:
        return len(self._size)

    def numel(self) -> int:
        """The number of elements, with the zeros."""
        return self._size.numel()

    def _nnz(self) -> int:
        """The number of elements that are stored."""
        return self._data.shape[0]

    dtype = property(lambda self: self._data.dtype)
    device = property(lambda self: self._data.device)
    is_cuda = property(lambda self: self._data.is_cuda)
    is_cpu = property(lambda self: self._data.is_cpu)

    def is_floating_point(self) -> bool:
        return self._data.is_floating_point()

    def __len__(self) -> int:
        return self._size[0]

    def parts(self) -> dict[str, Tensor]:
        """The tensors that it consists of, by name, as they are printed."""
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = []
        for name, part in self.parts().items():
            text, comma, _ = tensor_repr(part.detach()).partition(", dtype=")
            text += ")" if comma else ""
            lines.append(f"{name}={text}".replace("\n", "\n" + " " * (len(name) + 8)))
        facts = [f"size={tuple(self._size)}", f"nnz={self._nnz()}"]
        if self.is_cuda:
            facts.insert(0, f"device='{self.device}'")
        if "dtype=" in tensor_repr(self._data.detach()):
            facts.append(f"dtype={self.dtype}")
        facts.append(f"layout={self.layout}")
        if self.grad_fn is not None:
            facts.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            facts.append("requires_grad=True")
        return "tensor(" + ",\n       ".join([*lines, ", ".join(facts)]) + ")"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(Tensor, name):
            raise AttributeError(
                f"{name}: got a sparse tensor, expected a dense one; use to_dense().{name}"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --------------------------------------------------------------------------------------
    # Autograd: that of the values
    # --------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._data.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._data.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Start or stop tracking the values of a leaf."""
        self._data.requires_grad_(requires_grad)
        return self

    grad_fn = property(lambda self: self._data.grad_fn)
    is_leaf = property(lambda self: self._data.is_leaf)

    @property
    def grad(self) -> Any:
        """The gradient of a leaf, at the positions of its elements; None before backward()."""
        return None if self._data.grad is None else self.with_values(self._data.grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._data.grad = None if value is None else value._data

    # --------------------------------------------------------------------------------------
    # The same positions, other values
    # --------------------------------------------------------------------------------------

    def with_values(self, values: Tensor) -> Any:
        """A sparse tensor with the same positions."""
        raise NotImplementedError

    def positions_for(self, values: Tensor, positions: Tensor) -> Tensor:
        """Positions to go with `values`: a copy, unless the values are this tensor's own."""
        same = values.data_ptr() == self._data.data_ptr()
        return positions if same else positions.to(values.device, copy=True)

    def coalesce(self) -> Any:
        """Each position once, in order."""
        return self

    def map(self, function: Callable[[Tensor], Tensor]) -> Any:
        """Apply a function that maps 0 to 0 to every element."""
        whole = self.coalesce()
        return whole.with_values(function(whole._data))

    def detach(self) -> Any:
        return self.with_values(self._data.detach())

    def clone(self) -> Any:
        return self.with_values(self._data.clone())

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """In another dtype or on another device."""
        return self.with_values(self._data.to(*args, **kwargs))

    def type(self, dtype: Any = None) -> Any:
        return self.with_values(self._data.type(dtype))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        return self.to("cuda" if device is None else device)

    def cpu(self) -> Any:
        return self.to("cpu")

    def float(self) -> Any:
        return self.with_values(self._data.float())

    def double(self) -> Any:
        return self.with_values(self._data.double())

    def half(self) -> Any:
        return self.with_values(self._data.half())

    def bfloat16(self) -> Any:
        return self.with_values(self._data.bfloat16())

    def long(self) -> Any:
        return self.with_values(self._data.long())

    def int(self) -> Any:
        return self.with_values(self._data.int())

    def neg(self) -> Any:
        return self.with_values(-self._data)

    __neg__ = neg

    def abs(self) -> Any:
        return self.map(lambda x: x.abs())

    __abs__ = abs

    def sqrt(self) -> Any:
        return self.map(lambda x: x.sqrt())

    def relu(self) -> Any:
        return self.map(lambda x: x.relu())

    def pow(self, exponent: Any) -> Any:
        """Elementwise power, for an exponent above 0: 0 stays 0."""
        if not isinstance(exponent, (int, float)) or not exponent > 0:
            raise RuntimeError(f"pow: got a sparse tensor and {exponent!r}, expected a number > 0")
        return self.map(lambda x: x**exponent)

    __pow__ = pow

    def mul(self, other: Any) -> Any:
        """Times a number, or a dense or sparse tensor of the same shape; the result is sparse."""
        if isinstance(other, numbers.Real) or (isinstance(other, Tensor) and not other.ndim):
            return self.with_values(self._data * other)
        return self.elementwise_product(other)

    __mul__ = __rmul__ = mul

    def elementwise_product(self, other: Any) -> Any:
        """Times a tensor of the same shape."""
        raise TypeError(
            f"mul: got a {type(other).__name__} and a {self.layout} tensor, expected a number"
        )

    def div(self, other: Any) -> Any:
        """Divided by a number."""
        if isinstance(other, numbers.Real) or (isinstance(other, Tensor) and not other.ndim):
            return self.with_values(self._data / other)
        raise RuntimeError(
            f"div: got a sparse tensor and a {type(other).__name__}, expected a number"
        )

    __truediv__ = div

    # --------------------------------------------------------------------------------------
    # Conversions
    # --------------------------------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError("numpy: got a sparse tensor, expected a dense one; use to_dense().numpy()")

    def item(self) -> Any:
        return self.to_dense().item()

    def to_dense(self) -> Tensor:
        """The dense tensor, with zeros where no element is stored."""
        raise NotImplementedError


__all__ = ["SparseTensor"]
