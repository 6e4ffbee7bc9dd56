"""Elements added at the ends of dimensions, or taken away.

A constant is added in one step; the other modes read each new element from within the input.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_numbers
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..create.memory_errors import named_if_out_of_memory
from ..errors import ShapeError
from .autocast import full
from .autocast_setting import setting
from .index import Index, Slice, read
from .parse_index import slices_at

if TYPE_CHECKING:
    from ..tensor import Tensor

MODES = ("constant", "reflect", "replicate", "circular")


class Pad(Op):
    """y = x with `value` around it;  dx = the inner part of g"""

    def forward(self, x: Array, widths: tuple, value: Any) -> Array:
        sizes = zip(x.shape, widths, strict=True)
        shape = [before + n + after for n, (before, after) in sizes]
        inner = [slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True)]
        self.inner = (*inner, ...)
        y = xp(x).full(shape, value, dtype=x.dtype)
        y[self.inner] = x
        return y

    def backward(self, g: Any) -> Any:
        return read(g, self.inner)


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """input with elements added at the ends of its last dimensions; negative numbers cut off.

    pad:   (left, right) for the last dimension, then (top, bottom) for the one before, and so on
    mode:  "constant" adds `value` (0 by default); "reflect" mirrors input at its edge element;
           "replicate" repeats the edge element; "circular" goes on at the other end
    """
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad: got pad of type {type(pad).__name__}, expected a tuple of ints")
    if mode not in MODES:
        raise NotImplementedError(f"pad: got mode {mode!r}, expected one of {', '.join(MODES)}")
    if value is not None and type(value) not in (int, float):
        check_numbers("pad", value=value)
    if mode != "constant" and value:
        raise RuntimeError(f"pad: mode {mode!r} takes no value, got {value}")
    amounts = [operator.index(n) for n in pad]
    shape = array_of("pad", input).shape
    if len(amounts) % 2 or len(amounts) > 2 * len(shape):
        raise ShapeError(
            f"pad: got {len(amounts)} numbers {tuple(amounts)}, expected two for each dimension to "
            f"pad, of the {len(shape)} of shape {shape}"
        )
    # (before, after) for each dimension, first dimension first
    widths = list(zip(amounts[::2], amounts[1::2], strict=True))[::-1]
    if mode != "constant":
        _check_image(mode, shape, len(widths), unwrap(input).dtype)
    widths = [(0, 0)] * (len(shape) - len(widths)) + widths
    if mode in ("constant", "circular"):
        input = _cut(input, widths)
        widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    if mode == "constant":
        return Pad.apply(input, tuple(widths), 0 if value is None else value)
    if mode != "circular" and setting.active is not None:
        (input,) = full((input,))
    padded = len(amounts) // 2
    if mode != "circular" and 0 in shape[max(len(shape) - padded - 1, 0) :]:
        raise ShapeError(
            f"pad: got shape {shape} in mode {mode!r}, expected no empty dimension but the batch"
        )
    for dim, (before, after) in enumerate(widths):
        if before or after:
            index = _source(mode, input, dim, before, after)
            input = Index.apply(input, slices_at(dim, index))
    return input


def _check_image(mode: str, shape: tuple, padded: int, dtype: Any) -> None:
    """Refuse all but (C, …) and (N, C, …) with one, two or three dimensions to pad after them."""
    if padded not in (1, 2, 3) or len(shape) - padded not in (1, 2):
        raise NotImplementedError(
            f"pad: got {2 * padded} numbers for shape {shape} in mode {mode!r}, expected two for "
            "each dimension after the channels, (C, …) or (N, C, …)"
        )
    if mode == "circular":
        return
    if 0 in shape[-padded - 1 :]:
        raise ShapeError(
            f"pad: got shape {shape} in mode {mode!r}, expected no empty dimension after the batch"
        )
    if dtype.kind == "b":
        raise NotImplementedError(f"pad: got dtype bool in mode {mode!r}, expected numbers")


def _cut(input: Any, widths: list) -> Any:
    """input without the elements that negative numbers take away."""
    shape = tuple(input.shape)
    index = []
    for dim, (before, after) in enumerate(widths):
        start, stop = max(-before, 0), shape[dim] - max(-after, 0)
        if stop < start:
            raise ShapeError(
                f"pad: {(before, after)} takes away more than there is in dimension {dim} of "
                f"shape {shape}"
            )
        index.append(slice(start, stop))
    if all(before >= 0 and after >= 0 for before, after in widths):
        return input
    return Slice.apply(input, (*index, ...))


@named_if_out_of_memory("pad")
def _source(mode: str, input: Any, dim: int, before: int, after: int) -> Array:
    """For each element along `dim` of the result, the position in input that it comes from."""
    size = input.shape[dim]
    # A mirrored element is at least one step from the edge, a circular one at most once around.
    limit = {"reflect": size - 1, "circular": size, "replicate": None}[mode]
    too_much = limit is not None and max(before, after) > limit
    if size == 0 or too_much or before + size + after < 0:
        raise ShapeError(
            f"pad: {(before, after)} does not fit dimension {dim} of shape {tuple(input.shape)} in "
            f"mode {mode!r}" + (f", expected at most {limit}" if too_much else "")
        )
    library = xp(unwrap(input))
    position = library.arange(-before, size + after)
    if mode == "circular":
        return position % size
    if mode == "replicate":
        return position.clip(0, size - 1)
    position = abs(position)  # mirrored at 0, then at size − 1
    return library.where(position < size, position, 2 * (size - 1) - position)


__all__ = ["pad"]
