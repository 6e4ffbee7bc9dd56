"""max_unpool: each maximum back at its place in the image, zeros elsewhere.

The inverse of max_pool with return_indices=True, as far as there is one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_given
from ..autograd.variable import unwrap, wrap_like
from ..backend import xp
from ..errors import ShapeError
from .autocast import in_float32
from .dims import as_ints
from .parse_index import outside
from .pooling import check_image
from .promote import require_float
from .scatter import Scatter
from .windows import Sizes, sizes

if TYPE_CHECKING:
    from ..tensor import Tensor


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Any = None,
) -> Tensor:  # fmt: skip
    """`max_unpool2d` over lines: (N, C, L) or (C, L)."""
    check_given("max_unpool1d", indices=indices)
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@in_float32
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Any = None,
) -> Tensor:  # fmt: skip
    """y = 0, but y[indices] = input: maxima of (N, C, H, W) or (C, H, W) in a larger image.

    indices:      where each goes, as a number that counts the elements of the result's image
    kernel_size, stride, padding: those of the pooling, from which the result's size follows
    output_size:  that size, or all of the result's shape, where several sizes pool to input's
    """
    check_given("max_unpool2d", indices=indices)
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@in_float32
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Any = None,
) -> Tensor:  # fmt: skip
    """`max_unpool2d` over volumes: (N, C, D, H, W) or (C, D, H, W)."""
    check_given("max_unpool3d", indices=indices)
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


def _unpool(
    name: str, dims: int, input: Any, indices: Any, kernel: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Any:  # fmt: skip
    x, places = array_of(name, input), unwrap(indices)
    require_float(name, input, NotImplementedError)
    check_image(name, dims, x.shape)
    if places.dtype != np.int64:
        raise RuntimeError(f"{name}: got indices of dtype {places.dtype}, expected int64")
    if places.shape != x.shape:
        raise ShapeError(
            f"{name}: got indices of shape {places.shape}, expected {x.shape}, input's"
        )
    for what, given in (("kernel_size", kernel), ("stride", stride), ("padding", padding)):
        if isinstance(given, (tuple, list)) and len(given) not in (0, dims):
            raise ShapeError(f"{name}: got {what} {tuple(given)}, expected one int or {dims} ints")
    kernel = sizes(name, "kernel_size", kernel, dims)
    stride = kernel if stride in (None, (), []) else sizes(name, "stride", stride, dims)
    padding = sizes(name, "padding", padding, dims, least=0)
    size = _output_size(name, x.shape[-dims:], kernel, stride, padding, output_size)
    wrong = outside(places, 0, math.prod(size))
    if wrong is not None:
        raise RuntimeError(
            f"{name}: got index {wrong}, expected 0 to {math.prod(size) - 1} for an image of {size}"
        )
    lead = x.shape[:-dims]
    zeros = xp(x).zeros((*lead, math.prod(size)), x.dtype)
    flat = (*lead, math.prod(x.shape[-dims:]))  # (N, C, H, W) → (N, C, H·W)
    y = Scatter.apply(wrap_like(zeros, input), len(lead), places.reshape(flat), input.reshape(flat))
    return y.reshape((*lead, *size))


def _output_size(
    name: str, size: tuple, kernel: tuple, stride: tuple, padding: tuple, given: Any
) -> tuple[int, ...]:
    """The size of the result: that which follows from the pooling, or one near it, if given."""
    usual = tuple(
        (n - 1) * s + k - 2 * p for n, k, s, p in zip(size, kernel, stride, padding, strict=True)
    )
    if given is None:
        return usual
    wanted = as_ints(name, given)
    if len(wanted) == len(size) + 2:
        wanted = wanted[2:]
    if len(wanted) != len(size):
        raise ValueError(
            f"{name}: got output_size {tuple(given)}, expected {len(size)} or {len(size) + 2} sizes"
        )
    for n, m, s in zip(wanted, usual, stride, strict=True):
        if not m - s < n < m + s:
            raise ValueError(
                f"{name}: got output_size {wanted}, expected less than {stride} away from {usual}"
            )
    return wanted


__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]
