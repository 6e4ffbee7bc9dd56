"""New tensors filled with one value, and the identity matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.anomaly import out_of_memory
from ..autograd.arguments import require_tensor
from ..autograd.strided import copy_in_order, memory_order
from ..autograd.variable import Variable, wrap
from ..backend import is_writable
from ..devices import module_for
from ..dtype import default_float, fitting, to_numpy_dtype
from ..out import takes_out
from .from_data import infer_dtype
from .memory_errors import named_if_out_of_memory, too_large
from .size_arguments import shape_of, size_from

if TYPE_CHECKING:
    from ..tensor import Tensor


def _make(name: str, size: tuple, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """zeros, ones or empty: `name` is both our function and NumPy's."""
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    try:
        array = getattr(module_for(device), name)(shape_of(name, size), dtype=numpy_dtype)
    except MemoryError as error:
        raise out_of_memory(name, error) from None
    except ValueError as error:
        raise too_large(name, error) from None
    return wrap(array).requires_grad_(requires_grad)


@takes_out("dtype of out")
def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          **others: Any) -> Tensor:  # fmt: skip
    """Zeros of a shape: zeros(2, 3) or zeros((2, 3))."""
    return _make("zeros", size_from("zeros", size, others), dtype, device, requires_grad)


@takes_out("dtype of out")
def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
         **others: Any) -> Tensor:  # fmt: skip
    """Ones of a shape."""
    return _make("ones", size_from("ones", size, others), dtype, device, requires_grad)


@takes_out("dtype of out")
def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
          **others: Any) -> Tensor:  # fmt: skip
    """An uninitialised tensor of a shape."""
    return _make("empty", size_from("empty", size, others), dtype, device, requires_grad)


def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None,
                  requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """An uninitialised tensor with these strides, in elements."""
    shape, strides = shape_of("empty_strided", (size,)), shape_of("empty_strided", (stride,))
    if len(shape) != len(strides):
        raise RuntimeError(
            f"empty_strided: got {len(shape)} sizes and {len(strides)} strides, expected as many"
        )
    last = sum((n - 1) * step for n, step in zip(shape, strides)) if 0 not in shape else -1
    flat = empty((last + 1,), dtype=dtype, device=device, **others).array
    library = module_for(device)
    steps = tuple(step * flat.itemsize for step in strides)
    array = library.lib.stride_tricks.as_strided(flat, shape, steps)
    return wrap(array).requires_grad_(requires_grad)


def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, device: Any = None,
                   requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """An uninitialised tensor whose dimensions lie in memory in the order `physical_layout`."""
    shape, order = shape_of("empty_permuted", (size,)), shape_of("empty_permuted",
                                                                 (physical_layout,))  # fmt: skip
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            f"empty_permuted: got layout {order} for {len(shape)} dimensions, expected each once"
        )
    flat = empty(tuple(shape[i] for i in order), dtype=dtype, device=device, **others).array
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return wrap(flat.transpose(back)).requires_grad_(requires_grad)


@takes_out("dtype of out")
@named_if_out_of_memory("full")
def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """A tensor of a shape filled with one value; dtype defaults to the value's."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full: got size {size}, expected a tuple")
    if isinstance(fill_value, (Variable, np.generic)):
        fill_value = fill_value.item()
    if not isinstance(fill_value, (bool, int, float, complex)):
        raise TypeError(f"full: got a value of type {type(fill_value).__name__}, expected a number")
    shape = shape_of("full", size_from("full", (size,), others))
    numpy_dtype = infer_dtype(fill_value) if dtype is None else to_numpy_dtype(dtype)
    value = fitting("full", fill_value, numpy_dtype)
    array = module_for(device).full(shape, value, dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None,
                  requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """A 0-d tensor, of the default dtype unless one is given."""
    dtype = default_float() if dtype is None else dtype
    return full((), s, dtype=dtype, device=device, requires_grad=requires_grad, **others)


def _options_like(name: str, input: Tensor, dtype: Any, device: Any) -> dict:
    require_tensor(name, input)
    return {
        "dtype": input.dtype if dtype is None else dtype,
        "device": input.device if device is None else device,
    }


def _laid_out_as(input: Tensor, made: Tensor) -> Tensor:
    """`made` in the memory order of input, unless elements of input share memory."""
    if not input.array.flags.c_contiguous and is_writable(input.array):
        made.array = copy_in_order(made.array, memory_order(input.array))
    return made


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Zeros in the shape, dtype and device of input."""
    others.update(_options_like("zeros_like", input, dtype, device))
    return _laid_out_as(input, zeros(input.shape, requires_grad=requires_grad, **others))


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Ones in the shape, dtype and device of input."""
    others.update(_options_like("ones_like", input, dtype, device))
    return _laid_out_as(input, ones(input.shape, requires_grad=requires_grad, **others))


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """An uninitialised tensor in the shape, dtype and device of input."""
    others.update(_options_like("empty_like", input, dtype, device))
    return _laid_out_as(input, empty(input.shape, requires_grad=requires_grad, **others))


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """One value in the shape, dtype and device of input."""
    others.update(_options_like("full_like", input, dtype, device))
    return _laid_out_as(input, full(input.shape, fill_value, requires_grad=requires_grad, **others))


@takes_out("dtype of out")
@named_if_out_of_memory("eye")
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
        requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Ones on the diagonal of an n × m matrix, zeros elsewhere."""
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    rows, columns = shape_of("eye", size_from("eye", (n, n if m is None else m), others))
    array = module_for(device).eye(rows, columns, dtype=numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


# fmt: off
__all__ = [
    "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "full", "full_like", "ones",
    "ones_like", "scalar_tensor", "zeros", "zeros_like",
]
# fmt: on
