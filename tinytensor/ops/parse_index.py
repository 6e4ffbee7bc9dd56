"""Parse an index as PyTorch does: take it apart, check it, convert it to raw arrays.

Integers, slices, None and Ellipsis come first and give a view; then integer arrays and masks on
that view, which give a copy. (NumPy counts an integer among the arrays, so that x[0, :, [1, 2]] has
another layout there.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.site import warn
from ..autograd.variable import Variable, unwrap
from ..backend import Array, is_array, xp
from ..devices import device_of
from ..errors import DeviceError

BASIC = frozenset((int, slice, type(None), type(Ellipsis)))
ALL = slice(None)
INT64 = np.dtype(np.int64)


def along(dim: int, entry: Any) -> tuple:
    """The index that means `entry` in dimension `dim`: x[:, :, entry, ...]."""
    return (*(ALL,) * dim, entry, ...)  # … makes a view of a single element too


def slices_at(dim: int, index: Any) -> tuple:
    """The index of the slices along `dim` at the places in an integer array: x[:, :, index]."""
    return (*(ALL,) * dim, unwrap(index))


def outside(array: Array, low: int, high: int) -> int | None:
    """An element of an integer array that is not in low … high − 1; None if there is none."""
    if not array.size:
        return None
    if 0 in array.strides:  # expanded: each number once
        array = array[tuple(slice(1 if step == 0 else None) for step in array.strides)]
    if low == 0 and array.dtype is INT64 and array.view(np.uint64).max() < high:
        return None  # the usual case with one search: as uint64, a negative number is a large one
    smallest, largest = int(array.min()), int(array.max())
    if smallest < low:
        return smallest
    return largest if largest >= high else None


def take_apart(input: Any, index: Any) -> tuple[tuple | None, tuple | None]:
    """(basic, advanced), so that x[index] is x[basic][advanced]; None for a part without effect.

    basic holds integers, slices, None and one Ellipsis; advanced holds full slices and arrays
    of integers, or one mask.
    """
    array = unwrap(input)
    entries = index if type(index) is tuple else (index,)
    if type(index) is list and _is_tuple_in_disguise(index):
        entries = tuple(index)
    if array.ndim and BASIC.issuperset(map(type, entries)) and entries.count(Ellipsis) <= 1:
        for entry in entries:
            if type(entry) is slice and entry.step is not None:
                _check_slice(entry)
        # With an Ellipsis NumPy gives a view even of a single element. It checks the integers.
        return entries if Ellipsis in entries else (*entries, Ellipsis), None

    entries = tuple(e if type(e) in BASIC else _entry(e, array) for e in entries)
    taken = sum(dims_taken(entry) for entry in entries)
    if taken > array.ndim:
        raise IndexError(
            f"getitem: too many indices, {taken} for a tensor of {array.ndim} dimensions"
            + ("; use item() to get its number" if array.ndim == 0 else "")
        )
    basic, arrays = _two_steps(entries, array, taken)
    if not any(is_array(entry) for entry in arrays):
        return (*basic, Ellipsis), None
    advanced = tuple(arrays)
    if sum(is_array(entry) for entry in arrays) > 1:
        advanced = _masks_as_integers(advanced)
    only_arrays = all(type(entry) is slice and entry == ALL for entry in basic)
    return None if only_arrays else (*basic, Ellipsis), advanced


def _two_steps(entries: tuple, array: Array, taken: int) -> tuple[list[Any], list[Any]]:
    """(basic, arrays): one entry of arrays for each dimension of x[basic], up to the last array.

    taken: the number of dimensions of x that the entries speak of; an Ellipsis is the others.
    """
    basic: list[Any] = []
    arrays: list[Any] = []
    dim = 0  # of x
    for entry in entries:
        if entry is None:
            basic.append(None)
            arrays.append(ALL)
        elif entry is Ellipsis:
            skipped, taken = array.ndim - taken, array.ndim  # a second Ellipsis stands for nothing
            basic += [ALL] * skipped
            arrays += [ALL] * skipped
            dim += skipped
        elif type(entry) is int:
            _check_integer(entry, array, dim)
            basic.append(entry)
            dim += 1
        elif type(entry) is slice:
            _check_slice(entry)
            basic.append(entry)
            arrays.append(ALL)
            dim += 1
        elif type(entry) is bool:  # a new dimension, of which True takes the one element
            basic.append(None)
            arrays.append(xp(array).zeros(int(entry), dtype=np.int64))
        else:
            _check_mask(entry, array, dim)
            skipped = dims_taken(entry)
            basic += [ALL] * skipped
            arrays.append(entry)
            dim += skipped
    return basic, arrays


def _check_integer(entry: int, array: Array, dim: int) -> None:
    size = array.shape[dim]
    if not -size <= entry < size:
        raise IndexError(
            f"getitem: index {entry} is out of range for dimension {dim} of size {size}"
        )


def _check_mask(entry: Array, array: Array, dim: int) -> None:
    size = array.shape[dim : dim + entry.ndim]
    if entry.dtype == bool and entry.shape != size:
        raise IndexError(
            f"getitem: the mask has shape {entry.shape}, expected {size}, the tensor's "
            f"shape {array.shape} from dimension {dim} on"
        )


def _is_tuple_in_disguise(index: list) -> bool:
    """x[[slice(2), None]] means x[:2, None], in PyTorch as in old NumPy, up to 31 entries."""
    if len(index) > 31:
        return False
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
        if array.ndim:
            warn("getitem: indexing with dtype uint8 is deprecated, use bool; it is read as a mask")
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


def dims_taken(entry: Any) -> int:
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
