"""unfold: the windows of an image as columns of a matrix (im2col); fold: its transpose (col2im)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..backend import Array, xp
from ..errors import ShapeError
from .promote import require_float
from .windows import ALL, Sizes, Windows, sizes, sliding

if TYPE_CHECKING:
    from ..tensor import Tensor


class Columns(Op):
    """y[n, c·K + k, i] = x[n, c, i·stride + k·dilation − padding];  dx = g, by FoldColumns

    (N, C, size …) → (N, C·K, L) for K elements of the kernel and L windows.
    """

    def forward(self, x: Array, windows: Windows) -> Array:
        self.windows = windows
        samples, channels = x.shape[:2]
        y = xp(x).zeros((samples, channels, *windows.kernel, *windows.counts), x.dtype)
        for k, inside, places in windows.taps():
            y[(ALL, ALL) + k][inside] = x[places]
        length = channels * math.prod(windows.kernel)
        return y.reshape(samples, length, math.prod(windows.counts))

    def backward(self, g: Any) -> Any:
        return FoldColumns.apply(g, self.windows)


class FoldColumns(Op):
    """y[n, c, i·stride + k·dilation − padding] = Σ x[n, c·K + k, i];  dx = g, by Columns

    The transpose of Columns: (N, C·K, L) → (N, C, size …); overlapping windows are added.
    """

    def forward(self, x: Array, windows: Windows) -> Array:
        self.windows = windows
        samples, channels = x.shape[0], x.shape[1] // math.prod(windows.kernel)
        # (N, C·K, L) → (N, C, kernel …, count …)
        x = x.reshape(samples, channels, *windows.kernel, *windows.counts)
        y = xp(x).zeros((samples, channels, *windows.size), x.dtype)
        for k, inside, places in windows.taps():
            y[places] += x[(ALL, ALL) + k][inside]
        return y

    def backward(self, g: Any) -> Any:
        return Columns.apply(g, self.windows)


def unfold(
    input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """The windows of an image as columns: (N, C, H, W) → (N, C·kH·kW, L), for L windows.

    This is nn.functional.unfold (im2col). A tensor's method `unfold` makes windows along one
    dimension.
    """
    if array_of("unfold", input).dtype.kind != "b":
        require_float("unfold", input, NotImplementedError)
    shape = tuple(input.shape)
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise ShapeError(f"unfold: got input of shape {shape}, expected (N, C, H, W) or (C, H, W)")
    windows = _windows("unfold", shape[-2:], kernel_size, dilation, padding, stride)
    if len(shape) == 4:
        return Columns.apply(input, windows)
    y = Columns.apply(input.reshape((1, *shape)), windows)
    return y.reshape(y.shape[1:])


def fold(
    input: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1,
    padding: Sizes = 0, stride: Sizes = 1,
) -> Tensor:  # fmt: skip
    """Add columns into an image, each where `unfold` read it: (N, C·kH·kW, L) → (N, C, H, W).

    output_size: (H, W)
    """
    require_float("fold", input, NotImplementedError)
    shape = tuple(input.shape)
    size = sizes("fold", "output_size", output_size, 2)
    windows = _windows("fold", size, kernel_size, dilation, padding, stride)
    elements, count = math.prod(windows.kernel), math.prod(windows.counts)
    if len(shape) not in (2, 3) or not shape[-2] or shape[-2] % elements or shape[-1] != count:
        raise ShapeError(
            f"fold: got input of shape {shape}, expected (N, C·{elements}, {count}) for kernel "
            f"{windows.kernel} and {windows.counts} windows over {size}"
        )
    if len(shape) == 3:
        return FoldColumns.apply(input, windows)
    y = FoldColumns.apply(input.reshape((1, *shape)), windows)
    return y.reshape(y.shape[1:])


def _windows(
    name: str, size: tuple, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> Windows:
    windows = sliding(
        size,
        sizes(name, "kernel_size", kernel, 2),
        sizes(name, "stride", stride, 2),
        sizes(name, "padding", padding, 2, least=0),
        sizes(name, "dilation", dilation, 2),
    )
    if min(windows.counts) < 1:
        raise ShapeError(
            f"{name}: a picture of size {size} with padding {windows.padding} is smaller than the "
            f"kernel {windows.kernel} with dilation {windows.dilation}"
        )
    return windows


__all__ = ["fold", "unfold"]
