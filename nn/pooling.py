"""Pooling layers: reduce each window of an image to its maximum or mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module

# fmt: off
__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d",
]
# fmt: on

Sizes = int | Sequence[int]  # one int for all dimensions of the image, or one for each


class _MaxPool(Module):
    function: Callable

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return type(self).function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window: (N, C, L) → (N, C, L'). Arguments as in MaxPool2d."""

    function = F.max_pool1d


class MaxPool2d(_MaxPool):
    """The largest pixel of each window: (N, C, H, W) → (N, C, H', W'), with H' as for Conv2d

    kernel_size:     size of a window: one int, or (height, width), like all sizes here
    stride:          step from one window to the next; kernel_size by default
    padding:         rows and columns of −∞ on each side, at most half a window
    dilation:        distance between the elements of a window
    return_indices:  also return the flat index of each maximum in its H·W image
    ceil_mode:       also use windows that extend beyond the image
    """

    function = F.max_pool2d


class MaxPool3d(_MaxPool):
    """The largest element of each window: (N, C, D, H, W) → (N, C, D', H', W'). As MaxPool2d."""

    function = F.max_pool3d


class AvgPool1d(Module):
    """The mean of each window: (N, C, L) → (N, C, L'). Arguments as in AvgPool2d."""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = self.kernel_size if stride is None else _single(stride)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


def _single(value: Sizes) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


class _AvgPool(Module):
    function: Callable

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window: (N, C, H, W) → (N, C, H', W'), with H' as for Conv2d

    kernel_size, stride, padding (zeros), ceil_mode: as in MaxPool2d
    count_include_pad:  whether the zeros of the padding count as elements
    divisor_override:   divide the sum by this instead of the number of elements
    """

    function = F.avg_pool2d


class AvgPool3d(_AvgPool):
    """The mean of each window: (N, C, D, H, W) → (N, C, D', H', W'). Arguments as in AvgPool2d."""

    function = F.avg_pool3d


# ------------------------------------------------------------------------------------------
# Adaptive pooling, to a given output size
# ------------------------------------------------------------------------------------------


class _Adaptive(Module):
    function: Callable

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return type(self).function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means of output_size windows that cover the input: (N, C, L) → (N, C, output_size)"""

    function = F.adaptive_avg_pool1d


class AdaptiveAvgPool2d(_Adaptive):
    """The means of H' × W' windows that cover the image: (N, C, H, W) → (N, C, H', W')

    output_size: (H', W'), or one int for both; None keeps the input's size. 1: the mean of all.
    """

    function = F.adaptive_avg_pool2d


class AdaptiveAvgPool3d(_Adaptive):
    """The means of windows that cover the volume: (N, C, D, H, W) → (N, C, D', H', W')"""

    function = F.adaptive_avg_pool3d


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self).function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest of each of output_size windows: (N, C, L) → (N, C, output_size)"""

    function = F.adaptive_max_pool1d


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest pixel of each of H' × W' windows: (N, C, H, W) → (N, C, H', W')

    output_size: as in AdaptiveAvgPool2d. return_indices: also return where they are.
    """

    function = F.adaptive_max_pool2d


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest of each of D' × H' × W' windows: (N, C, D, H, W) → (N, C, D', H', W')"""

    function = F.adaptive_max_pool3d
