"""x[index] and x[index] = value.

An index is taken apart as PyTorch does: integers, slices, None and Ellipsis first, which give a
view; then integer arrays and masks on that view, which give a copy. (NumPy counts an integer among
the arrays, so that x[0, :, [1, 2]] has another layout there.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.inplace import assign
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap
from ..backend import Array, device_of, is_array, xp
from ..errors import DeviceError, ShapeError
from .accumulate import add_at_index
from .dims import normalize_dim

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["select_scatter", "slice_scatter"]

_BASIC = (int, slice, type(None), type(Ellipsis))
_ALL = slice(None)


class Slice(Op):
    """y = x[index], a view, for integers, slices, None and Ellipsis;  dx = zeros, g at index"""

    view = True
    name_ = "getitem"

    def forward(self, x: Array, index: tuple) -> Array:
        self.shape, self.index = x.shape, index
        return x[index]

    def backward(self, g: Any) -> Any:
        return Unindex.apply(g, self.shape, self.index)


class Index(Op):
    """y = x[index], a copy, for masks and integer arrays;  dx = zeros, g added at index"""

    name_ = "getitem"

    def forward(self, x: Array, index: tuple) -> Array:
        self.shape = x.shape
        self.index = own_index(index) if self._tracked else index
        return x[index]

    def backward(self, g: Any) -> Any:
        return Unindex.apply(g, self.shape, self.index)


class Unindex(Op):
    """y = zeros of a given shape, y[index] += x;  dx = g[index]. Indexing, transposed."""

    def forward(self, x: Array, shape: tuple, index: tuple) -> Array:
        self.index = index
        if any(is_array(entry) and entry.dtype != bool for entry in index):
            return add_at_index(shape, index, x)
        y = xp(x).zeros(shape, dtype=x.dtype)
        y[index] = x
        return y

    def backward(self, g: Any) -> Any:
        return pick(g, self.index)


class IndexPut(Op):
    """y = x, but y[index] = value;  dx = g with zeros there, dvalue = g[index]"""

    def forward(self, x: Array, value: Any, index: tuple) -> Array:
        self.index = own_index(index) if self._tracked else index
        y = x.copy()
        y[index] = value
        return y

    def backward(self, g: Any) -> Any:
        gx = IndexPut.apply(g, 0, self.index) if self.needs(0) else None
        return gx, pick(g, self.index) if self.needs(1) else None


def pick(x: Any, index: tuple) -> Any:
    """x[index] for an index that `take_apart` gave, on tensors and raw arrays alike."""
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
    basic, advanced = take_apart(input, index)
    if advanced is None:
        place: Any = basic
    else:
        if basic is not None:
            input = Slice.apply(input, basic)
        place = own_index(advanced)
    assign(input, place, _as_value("setitem", value, input, place), "setitem")


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """self ← src, broadcast, cast to self's dtype and brought to its device."""
    if isinstance(src, np.generic):
        src = src.item()
    if not isinstance(src, (Variable, bool, int, float)):
        raise TypeError(f"copy_: got {type(src).__name__}, expected a tensor")
    return assign(self, (Ellipsis,), _as_value("copy_", src, self, (Ellipsis,)), "copy_")


def fill_(self: Tensor, value: Any) -> Tensor:
    """self ← value everywhere: a number or a 0-d tensor."""
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"fill_: value has shape {tuple(value.shape)}, expected a number or a 0-d tensor"
        )
    return assign(self, (Ellipsis,), _as_value("fill_", value, self, (Ellipsis,)), "fill_")


def zero_(self: Tensor) -> Tensor:
    """self ← 0 everywhere."""
    return assign(self, (Ellipsis,), 0, "zero_")


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of input whose slice at `index` of dimension `dim` is src."""
    dim = normalize_dim("select_scatter", dim, input.ndim)
    basic, _ = take_apart(input, (*(_ALL,) * dim, index))
    return _put("select_scatter", input, src, basic)


def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """A copy of input whose slices start:end:step of dimension `dim` are src."""
    dim = normalize_dim("slice_scatter", dim, input.ndim)
    basic, _ = take_apart(input, (*(_ALL,) * dim, slice(start, end, step)))
    return _put("slice_scatter", input, src, basic)


def _put(name: str, input: Any, src: Any, index: Any) -> Any:
    expected = unwrap(input)[index].shape
    if tuple(src.shape) != expected:
        raise ShapeError(f"{name}: src has shape {tuple(src.shape)}, expected {expected}")
    return IndexPut.apply(input, src, index)


def own_index(index: tuple) -> tuple:
    """The index with copies of its arrays, which the caller may write to later."""
    return tuple(entry.copy() if is_array(entry) else entry for entry in index)


def _as_value(name: str, value: Any, target: Any, index: tuple) -> Any:
    """A value to be written to target[index]: a number, or a tensor or array on its device.

    Leading dimensions of size 1 that the place does not have are dropped.
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, Variable) and not is_array(value):
        raise TypeError(
            f"{name}: got a value of type {type(value).__name__}, expected a number or a tensor"
        )
    array = unwrap(value)
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
    return array.ndim - sum(map(_dims_taken, arrays)) + rank


def index_shape(array: Array, index: tuple) -> tuple:
    """The shape of array[index]."""
    library = xp(array)
    return library.broadcast_to(library.zeros((), dtype=bool), array.shape)[index].shape


# ------------------------------------------------------------------------------------------
# Taking an index apart
# ------------------------------------------------------------------------------------------


def take_apart(input: Any, index: Any) -> tuple[tuple | None, tuple | None]:
    """(basic, advanced): x[index] is x[basic][advanced]; None for a part that does nothing.

    basic holds integers, slices, None and one Ellipsis; advanced holds full slices and arrays
    of integers, or one mask.
    """
    array = unwrap(input)
    entries = index if type(index) is tuple else (index,)
    if type(index) is list and _is_tuple_in_disguise(index):
        entries = tuple(index)
    entries = tuple(e if type(e) in _BASIC else _entry(e, array) for e in entries)

    taken = sum(_dims_taken(entry) for entry in entries)
    if taken > array.ndim:
        raise IndexError(
            f"getitem: too many indices, {taken} for a tensor of {array.ndim} dimensions"
            + ("; use item() to get its number" if array.ndim == 0 else "")
        )
    basic: list[Any] = []
    arrays: list[Any] = []  # one entry for each dimension of x[basic], up to the last array
    dim = 0
    for entry in entries:
        if entry is None:
            basic.append(None)
            arrays.append(_ALL)
        elif entry is Ellipsis:
            skipped, taken = array.ndim - taken, array.ndim  # a second Ellipsis stands for nothing
            basic += [_ALL] * skipped
            arrays += [_ALL] * skipped
            dim += skipped
        elif type(entry) is int:
            size = array.shape[dim]
            if not -size <= entry < size:
                raise IndexError(
                    f"getitem: index {entry} is out of range for dimension {dim} of size {size}"
                )
            basic.append(entry)
            dim += 1
        elif type(entry) is slice:
            _check_slice(entry)
            basic.append(entry)
            arrays.append(_ALL)
            dim += 1
        elif type(entry) is bool:  # a new dimension, of which True takes the one element
            basic.append(None)
            arrays.append(xp(array).zeros(int(entry), dtype=np.int64))
        else:
            size = array.shape[dim : dim + entry.ndim]
            if entry.dtype == bool and entry.shape != size:
                raise IndexError(
                    f"getitem: the mask has shape {entry.shape}, expected {size}, the tensor's "
                    f"shape {array.shape} from dimension {dim} on"
                )
            skipped = _dims_taken(entry)
            basic += [_ALL] * skipped
            arrays.append(entry)
            dim += skipped
    if not any(is_array(entry) for entry in arrays):
        return (*basic, Ellipsis), None
    advanced = tuple(arrays)
    if sum(is_array(entry) for entry in arrays) > 1:
        advanced = _masks_as_integers(advanced)
    only_arrays = all(type(entry) is slice and entry == _ALL for entry in basic)
    return None if only_arrays else (*basic, Ellipsis), advanced


def _is_tuple_in_disguise(index: list) -> bool:
    """x[[slice(2), None]] means x[:2, None], in PyTorch as in old NumPy."""
    kinds = (Variable, np.ndarray, list, tuple, range, slice, type(None), type(Ellipsis))
    return any(isinstance(entry, kinds) for entry in index)


def _entry(entry: Any, target: Array) -> Any:
    """An entry that is not an int, slice, None or Ellipsis as an int, a bool or a raw array."""
    if type(entry) is bool or isinstance(entry, np.bool_):
        return bool(entry)
    if isinstance(entry, np.integer):
        return int(entry)
    array = unwrap(entry)
    if isinstance(array, (list, tuple, range)):
        array = np.asarray([unwrap(e) for e in array])
    if not is_array(array):
        raise IndexError(
            f"getitem: got an index of type {type(entry).__name__}, expected integers, slices, "
            "None, Ellipsis, or tensors, arrays and lists of integers or booleans"
        )
    if array.dtype == np.uint8:  # PyTorch's masks from before it had bool
        array = array.astype(bool)
    if not array.size and not isinstance(entry, Variable):
        array = array.astype(np.int64) if array.dtype.kind == "f" else array
    if array.dtype.kind not in "iub":
        raise IndexError(
            f"getitem: got an index of dtype {array.dtype}, expected integers or booleans"
        )
    if not array.ndim:
        return array.item()
    library = xp(target)
    if xp(array) is not library:
        if xp(array) is not np:
            raise DeviceError(
                f"getitem: the index is on {device_of(array)}, the tensor on {device_of(target)}; "
                "move the index with .to(device)"
            )
        array = library.asarray(array)
    return array


def _dims_taken(entry: Any) -> int:
    """How many dimensions of x an entry of an index stands for."""
    if entry is None or entry is Ellipsis or type(entry) is bool:
        return 0
    return entry.ndim if is_array(entry) and entry.dtype == bool else 1


def _check_slice(entry: slice) -> None:
    step = entry.step
    if step is not None and step <= 0:
        raise ValueError(
            f"getitem: got a slice with step {step}, expected a step greater than zero; "
            "use flip() to reverse"
        )


def _masks_as_integers(index: tuple) -> tuple:
    """Each mask of k dimensions replaced by the k integer arrays of where it is True."""
    result: list[Any] = []
    for entry in index:
        is_mask = is_array(entry) and entry.dtype == bool
        result += entry.nonzero() if is_mask else [entry]
    return tuple(result)
