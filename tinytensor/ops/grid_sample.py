"""grid_sample: an image read at given points between its pixels. affine_grid: such points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, check_given
from ..autograd.op import Op
from ..autograd.site import warn
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, xp
from ..errors import ShapeError
from .autocast import in_float32
from .clamp import where
from .embedding import Embedding
from .matmul import matmul
from .promote import require_float
from .resample import cubic_far, cubic_near
from .shape import permute

if TYPE_CHECKING:
    from ..tensor import Tensor

MODES = ("bilinear", "nearest", "bicubic")
PADDING = ("zeros", "border", "reflection")
NOWHERE = -100  # stands for a coordinate that is NaN, infinite or huge, as in PyTorch


class Follow(Op):
    """y = value, a piecewise linear function of x;  dx = g·slope"""

    saves = ("slope",)

    def forward(self, x: Array, value: Array, slope: Array) -> Array:
        return value.astype(x.dtype, copy=False)

    def backward(self, g: Any) -> Any:
        (slope,) = self.saved
        return g * slope


@in_float32
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """input (N, C, H, W) at the points of grid (N, H', W', 2): (N, C, H', W').

    With input (N, C, D, H, W) and grid (N, D', H', W', 3): (N, C, D', H', W'). A point is (x, y) or
    (x, y, z), from −1 (left, top, front) to 1.

    mode:           "bilinear" weighs the neighbours by their distances (in volumes, too), "nearest"
                    takes the nearest, "bicubic" weighs 4 × 4 pixels (images only)
    padding_mode:   what lies outside: "zeros", the nearest pixel of the "border", or a "reflection"
    align_corners:  whether −1 and 1 are the centres of the corner pixels, or (False, the default)
                    their outer edges; reflections are at the same places
    """
    check_given("grid_sample", grid=grid)
    name = "grid_sample"
    _check(name, input, grid, mode, padding_mode)
    if align_corners is not None and type(align_corners) is not bool:
        check_flags(name, align_corners=align_corners)
    if align_corners is None:
        warn(f"{name}: align_corners is not given, so it is False")
    library, shape, points = xp(unwrap(input)), input.shape, grid.shape[1:-1]
    samples, channels, image = shape[0], shape[1], shape[2:]
    dims = len(image)
    # (N, C, H, W) → (N, H, W, C) → (N·H·W, C): a row for each pixel
    table = permute(input, (0, *range(2, dims + 2), 1)).reshape((-1, channels))
    corners = bool(align_corners)
    lines = []  # for each dimension of the image: [(pixel, weight, whether it is inside), …]
    for d, size in enumerate(image):
        coordinate = grid[..., dims - 1 - d].reshape((samples, math.prod(points)))  # (N, P)
        position = _position(coordinate, size, corners)
        lines.append(_taps(position, size, mode, padding_mode, corners))
    first = library.arange(samples)[:, None]  # (N, 1): the number of the sample
    y: Any = None
    for taps in itertools.product(*lines):
        index, inside, weight = first, None, None
        for size, (pixel, factor, within) in zip(image, taps, strict=True):
            index = index * size + pixel
            if within is not None:
                inside = within if inside is None else inside & within
            if factor is not None:
                weight = factor if weight is None else weight * factor
        part = Embedding.apply(table, index, None)  # (N, P, C)
        if inside is not None and not inside.all():
            part = where(wrap_like(inside[..., None], part), part, 0.0)
        if weight is not None:
            part = part * weight.reshape((samples, math.prod(points), 1))
        y = part if y is None else y + part
    # (N, P, C) → (N, C, P) → (N, C, H', W')
    return permute(y, (0, 2, 1)).reshape((samples, channels, *points))


def _position(coordinate: Any, size: int, corners: bool) -> Any:
    """Where −1 … 1 lies among the pixels 0 … size − 1."""
    if corners:
        return (coordinate + 1) / 2 * (size - 1)
    return ((coordinate + 1) * size - 1) / 2


def _taps(position: Any, size: int, mode: str, padding: str, corners: bool) -> list:
    """[(pixel, weight or None for 1, whether it is inside or None), …] along one dimension."""
    library = xp(unwrap(position))
    if mode != "bicubic":
        position = _pad(position, size, padding, corners)
    array = _finite(unwrap(position))
    if mode == "nearest":
        return [_pixel(library.rint(array).astype(np.int64), None, size)]
    below = library.floor(array)
    t = position - wrap_like(below, position)  # how far towards the next pixel
    index = below.astype(np.int64)
    if mode == "bilinear":
        return [_pixel(index, 1 - t, size), _pixel(index + 1, t, size)]
    weights = [cubic_far(1 + t), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)]
    taps = []
    for k, weight in enumerate(weights, -1):
        pixel = _pad((index + k).astype(array.dtype), size, padding, corners)
        taps.append(_pixel(_finite(pixel).astype(np.int64), weight, size))
    return taps


def _pixel(index: Array, weight: Any, size: int) -> tuple[Array, Any, Array]:
    return index.clip(0, size - 1), weight, (index >= 0) & (index < size)


def _finite(position: Array) -> Array:
    library = xp(position)
    return library.where(abs(position) < 2**31, position, NOWHERE).astype(position.dtype)


def _pad(position: Any, size: int, padding: str, corners: bool) -> Any:
    """A position outside of the image moved to one inside, unless zeros stand there."""
    x = unwrap(position)
    library = xp(x)
    if padding == "zeros":
        return position
    slope: Any = library.ones(x.shape, x.dtype)
    value = x
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        if span == 0:
            value, slope = library.zeros_like(x), library.zeros_like(x)
        else:
            away = abs(x - low)
            slope = library.where(x < low, -slope, slope)
            flips = library.floor(away / span)
            extra = library.fmod(away, span)
            back = flips % 2 == 1
            value = library.where(back, span - extra, extra) + low
            slope = library.where(back, -slope, slope)
    inside = (value > 0) & (value < size - 1)
    slope = library.where(inside, slope, 0).astype(x.dtype)
    value = library.where(value > 0, value, 0)  # also for NaN
    return Follow.apply(position, library.minimum(value, size - 1), slope)


def _check(name: str, input: Any, grid: Any, mode: str, padding_mode: str) -> None:
    x, points = array_of(name, input), unwrap(grid)
    if mode not in MODES:
        raise ValueError(f"{name}: got mode {mode!r}, expected one of {', '.join(MODES)}")
    if padding_mode not in PADDING:
        raise ValueError(
            f"{name}: got padding_mode {padding_mode!r}, expected one of {', '.join(PADDING)}"
        )
    require_float(name, input)
    if points.dtype != x.dtype:
        raise RuntimeError(f"{name}: got grid of dtype {points.dtype}, expected {x.dtype}, input's")
    dims = x.ndim - 2
    if dims not in (2, 3) or points.ndim != x.ndim or points.shape[-1] != dims:
        raise ShapeError(
            f"{name}: got input {x.shape} and grid {points.shape}, expected (N, C, H, W) and "
            "(N, H', W', 2), or (N, C, D, H, W) and (N, D', H', W', 3)"
        )
    if points.shape[0] != x.shape[0]:
        raise ShapeError(
            f"{name}: got input {x.shape} and grid {points.shape}, expected the same batch size"
        )
    if 0 in x.shape[2:]:
        raise ShapeError(f"{name}: got input of shape {x.shape}, expected an image without 0 sizes")
    if mode == "bicubic" and dims == 3:
        raise RuntimeError(f"{name}: mode 'bicubic' takes images (N, C, H, W), got {x.shape}")


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid of `grid_sample` whose points are theta·(x, y, 1), for each pixel (x, y) of size.

    theta (N, 2, 3) and size (N, C, H, W) give (N, H, W, 2). theta (N, 3, 4) and size
    (N, C, D, H, W) give (N, D, H, W, 3). align_corners: as in `grid_sample`.
    """
    name = "affine_grid"
    array = array_of(name, theta)
    require_float(name, theta, ValueError)
    shape = tuple(map(int, size))
    dims = len(shape) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            f"{name}: got size {shape}, expected (N, C, H, W) or (N, C, D, H, W)"
        )
    if array.ndim != 3 or array.shape[1:] != (dims, dims + 1):
        raise ValueError(
            f"{name}: got theta of shape {array.shape} for size {shape}, expected "
            f"(N, {dims}, {dims + 1})"
        )
    if min(shape) <= 0:
        raise ValueError(f"{name}: got size {shape}, expected sizes of at least 1")
    if array.shape[0] != shape[0]:
        raise RuntimeError(
            f"{name}: got theta of shape {array.shape} for size {shape}, expected the same N"
        )
    if align_corners is None:
        warn(f"{name}: align_corners is not given, so it is False")
    library, image = xp(array), shape[2:]
    lines = [_line(library, n, bool(align_corners), array.dtype) for n in image]
    mesh = library.meshgrid(*lines, indexing="ij")[::-1]  # x, y (, z), each (D, H, W)
    ones = library.ones(image, array.dtype)
    base = library.stack([*mesh, ones], axis=-1).reshape(1, -1, dims + 1)  # (1, P, dims + 1)
    y = matmul(wrap_like(base, theta), permute(theta, (0, 2, 1)))  # → (N, P, dims)
    return y.reshape((shape[0], *image, dims))


def _line(library: Any, n: int, corners: bool, dtype: np.dtype) -> Array:
    """The coordinates of n pixels between −1 and 1; 0 for a single one."""
    if n == 1:
        return library.zeros(1, dtype)
    line = library.linspace(-1, 1, n, dtype=dtype)
    return line if corners else line * dtype.type((n - 1) / n)


__all__ = ["affine_grid", "grid_sample"]
