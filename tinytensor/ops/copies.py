"""Functions that PyTorch also has under names for copies: what `narrow` does, as a new tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_numbers, require_tensor
from ..autograd.mode import state
from ..autograd.variable import Variable
from ..out import takes_out
from .convert import clone
from .index import fill_
from .join import chunk, split, split_with_sizes
from .pad import pad as pad_
from .partial_views import as_strided, narrow

if TYPE_CHECKING:
    from ..tensor import Tensor


@takes_out("same dtype")
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """As `narrow`, but a copy."""
    ndim = array_of("narrow_copy", input).ndim
    if ndim and dim >= ndim:
        raise RuntimeError(
            f"narrow_copy: dim {dim} is out of range for a tensor of {ndim} dimensions, expected "
            f"{-ndim} to {ndim - 1}"
        )
    return clone(narrow(input, dim, start, length))


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like input, full of `value`, a number or a 0-d tensor."""
    require_tensor("fill", input)
    return fill_(clone(input), value)


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """input with `value` before and after each dimension: pairs of widths, from the last one."""
    check_numbers("constant_pad_nd", value=value)
    return pad_(input, pad, value=value)


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy of input in which `as_strided(size, stride, storage_offset)` is src."""
    require_tensor("as_strided_scatter", input)
    require_tensor("as_strided_scatter", src)
    y = clone(input)
    part = as_strided(y, size, stride, storage_offset)
    if tuple(part.shape) != tuple(src.shape):
        raise RuntimeError(
            f"as_strided_scatter: src has shape {tuple(src.shape)}, expected {tuple(part.shape)}"
        )
    part.copy_(src)
    return y


def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As `split` into equal parts, but not views: a write to one does not count for the others."""
    return _on_their_own(split(tensor, split_size, dim))


def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """As `split_with_sizes`, but not views."""
    return _on_their_own(split_with_sizes(input, split_sizes, dim))


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As `chunk`, but not views."""
    return _on_their_own(chunk(input, chunks, dim))


def _on_their_own(parts: tuple) -> tuple:
    """The parts without their link to the tensor whose memory they share."""
    for part in parts:
        if isinstance(part, Variable):
            part._view, part._writes = None, state.mode.inference
    return parts


__all__ = [
    "as_strided_scatter", "constant_pad_nd", "fill", "narrow_copy", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes",
]  # fmt: skip
