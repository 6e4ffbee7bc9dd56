"""Arguments that name dimensions and sizes: normalised, checked, and under NumPy's names too.

The functions here take the name of the op, for their error messages.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)
Ints = Any  # an int (with more after it), or a tuple or list of them

_ALIASES = {"axis": "dim", "keepdims": "keepdim"}


def accepts_axis(function: F) -> F:
    """Let callers also write `axis` for `dim` and `keepdims` for `keepdim`, as PyTorch does."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs and ("axis" in kwargs or "keepdims" in kwargs):
            _rename(function.__name__, kwargs)
        return function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def _rename(name: str, kwargs: dict) -> None:
    """NumPy's names of arguments replaced by PyTorch's."""
    for alias in _ALIASES.keys() & kwargs.keys():
        if _ALIASES[alias] in kwargs:
            raise TypeError(
                f"{name}: got both {_ALIASES[alias]} and {alias}, which are one argument; give "
                "only one"
            )
        kwargs[_ALIASES[alias]] = kwargs.pop(alias)


def as_ints(name: str, first: Ints, more: tuple = ()) -> tuple[int, ...]:
    """`2, 3` or `(2, 3)` or `[2, 3]`, as PyTorch's methods take them, as a tuple of ints."""
    values = first if not more and isinstance(first, (tuple, list)) else (first, *more)
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"{name}: got {values}, expected ints or one tuple of ints") from None


def normalize_dim(name: str, dim: Any, ndim: int) -> int:
    """`dim` counted from the front, 0 … ndim − 1. A 0-d tensor takes 0 and −1, both as 0."""
    if type(dim) is int and 0 <= dim < ndim:  # the common case, at a fifth of the time
        return dim
    try:
        index = operator.index(dim)
    except TypeError:
        raise TypeError(f"{name}: got dim {dim!r}, expected an int") from None
    size = ndim or 1
    if not -size <= index < size:
        raise IndexError(
            f"{name}: dim {index} is out of range for a tensor of {ndim} dimensions, "
            f"expected {-size} to {size - 1}"
        )
    return index % size


def existing_dim(name: str, dim: Any, ndim: int, error: type = RuntimeError) -> int:
    """As `normalize_dim`, but an error for a 0-d tensor, which has no dimension."""
    if not ndim:
        raise error(f"{name}: got a 0-d tensor, expected at least one dimension")
    return normalize_dim(name, dim, ndim)


def distinct_dims(name: str, dims: tuple, ndim: int) -> tuple[int, ...]:
    """Several dims counted from the front, none of them twice."""
    found = tuple(normalize_dim(name, dim, ndim) for dim in dims)
    if len(set(found)) < len(found):
        raise RuntimeError(
            f"{name}: a dim appears more than once in {dims}, for a tensor of {ndim} dimensions; "
            "name each once"
        )
    return found


def normalize_dims(name: str, dims: Any, ndim: int) -> tuple[int, ...]:
    """The dims to reduce, counted from the front: one, several, or all of them for None or ().

    A 0-d tensor has nothing to reduce: (), whichever dim was asked for.
    """
    if dims is None:
        return tuple(range(ndim))
    given = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    found = distinct_dims(name, given, ndim)
    return (found or tuple(range(ndim))) if ndim else ()


def keep_dims(shape: tuple, dims: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with 1 in place of each of `dims`: the shape after a reduction with keepdim=True."""
    return tuple(1 if i in dims else n for i, n in enumerate(shape))
