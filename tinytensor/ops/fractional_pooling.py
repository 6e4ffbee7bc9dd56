"""fractional_max_pool: maxima of windows of one size at random, increasing distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, xp
from ..create.generator import generator_for
from ..errors import ShapeError
from .gather import Gather
from .pooling import check_image
from .promote import require_float
from .windows import Sizes, sizes

if TYPE_CHECKING:
    from ..tensor import Tensor


def fractional_max_pool2d(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The largest of each window of kernel_size: (N, C, H, W) or (C, H, W) → (…, H', W').

    Windows begin at ⌊(i + u)·a⌋ − ⌊u·a⌋ with a = (H − kernel) / (H' − 1), the last at H − kernel; u
    is random in [0, 1) for each sample, channel and dimension.

    output_size:      (H', W') or one int for both
    output_ratio:     instead of it: (H'/H, W'/W) or one for both, between 0 and 1
    return_indices:   also where each maximum is, as a number that counts the elements of (H, W)
    _random_samples:  the numbers u, (N, C, 2)
    """
    name = "fractional_max_pool2d"
    return _pool(
        name, 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool3d(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """`fractional_max_pool2d` over volumes: (N, C, D, H, W) or (C, D, H, W)."""
    name = "fractional_max_pool3d"
    return _pool(
        name, 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def _pool(
    name: str, dims: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any,
    return_indices: bool, samples: Any,
) -> Any:  # fmt: skip
    x = array_of(name, input)
    require_float(name, input, NotImplementedError)
    check_image(name, dims, x.shape)
    kernel = sizes(name, "kernel_size", kernel_size, dims)
    image, lead = x.shape[-dims:], x.shape[:-dims]
    counts = _counts(name, dims, image, output_size, output_ratio)
    for n, k, m in zip(image, kernel, counts, strict=True):
        if m + k - 1 > n:
            raise RuntimeError(
                f"{name}: windows {kernel} and output_size {counts} are too large for an image of "
                f"{image}, expected output_size + window − 1 to be at most that"
            )
    batch = lead if len(lead) == 2 else (1, *lead)
    if samples is None:
        u = generator_for(x).uniform((*batch, dims), x.dtype)
    else:
        u = unwrap(samples)
        enough = u.ndim == 3 and u.shape[0] >= batch[0] and u.shape[1] >= batch[1]
        if not enough or u.shape[2] != dims:
            raise ShapeError(
                f"{name}: got _random_samples of shape {u.shape}, expected {(*batch, dims)}"
            )
        u = u[: batch[0], : batch[1]]
        if u.dtype != x.dtype:
            raise RuntimeError(
                f"{name}: got _random_samples of dtype {u.dtype}, expected {x.dtype}, as input"
            )
    places = _places(u, image, kernel, counts).reshape(*lead, math.prod(counts), math.prod(kernel))
    flat = x.reshape(*lead, 1, math.prod(image))  # (N, C, 1, H·W)
    library = xp(x)
    windows = library.take_along_axis(flat, places, -1)  # (N, C, H'·W', h·w)
    best = windows.argmax(-1)[..., None]
    winner = library.take_along_axis(places, best, -1)[..., 0]  # (N, C, H'·W')
    y = Gather.apply(input.reshape((*lead, math.prod(image))), len(lead), winner).reshape(
        (*lead, *counts)
    )
    return (y, wrap_like(winner.reshape(*lead, *counts), y)) if return_indices else y


def _places(u: Array, image: tuple, kernel: tuple, counts: tuple) -> Array:
    """The flat index of each element of each window: (N, C, H'·W', h·w)."""
    library, dims = xp(u), len(image)
    total: Any = 0
    for d, (n, k, m) in enumerate(zip(image, kernel, counts, strict=True)):
        # PyTorch's order of the numbers: those of an image are (width, height)
        number = dims - 1 - d if dims == 2 else d
        starts = _starts(u[..., number], n, k, m)  # (N, C, m)
        line = (starts[..., None] + library.arange(k)) * math.prod(image[d + 1 :])  # (N, C, m, k)
        shape = [1] * (2 * dims)
        shape[d], shape[dims + d] = m, k
        total = total + line.reshape(*u.shape[:-1], *shape)
    return total.reshape(*u.shape[:-1], math.prod(counts), math.prod(kernel))


def _starts(u: Array, size: int, kernel: int, count: int) -> Array:
    """Where the windows begin along a dimension, for each u: (N, C) → (N, C, count)."""
    library = xp(u)
    starts = library.full((*u.shape, count), size - kernel, np.int64)
    if count > 1:
        step = u.dtype.type((size - kernel) / (count - 1))
        number = library.arange(count - 1).astype(u.dtype)
        moved = ((number + u[..., None]) * step).astype(np.int64)
        starts[..., :-1] = moved - (u[..., None] * step).astype(np.int64)
    return starts


def _counts(name: str, dims: int, image: tuple, output_size: Any, ratio: Any) -> tuple[int, ...]:
    """The size of the result's image."""
    if output_size is None and ratio is None:
        raise ValueError(f"{name}: expected output_size or output_ratio, got neither")
    if output_size is not None:
        return sizes(name, "output_size", output_size, dims, least=0)
    ratios = tuple(ratio) if isinstance(ratio, (tuple, list)) else (ratio,) * dims
    if len(ratios) != dims:
        raise ValueError(f"{name}: got output_ratio {ratio}, expected one number or {dims}")
    return tuple(int(n * r) for n, r in zip(image, ratios, strict=True))


__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]
