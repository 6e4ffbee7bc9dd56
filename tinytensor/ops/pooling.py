"""The largest element of each window, or the mean of it.

Pooling to a given size of output, whatever the input's, is in adaptive_pooling.py.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_flags, check_ints
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .autocast import in_float32
from .promote import require_numbers
from .windows import Sizes, Windows, sizes, sliding

if TYPE_CHECKING:
    from ..tensor import Tensor


@accelerated("pooling")
class MaxPool(Op):
    """y[i] = max x[i·stride + k·dilation − padding] over k, the first of equals;
    dx = g where the maximum was taken from, by MaxPoolTranspose

    with_positions: also where that is, as a number that counts the elements of the image.
    known: the number of the tap that each y is to be taken from, if that is known already.
    """

    saves = ("winner",)

    def forward(
        self, x: Array, windows: Windows, with_positions: bool, known: Array | None = None
    ) -> Any:
        self.windows = windows
        if known is None:
            y, self.winner = largest(x, windows)
        else:
            y, self.winner = taken_from(known, x, windows), known
        return (y, positions(self.winner, windows)) if with_positions else y

    def backward(self, g: Any, _: Any = None) -> Any:
        (winner,) = self.saved
        return MaxPoolTranspose.apply(g, winner, self.windows)


@accelerated("pooling")
class MaxPoolTranspose(Op):
    """y = zeros, with x added where its window's maximum was taken from;  dx = g from there"""

    def forward(self, x: Array, winner: Array, windows: Windows) -> Array:
        self.winner, self.windows = winner, windows
        library = xp(x)
        y = library.zeros(x.shape[: -len(windows.size)] + windows.size, x.dtype)
        for number, (_, inside, places) in enumerate(windows.taps()):
            y[places] += library.where(winner[inside] == number, x[inside], 0)
        return y

    def backward(self, g: Any) -> Any:
        return MaxPool.apply(g, self.windows, False, self.winner)


def largest(x: Array, windows: Windows) -> tuple[Array, Array]:
    """The largest element of each window, and the number of the tap that it was found at."""
    library = xp(x)
    taps = windows.taps()
    shape = x.shape[: -len(windows.size)] + windows.counts
    lowest = -math.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    y = library.full(shape, lowest, x.dtype)
    winner = library.zeros(shape, np.uint8 if len(taps) <= 256 else np.int32)
    for number in reversed(range(len(taps))):  # so that the first of equals comes last, and stays
        _, inside, places = taps[number]
        candidate, best = x[places], y[inside]
        better = ~(candidate < best) & (best == best)  # NaN is above all
        library.copyto(best, candidate, where=better)
        library.copyto(winner[inside], number, where=better)
    return y, winner


def taken_from(winner: Array, x: Array, windows: Windows) -> Array:
    """For each window, the element of x at the tap whose number is given."""
    library = xp(x)
    y = library.zeros(winner.shape, x.dtype)
    for number, (_, inside, places) in enumerate(windows.taps()):
        library.copyto(y[inside], x[places], where=winner[inside] == number)
    return y


def positions(winner: Array, windows: Windows) -> Array:
    """The number of each winner's element in the image, counted row by row."""
    library = xp(winner)
    # How far apart neighbours in each dimension are when the elements are counted: (W, 1)
    steps = [math.prod(windows.size[d + 1 :]) for d in range(len(windows.size))]
    offsets = []  # of each tap from its window's start
    for k, _, _ in windows.taps():
        parts = zip(k, windows.dilation, windows.padding, steps, strict=True)
        offsets.append(sum((i * d - p) * step for i, d, p, step in parts))
    dimensions = zip(windows.counts, windows.stride, steps, strict=True)
    lines = [library.arange(count) * (stride * step) for count, stride, step in dimensions]
    starts = functools.reduce(library.add.outer, lines)  # of the windows: (H', W')
    return starts + library.asarray(offsets)[winner]


class AvgPool(Op):
    """y[i] = Σ x[i·stride + k − padding] / divisor[i];  dx = g, by AvgPoolTranspose"""

    def forward(self, x: Array, windows: Windows, divisor: Any) -> Array:
        self.windows, self.divisor = windows, divisor
        y = xp(x).zeros(x.shape[: -len(windows.size)] + windows.counts, x.dtype)
        for _, inside, places in windows.taps():
            y[inside] += x[places]
        return (y / divisor).astype(x.dtype, copy=False)

    def backward(self, g: Any) -> Any:
        return AvgPoolTranspose.apply(g, self.windows, self.divisor)


class AvgPoolTranspose(Op):
    """y[i·stride + k − padding] = Σ x[i] / divisor[i];  dx = g, by AvgPool"""

    def forward(self, x: Array, windows: Windows, divisor: Any) -> Array:
        self.windows, self.divisor = windows, divisor
        part = x / divisor
        y = xp(x).zeros(x.shape[: -len(windows.size)] + windows.size, x.dtype)
        for _, inside, places in windows.taps():
            y[places] += part[inside]
        return y

    def backward(self, g: Any) -> Any:
        return AvgPool.apply(g, self.windows, self.divisor)


# ------------------------------------------------------------------------------------------
# The largest element
# ------------------------------------------------------------------------------------------


def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool2d` over lines: input (N, C, L) or (C, L)."""
    if type(ceil_mode) is not bool:
        check_flags("max_pool1d", ceil_mode=ceil_mode)
    return _max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window; of equal ones the first gets the gradient.

    input (N, C, H, W) or (C, H, W) gives (N, C, H', W'), with H' as in `conv2d`.

    kernel_size:     of a window: one int, or (height, width), as all sizes here
    stride:          how far a window is from the next; kernel_size by default
    padding:         −∞ around the input, at most half a window
    dilation:        how far the elements of a window are apart
    ceil_mode:       also windows that reach out of the (padded) input
    return_indices:  also where each maximum is, as a number that counts the elements of (H, W)
    """
    if type(ceil_mode) is not bool:
        check_flags("max_pool2d", ceil_mode=ceil_mode)
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


@in_float32
def max_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool2d` over volumes: input (N, C, D, H, W) or (C, D, H, W)."""
    if type(ceil_mode) is not bool:
        check_flags("max_pool3d", ceil_mode=ceil_mode)
    return _max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def _max_pool(
    name: str, dims: int, input: Any, kernel: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    windows = pool_windows(name, dims, input, kernel, stride, padding, dilation, ceil_mode)
    return MaxPool.apply(input, windows, return_indices)


def pool_windows(
    name: str, dims: int, input: Any, kernel: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> Windows:  # fmt: skip
    """The windows over input's last dimensions, after checking all arguments."""
    require_numbers(name, input, NotImplementedError)
    shape = tuple(input.shape)
    check_image(name, dims, shape)
    kernel = sizes(name, "kernel_size", kernel, dims)
    # An empty tuple too means "as the kernel" in PyTorch.
    stride = kernel if stride in (None, (), []) else sizes(name, "stride", stride, dims)
    padding = sizes(name, "padding", padding, dims, least=0)
    dilation = sizes(name, "dilation", dilation, dims)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if any(2 * p > r for p, r in zip(padding, reach, strict=True)):
        raise RuntimeError(
            f"{name}: got padding {padding}, expected at most half of the window {tuple(reach)}"
        )
    windows = sliding(shape[-dims:], kernel, stride, padding, dilation, ceil_mode)
    if min(windows.counts) < 1:
        raise ShapeError(
            f"{name}: input of shape {shape} with padding {padding} is smaller than a window, of "
            f"size {tuple(reach)}"
        )
    return windows


def check_image(name: str, dims: int, shape: tuple) -> None:
    """Refuse a shape that is not (N, C, positions …) or (C, positions …)."""
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[-dims - 1 :]:
        raise ShapeError(
            f"{name}: got input of shape {shape}, expected {dims + 2} dimensions, or {dims + 1} "
            "without the batch, and no empty one after it"
        )


# ------------------------------------------------------------------------------------------
# The mean
# ------------------------------------------------------------------------------------------


def avg_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """`avg_pool2d` over lines: input (N, C, L) or (C, L)."""
    if type(ceil_mode) is not bool or type(count_include_pad) is not bool:
        check_flags("avg_pool1d", ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    return _avg_pool(
        "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    )


def avg_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window.

    input (N, C, H, W) or (C, H, W) gives (N, C, H', W'), with H' as in `conv2d`.

    kernel_size, stride, padding (zeros), ceil_mode: as in `max_pool2d`
    count_include_pad:  whether the zeros of the padding count as elements
    divisor_override:   divide the sum by this, and not by the number of elements
    """
    if type(ceil_mode) is not bool or type(count_include_pad) is not bool:
        check_flags("avg_pool2d", ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@in_float32
def avg_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """`avg_pool2d` over volumes: input (N, C, D, H, W) or (C, D, H, W)."""
    if type(ceil_mode) is not bool or type(count_include_pad) is not bool:
        check_flags("avg_pool3d", ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    return _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def _avg_pool(
    name: str, dims: int, input: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    if divisor is not None:
        check_ints(name, divisor_override=divisor)
    if divisor == 0:
        raise RuntimeError(f"{name}: got divisor_override 0, expected another number")
    windows = pool_windows(name, dims, input, kernel, stride, padding, 1, ceil_mode)
    counts = divisor or _elements(unwrap(input), windows, count_include_pad)
    return AvgPool.apply(input, windows, counts)


def _elements(x: Array, windows: Windows, include_padding: bool) -> Any:
    """How many elements each window has: a number if it is the same for all, else (H', W')."""
    lines = []
    for size, kernel, stride, padding, _, count in zip(*windows, strict=True):
        low, high = (-padding, size + padding) if include_padding else (0, size)
        starts = [i * stride - padding for i in range(count)]
        lines.append([min(start + kernel, high) - max(start, low) for start in starts])
    if all(len(set(line)) == 1 for line in lines):
        return math.prod(line[0] for line in lines)
    library = xp(x)
    arrays = [library.asarray(line, dtype=x.dtype) for line in lines]
    return functools.reduce(library.multiply.outer, arrays)


__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]
