"""x[index] and x[index] = value.

Integers, slices, None and Ellipsis give a view (`Slice`); integer arrays and masks give a copy
(`Index`). An index with both takes the view first, then copies from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_given
from ..autograd.inplace import assign
from ..autograd.op import Op
from ..autograd.variable import Variable, own_copy, unwrap, wrap
from ..backend import Array, is_array, is_writable, xp
from ..dtype import fitting, real_dtype
from ..errors import ShapeError
from ..out import takes_out
from .accumulate import add_at_index
from .convert import converted
from .dims import normalize_dim
from .parse_index import along, dims_taken, take_apart

if TYPE_CHECKING:
    from ..tensor import Tensor


class Slice(Op):
    """y = x[index], a view, for integers, slices, None and Ellipsis;  dx = zeros, g at index"""

    view = True
    op_name = "getitem"

    def forward(self, x: Array, index: tuple) -> Array:
        self.shape, self.index = x.shape, index
        return x[index]

    def backward(self, g: Any) -> Any:
        return Unindex.apply(g, self.shape, self.index)


class Index(Op):
    """y = x[index], a copy, for masks and integer arrays;  dx = zeros, g added at index"""

    op_name = "getitem"

    def forward(self, x: Array, index: tuple) -> Array:
        self.shape = x.shape
        self.index = own_index(index) if self.needs(0) else index
        y = x[index]
        # x[:, [2, 0]] comes with its dimensions in another order in memory; view() wants them here
        return y if y.flags.c_contiguous else y.copy()

    def backward(self, g: Any) -> Any:
        return Unindex.apply(g, self.shape, self.index)


class Unindex(Op):
    """y = zeros of a given shape, y[index] += x;  dx = g[index]

    Indexing, transposed.
    """

    def forward(self, x: Array, shape: tuple, index: tuple) -> Array:
        self.index = index
        if any(is_array(entry) and entry.dtype != bool for entry in index):
            return add_at_index(shape, index, x)
        y = xp(x).zeros(shape, dtype=x.dtype)
        y[index] = x
        return y

    def backward(self, g: Any) -> Any:
        return read(g, self.index)


class IndexPut(Op):
    """y = x, but y[index] = value;  dx = g with zeros there, dvalue = g[index]"""

    def forward(self, x: Array, value: Any, index: tuple) -> Array:
        self.index = own_index(index) if self.needs(0) or self.needs(1) else index
        y = own_copy(x)
        y[index] = value
        return y

    def backward(self, g: Any) -> Any:
        dx = IndexPut.apply(g, 0, self.index) if self.needs(0) else None
        return dx, read(g, self.index) if self.needs(1) else None


def read(x: Any, index: tuple) -> Any:
    """x[index] for an index from `take_apart`, on tensors and raw arrays alike."""
    is_view = not any(is_array(entry) for entry in index)
    return (Slice if is_view else Index).apply(x, index)


# ------------------------------------------------------------------------------------------
# Reading and writing
# ------------------------------------------------------------------------------------------


def get_item(input: Tensor, index: Any) -> Tensor:
    """input[index]: a view for integers, slices, None and Ellipsis, a copy for all else."""
    basic, advanced = take_apart(input, index)
    if advanced is None:
        return Slice.apply(input, basic)
    if basic is not None:
        input = Slice.apply(input, basic)
    return Index.apply(input, advanced)


def set_item(input: Tensor, index: Any, value: Any) -> None:
    """input[index] = value. value: a number, or a tensor or array that broadcasts to the place."""
    write_item("setitem", input, index, value)


def write_item(name: str, input: Any, index: Any, value: Any) -> None:
    """input[index] = value, for the op of that name."""
    basic, advanced = take_apart(input, index)
    if advanced is None:
        place: Any = basic
        if not is_writable(unwrap(input)):  # expanded, but perhaps not in the part to write to
            input, place = Slice.apply(input, basic), (Ellipsis,)
    else:
        if basic is not None:
            input = Slice.apply(input, basic)
        place = own_index(advanced)
        if isinstance(value, Variable) and value.array.dtype != unwrap(input).dtype:
            _check_written_dtype(name, unwrap(input), value.array, index, advanced)
    _write(name, input, place, value)


def _check_written_dtype(
    name: str, target: Array, value: Array, index: Any, advanced: tuple
) -> None:
    """As in PyTorch, only a single element is cast, and only where a mask takes it."""
    masked = any(is_array(entry) and entry.dtype == bool for entry in advanced)
    entries = index if type(index) is tuple else (index,)
    masked = masked or any(isinstance(entry, (bool, np.bool_)) for entry in entries)
    if value.size != 1 or not masked:
        raise RuntimeError(
            f"{name}: the value has dtype {value.dtype}, expected {target.dtype}, as the tensor; "
            "convert it with .to(dtype)"
        )


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """self ← src, broadcast, cast to self's dtype and brought to its device."""
    if isinstance(src, np.generic):
        src = src.item()
    if not isinstance(src, (Variable, bool, int, float)):
        raise TypeError(f"copy_: got {type(src).__name__}, expected a tensor")
    if getattr(src, "ndim", 0) > self.ndim:
        raise ShapeError(
            f"copy_: src has shape {tuple(src.shape)}, which does not broadcast to "
            f"{tuple(self.shape)}"
        )
    return _write("copy_", self, (Ellipsis,), src)


def fill_(self: Tensor, value: Any) -> Tensor:
    """self ← value everywhere: a number or a 0-d tensor."""
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"fill_: value has shape {tuple(value.shape)}, expected a number or a 0-d tensor"
        )
    return _write("fill_", self, (Ellipsis,), value)


def zero_(self: Tensor) -> Tensor:
    """self ← 0 everywhere."""
    return assign(self, (Ellipsis,), 0, "zero_")


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of input whose slice at `index` of dimension `dim` is src."""
    check_given("select_scatter", src=src)
    dim = normalize_dim("select_scatter", dim, array_of("select_scatter", input).ndim)
    basic, _ = take_apart(input, along(dim, index))
    return _put("select_scatter", input, src, basic)


@takes_out("cast")
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """A copy of input whose slices start:end:step of dimension `dim` are src."""
    check_given("slice_scatter", src=src)
    dim = normalize_dim("slice_scatter", dim, array_of("slice_scatter", input).ndim)
    basic, _ = take_apart(input, along(dim, slice(start, end, step)))
    return _put("slice_scatter", input, src, basic)


def _put(name: str, input: Any, src: Any, index: Any) -> Any:
    expected = unwrap(input)[index].shape
    if tuple(src.shape) != expected:
        raise ShapeError(f"{name}: src has shape {tuple(src.shape)}, expected {expected}")
    return IndexPut.apply(input, src, index)


def own_index(index: tuple) -> tuple:
    """The index with copies of its arrays, which the caller may write to later."""
    return tuple(entry.copy() if is_array(entry) else entry for entry in index)


def _write(name: str, target: Any, index: tuple, value: Any) -> Any:
    """target[index] ← value, with an error that names both shapes if they do not fit."""
    try:
        return assign(target, index, _as_value(name, value, target, index), name)
    except ShapeError:
        raise ShapeError(
            f"{name}: value has shape {tuple(value.shape)}, which does not broadcast to "
            f"{index_shape(target.array, index)}, the shape of the place to write to"
        ) from None


def _as_value(name: str, value: Any, target: Any, index: tuple) -> Any:
    """A value to be written to target[index]: a number, or a tensor or array on its device.

    Leading dimensions of size 1 that the place does not have are dropped.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)):
        return fitting(name, value, target.array.dtype)
    if not is_array(unwrap(value)):
        raise TypeError(
            f"{name}: got a value of type {type(value).__name__}, expected a number or a tensor"
        )
    array = unwrap(value)
    if array.dtype.kind == "c" and target.array.dtype.kind not in "cb":
        value = converted(value, real_dtype(array.dtype))
    if xp(array) is not xp(target.array):
        value = wrap(value) if is_array(value) else value
        value = value.to(target.device)
    extra = array.ndim and array.ndim - _result_ndim(target.array, index)
    if extra > 0 and all(n == 1 for n in array.shape[:extra]):
        value = value.reshape(array.shape[extra:])
    return value


def _result_ndim(array: Array, index: tuple) -> int:
    """The number of dimensions of array[index]."""
    arrays = [entry for entry in index if is_array(entry)]
    if not arrays:
        return array[index].ndim
    rank = max(1 if entry.dtype == bool else entry.ndim for entry in arrays)
    return array.ndim - sum(map(dims_taken, arrays)) + rank


def index_shape(array: Array, index: tuple) -> tuple:
    """The shape of array[index]."""
    library = xp(array)
    return library.broadcast_to(library.zeros((), dtype=bool), array.shape)[index].shape


__all__ = ["select_scatter", "slice_scatter"]
