"""Images at another size (interpolate), and pixels made of channels (pixel_shuffle)."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags
from ..autograd.op import Op
from ..autograd.variable import unwrap, wrap_like
from ..backend import Array, xp
from ..errors import ShapeError
from .adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .antialias import FILTERS, resize_smoothly, weights
from .index import Index
from .pooling import AvgPool
from .promote import require_float, require_numbers
from .resample_bytes import resize_bytes, weight_matrix
from .shape import permute
from .windows import Windows

if TYPE_CHECKING:
    from ..tensor import Tensor

# The mode, and the numbers of dimensions that images have for it
MODES = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,),
    "bilinear": (2,), "bicubic": (2,), "trilinear": (3,),
}  # fmt: skip
SMOOTH = ("linear", "bilinear", "trilinear", "bicubic")  # between pixels; these have corners
SAME_SIZE_SAME_IMAGE = ("nearest", "linear", "bilinear", "trilinear")  # whatever scale_factor says
AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)


class Enlarge(Op):
    """y[i·r + k] = x[i] for k below r: r pixels for one, in every dimension;  dx[i] = Σ g[i·r + k]

    windows: those of r pixels in y.
    """

    def forward(self, x: Array, windows: Windows) -> Array:
        self.windows = windows
        y = xp(x).empty(x.shape[:2] + windows.size, x.dtype)
        for _, inside, places in windows.taps():
            y[places] = x[inside]
        return y

    def backward(self, g: Any) -> Any:
        return AvgPool.apply(g, self.windows, 1)


def interpolate(
    input: Tensor, size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """An image at another size: (N, C, L), (N, C, H, W) or (N, C, D, H, W).

    size:           of the result: one int, or one for each dimension of the image
    scale_factor:   instead of size: how many times larger
    mode:           "nearest" takes the pixel that lies below, "nearest-exact" the nearest one;
                    "linear", "bilinear", "trilinear" weigh the neighbours by their distances,
                    "bicubic" the four nearest; "area" averages
    align_corners:  True: corner pixels' centres stay corners; False (the default): corners of the
                    corner pixels do. For the modes between pixels.
    recompute_scale_factor: distances come from the sizes, not from scale_factor, where that does
                    not give a whole number of pixels
    antialias:      for "bilinear" and "bicubic": when the image shrinks, every old pixel counts
                    (antialias.py)
    """
    shape = array_of("interpolate", input).shape
    dims = len(shape) - 2
    if mode not in MODES or dims not in MODES[mode]:
        allowed = ", ".join(m for m in MODES if dims in MODES[m]) or "3, 4 or 5 dimensions"
        raise NotImplementedError(
            f"interpolate: got mode {mode!r} for input of shape {shape}, expected {allowed}"
        )
    if antialias and mode not in FILTERS:
        raise ValueError(
            f"interpolate: got antialias=True with mode {mode!r}, expected {' or '.join(FILTERS)}"
        )
    if align_corners is not None and mode not in SMOOTH:
        raise ValueError(
            f"interpolate: mode {mode!r} takes no align_corners, expected {', '.join(SMOOTH)}"
        )
    if align_corners is not None and type(align_corners) is not bool:
        check_flags("interpolate", align_corners=align_corners)
    target, scales = _target(shape, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return AREA[dims - 1](input, target)
    bytes_here = mode in FILTERS and unwrap(input).dtype == np.uint8
    if mode in SMOOTH and not bytes_here:
        require_float("interpolate", input, NotImplementedError)
    elif not bytes_here:
        require_numbers("interpolate", input, NotImplementedError)
    if 0 in shape[1:] or min(target) < 1:
        raise ShapeError(
            f"interpolate: input has shape {shape}, its image is to become {target}; expected "
            "sizes of at least 1"
        )
    factors = tuple(n // length for n, length in zip(target, shape[2:], strict=True))
    whole = all(n == f * length for n, f, length in zip(target, factors, shape[2:], strict=True))
    if mode == "nearest" and whole and scales in ((None,) * dims, factors):
        windows = Windows(target, factors, factors, (0,) * dims, (1,) * dims, shape[2:])
        return Enlarge.apply(input, windows)
    # As in PyTorch, an image with its channels last in memory stays such: views of it stay valid.
    channels_last = dims == 2 and not unwrap(input).flags.c_contiguous and _channels_last(input)
    if channels_last:
        input = permute(input, (0, 2, 3, 1))  # (N, C, H, W) → (N, H, W, C)
    first = 1 if channels_last else 2
    changes = list(enumerate(zip(target, scales, strict=True), first))
    for dim, (n, scale) in reversed(changes) if bytes_here else changes:
        input = _resize(input, dim, n, scale, mode, bool(align_corners), antialias)
    return permute(input, (0, 3, 1, 2)) if channels_last else input  # → (N, C, H, W)


def _channels_last(input: Any) -> bool:
    return unwrap(input).transpose((0, 2, 3, 1)).flags.c_contiguous


def _target(
    shape: tuple, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple]:
    """(size of the result, scale factors to go by: None where it is the ratio of sizes)."""
    image = shape[2:]
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: expected either size or scale_factor, and not both")
    given = size if scale_factor is None else scale_factor
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,) * len(image)
    if len(given) != len(image):
        what = "size" if scale_factor is None else "scale_factor"
        raise ShapeError(
            f"interpolate: got {what} {given}, expected {len(image)} numbers for input of shape "
            f"{shape}, (N, C, image …)"
        )
    if scale_factor is None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor needs scale_factor, got size")
        return tuple(operator.index(n) for n in given), (None,) * len(image)
    target = tuple(math.floor(n * float(f)) for n, f in zip(image, given, strict=True))
    return target, (None,) * len(image) if recompute else given


def _resize(
    input: Any, dim: int, count: int, scale: Any, mode: str, align_corners: bool, antialias: bool
) -> Any:
    """input with `count` elements along `dim`, each a weighted sum of a few of the old ones."""
    length = input.shape[dim]
    step = length / count if scale is None else 1 / scale
    if antialias:
        if align_corners:
            step = (length - 1) / (count - 1) if count > 1 else 0.0
        if unwrap(input).dtype == np.uint8:
            return _resize_bytes(input, dim, weights(mode, length, count, step))
        return resize_smoothly(input, dim, count, step, mode)
    if count == length and (step == 1 or mode in SAME_SIZE_SAME_IMAGE):
        return input
    if mode == "nearest" and count == 2 * length:
        step = 0.5  # whatever scale_factor says, as in PyTorch
    library, dtype = xp(unwrap(input)), unwrap(input).dtype
    if dtype == np.uint8 and mode in FILTERS:
        taps = _taps(mode, length, count, step, align_corners, np.dtype(np.float64))
        return _resize_bytes(input, dim, weight_matrix(taps, count, length))
    y = None
    for index, weight in _taps(mode, length, count, step, align_corners, dtype):
        where = library.asarray(index.clip(0, length - 1))
        part = Index.apply(input, (*(slice(None),) * dim, where))
        if weight is None:
            return part
        column = library.asarray(weight.astype(dtype).reshape(-1, *(1,) * (input.ndim - dim - 1)))
        part = part * wrap_like(column, input)
        y = part if y is None else y + part
    return y


def _resize_bytes(input: Any, dim: int, matrix: np.ndarray) -> Any:
    return wrap_like(resize_bytes(unwrap(input), dim, matrix), input)


def _taps(
    mode: str, length: int, count: int, step: float, align_corners: bool, dtype: np.dtype
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """[(index, weight), …]: which old elements each of the `count` new ones is made of.

    As in PyTorch, positions are computed in the precision of the input, but at least in float32.
    """
    number = np.arange(count).astype(np.float64 if dtype == np.float64 else np.float32)
    kind = number.dtype.type
    if mode == "nearest":
        return [(np.floor(number * kind(step)).astype(np.int64), None)]
    if mode == "nearest-exact":
        return [(np.floor((number + kind(0.5)) * kind(step)).astype(np.int64), None)]
    if align_corners:
        position = number * kind((length - 1) / (count - 1) if count > 1 else 0)
    else:
        position = (number + kind(0.5)) * kind(step) - kind(0.5)
    if mode != "bicubic":
        position = position.clip(0, None)
    below = np.floor(position)
    t = position - below  # how far towards the next element
    index = below.astype(np.int64)
    if mode != "bicubic":
        return [(index, 1 - t), (index + 1, t)]
    weights = [cubic_far(1 + t), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)]
    return [(index + k, weight) for k, weight in enumerate(weights, -1)]


CUBIC = -0.75  # the slope of the cubic kernel at distance 1


def cubic_near(x: Any) -> Any:
    """The weight of an element at a distance of 0 to 1."""
    return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1


def cubic_far(x: Any) -> Any:
    """The weight of an element at a distance of 1 to 2."""
    return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC


# ------------------------------------------------------------------------------------------
# Pixels made of channels
# ------------------------------------------------------------------------------------------


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """r² channels become r × r pixels: (…, C·r², H, W) → (…, C, H·r, W·r), r = upscale_factor."""
    shape, r = array_of("pixel_shuffle", input).shape, upscale_factor
    if r < 1:
        raise RuntimeError(f"pixel_shuffle: got upscale_factor {r}, expected at least 1")
    if len(shape) < 3 or shape[-3] % (r * r):
        raise ShapeError(
            f"pixel_shuffle: got input of shape {shape}, expected (…, C, H, W) with C a multiple "
            f"of {r * r}"
        )
    *batch, channels, height, width = shape
    # (…, C·r², H, W) → (…, C, r, r, H, W) → (…, C, H, r, W, r) → (…, C, H·r, W·r)
    y = input.reshape((*batch, channels // (r * r), r, r, height, width))
    y = permute(y, (*range(len(batch) + 1), -2, -4, -1, -3))
    return y.reshape((*batch, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """r × r pixels become r² channels: (…, C, H·r, W·r) → (…, C·r², H, W)."""
    shape, r = array_of("pixel_unshuffle", input).shape, downscale_factor
    if r < 1:
        raise RuntimeError(f"pixel_unshuffle: got downscale_factor {r}, expected at least 1")
    if len(shape) < 3 or shape[-2] % r or shape[-1] % r:
        raise ShapeError(
            f"pixel_unshuffle: got input of shape {shape}, expected (…, C, H, W) with H and W "
            f"multiples of {r}"
        )
    *batch, channels, height, width = shape
    # (…, C, H·r, W·r) → (…, C, H, r, W, r) → (…, C, r, r, H, W) → (…, C·r², H, W)
    y = input.reshape((*batch, channels, height // r, r, width // r, r))
    y = permute(y, (*range(len(batch) + 1), -3, -1, -4, -2))
    return y.reshape((*batch, channels * r * r, height // r, width // r))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of the groups by turns: (N, C, …) → the first of each group, the second, …"""
    shape = array_of("channel_shuffle", input).shape
    if groups < 1 or len(shape) < 3 or shape[1] % groups:
        raise ShapeError(
            f"channel_shuffle: got input of shape {shape} and groups={groups}, expected (N, C, …) "
            "with C a multiple of groups"
        )
    # (N, G·c, …) → (N, G, c, …) → (N, c, G, …) → (N, c·G, …)
    y = input.reshape((shape[0], groups, shape[1] // groups, *shape[2:]))
    return y.swapaxes(1, 2).reshape(shape)


__all__ = ["channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle"]
