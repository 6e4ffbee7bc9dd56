"""Views as new tensors: `expand_copy` is `expand`, but shares no memory with its input."""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, require_tensor
from ..memory_format import contiguous_format
from ..out import takes_out
from .broadcast import expand
from .complex_numbers import view_as_complex, view_as_real
from .convert import clone
from .dims import existing_dim
from .index import Slice
from .join import split, split_with_sizes, unbind
from .parse_index import along
from .partial_views import as_strided, diagonal, select, unfold
from .shape import permute, reshape, squeeze, t, transpose, unsqueeze
from .shape import view as view_or_raise

if TYPE_CHECKING:
    from ..tensor import Tensor


def copy_of(make: Callable) -> Callable:
    """Make `NAME_copy` of the function NAME, which returns a view or a tuple of views."""

    @functools.wraps(make)
    def function(*args: Any, **kwargs: Any) -> Any:
        views = make(*args, **kwargs)
        if isinstance(views, tuple):
            return tuple([clone(y, memory_format=contiguous_format) for y in views])
        return clone(views, memory_format=contiguous_format)

    function.__name__ = f"{make.__name__}_copy"
    function.__doc__ = f"As `{make.__name__}`, but a copy."
    function.__module__ = __name__
    function.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    return takes_out("same dtype")(function)


def alias(input: Tensor) -> Tensor:
    """All of the tensor."""
    require_tensor("alias_copy", input)
    return input


def slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """input[start:end:step] along a dimension."""
    ndim = array_of("slice_copy", input).ndim
    dim, step = existing_dim("slice_copy", dim, ndim), operator.index(step)
    if step <= 0:
        raise RuntimeError(f"slice_copy: got step {step}, expected a number above 0")
    return Slice.apply(input, along(dim, builtins.slice(start, end, step)))


def view(input: Tensor, shape: Any, *more: int) -> Tensor:
    """The elements in another shape, or the bytes in another dtype; of any layout in memory."""
    if isinstance(shape, (int, tuple, list)):
        return reshape(input, shape, *more)
    return view_or_raise(input, shape)


def detach(input: Tensor) -> Tensor:
    """The tensor without its history."""
    require_tensor("detach_copy", input)
    return input.detach()


alias_copy = copy_of(alias)
as_strided_copy = copy_of(as_strided)
detach_copy = copy_of(detach)
diagonal_copy = copy_of(diagonal)
expand_copy = copy_of(expand)
permute_copy = copy_of(permute)
select_copy = copy_of(select)
slice_copy = copy_of(slice)
split_copy = copy_of(split)
split_with_sizes_copy = copy_of(split_with_sizes)
squeeze_copy = copy_of(squeeze)
t_copy = copy_of(t)
transpose_copy = copy_of(transpose)
unbind_copy = copy_of(unbind)
unfold_copy = copy_of(unfold)
unsqueeze_copy = copy_of(unsqueeze)
view_as_complex_copy = copy_of(view_as_complex)
view_as_real_copy = copy_of(view_as_real)
view_copy = copy_of(view)

__all__ = [
    "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "permute_copy",
    "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy",
    "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_as_complex_copy",
    "view_as_real_copy", "view_copy",
]  # fmt: skip
