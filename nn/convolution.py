"""Convolution and transposed convolution over sequences (1d), images (2d) and volumes (3d)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

Sizes = int | Sequence[int]  # one int for all dimensions of the image, or one for each
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _each(value: Any, dims: int) -> tuple:
    """A tuple with one value for each dimension of the image."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims


class _Convolution(Module):
    """Base class of all convolutions, transposed or not: settings, weight and bias.

    weight (out_channels, in_channels / groups, kernel …), transposed (in_channels, out_channels /
    groups, kernel …); bias (out_channels). Both start uniform in ±1/√(elements of weight[0]).
    """

    dims: int  # of the image
    transposed = False
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes,
        padding: Sizes | str, dilation: Sizes, output_padding: Sizes, groups: int, bias: bool,
        padding_mode: str, device: Any, dtype: Any,
    ):  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if groups < 1:
            raise ValueError(f"{name}: got groups={groups}, expected at least 1")
        for what, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name}: {what}={channels} is not a multiple of groups={groups}")
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"{name}: got padding_mode {padding_mode!r}, expected one of {PADDING_MODES}"
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = _each(kernel_size, self.dims)
        self.stride = _each(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else _each(padding, self.dims)
        self.dilation = _each(dilation, self.dims)
        self.output_padding = _each(output_padding, self.dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_named_padding()
        first, second = in_channels, out_channels
        if not self.transposed:
            first, second = second, first
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(tt.empty(shape, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(tt.empty(out_channels, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def _check_named_padding(self) -> None:
        if not isinstance(self.padding, str):
            return
        name = type(self).__name__
        if self.padding not in ("same", "valid"):
            raise ValueError(
                f"{name}: got padding {self.padding!r}, expected ints, 'same' or 'valid'"
            )
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError(f"{name}: padding='same' needs stride 1, got {self.stride}")

    def reset_parameters(self) -> None:
        fan_in = math.prod(self.weight.shape[1:])
        if fan_in:
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None and fan_in:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        usual = {"padding": (0,), "dilation": (1,), "output_padding": (0,)}
        for name, value in usual.items():
            if getattr(self, name) != value * self.dims:
                text += f", {name}={getattr(self, name)}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


# ------------------------------------------------------------------------------------------
# Convolution
# ------------------------------------------------------------------------------------------


class _Conv(_Convolution):
    function: Callable

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The layer with another weight. Programs call and override it, under this name."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return type(self).function(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """(before, after) for each dimension, the last dimension first, as F.pad takes them."""
        if self.padding == "same":  # of an odd total, the end gets one more
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            ends = [(n // 2, n - n // 2) for n in total]
        elif self.padding == "valid":
            ends = [(0, 0)] * self.dims
        else:
            ends = [(n, n) for n in self.padding]
        return [n for pair in reversed(ends) for n in pair]


class Conv1d(_Conv):
    """y[o] = b[o] + Σ w[o, c]⋆x[c]:  x (N, in_channels, L) → y (N, out_channels, L')

    The arguments are those of Conv2d.
    """

    dims = 1
    function = F.conv1d


class Conv2d(_Conv):
    """y[o] = b[o] + Σ w[o, c]⋆x[c]:  x (N, in_channels, H, W) → y (N, out_channels, H', W')

    ⋆ slides a kernel over an image: each pixel of y is a weighted sum of a window of x. N is
    optional. H' = (H + 2·padding − dilation·(kernel_size − 1) − 1) // stride + 1, and the same for
    W'.

    kernel_size:   size of a window: one int, or (height, width), like all sizes here
    stride:        step from one window to the next
    padding:       pixels to add on each side; "same": as many as keep the size; "valid": none
    dilation:      distance between the elements of a window
    groups:        number of groups of channels; each group is convolved separately
    padding_mode:  what to pad with: "zeros", "reflect", "replicate" or "circular", see F.pad
    """

    dims = 2
    function = F.conv2d


class Conv3d(_Conv):
    """y[o] = b[o] + Σ w[o, c]⋆x[c]:  x (N, in_channels, D, H, W) → y (N, out_channels, D', H', W')

    The arguments are those of Conv2d.
    """

    dims = 3
    function = F.conv3d


# ------------------------------------------------------------------------------------------
# Transposed convolution
# ------------------------------------------------------------------------------------------


class _ConvTranspose(_Convolution):
    transposed = True
    function: Callable

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, bias: bool = True,
        dilation: Sizes = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}: got padding_mode {padding_mode!r}, expected 'zeros'"
            )
        if isinstance(padding, str):
            raise TypeError(f"{type(self).__name__}: got padding {padding!r}, expected ints")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """output_size: the size (H', W') of the result, where the stride allows several."""
        extra = self.output_padding
        if output_size is not None:
            extra = self._padding_for(tuple(output_size), tuple(input.shape[-self.dims :]))
        return type(self).function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip

    def _padding_for(self, output_size: tuple, input_size: tuple) -> tuple:
        """The output_padding for a size, which may include the batch and channel dimensions."""
        name = type(self).__name__
        if len(output_size) not in (self.dims, self.dims + 1, self.dims + 2):
            raise ValueError(f"{name}: got output_size {output_size}, expected {self.dims} numbers")
        size = output_size[-self.dims :]
        settings = zip(
            input_size, self.stride, self.padding, self.dilation, self.kernel_size, strict=True
        )
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in settings]
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if any(not a <= n <= b for a, n, b in zip(least, size, most, strict=True)):
            raise ValueError(f"{name}: got output_size {size}, expected {least} to {most}")
        return tuple(n - a for n, a in zip(size, least, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """The transpose of Conv1d: x (N, in_channels, L) → y (N, out_channels, L')

    The arguments are those of ConvTranspose2d.
    """

    dims = 1
    function = F.conv_transpose1d


class ConvTranspose2d(_ConvTranspose):
    """The transpose of Conv2d: x (N, in_channels, H, W) → y (N, out_channels, H', W')

    Each pixel of x, times the kernel, is added to a window of y, as in the gradient of Conv2d. With
    a stride, y is larger than x.
    H' = (H − 1)·stride − 2·padding + dilation·(kernel_size − 1) + output_padding + 1.

    padding:         pixels to remove on each side of y
    output_padding:  pixels to add at its end, as Conv2d maps several sizes of y to one size of x

    The other arguments are those of Conv2d.
    """

    dims = 2
    function = F.conv_transpose2d


class ConvTranspose3d(_ConvTranspose):
    """The transpose of Conv3d: x (N, in_channels, D, H, W) → y (N, out_channels, D', H', W')

    The arguments are those of ConvTranspose2d.
    """

    dims = 3
    function = F.conv_transpose3d
