"""Convolution and its transpose, over lines, pictures and volumes.

Convolution is three ops, each linear in both of its inputs: the output from image and weight, the
image's gradient from output and weight, the weight's gradient from image and output. The gradients
of each are the other two, so that all orders of derivatives come from the same code. The second of
them, taken by itself, is the transposed convolution (conv_transpose.py).

All three lay out an image as columns, one for each window, and are one matrix product for each
group of channels. Letters: N samples, C channels of the image, O of the output, G groups, K
elements of the kernel, L windows (positions of the output).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, sum_over, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .matmul import check_operands
from .windows import ALL, Sizes, Windows, sizes, sliding

if TYPE_CHECKING:
    from ..tensor import Tensor

CACHE, GPU_MEMORY = 2**21, 2**28  # bytes that the columns of a block of samples may take


@accelerated("convolution")
class Convolution(Op):
    """y[n, o, i] = b[o] + Σ w[o, c, k]·x[n, c, i·stride + k·dilation − padding];
    dx = g and w, by ConvTranspose, dw = x and g, by ConvWeight, db = Σ g
    """

    saves = {"x": "w", "w": "x"}

    def forward(self, x: Array, w: Array, b: Array | None, windows: Windows, groups: int) -> Array:
        self.windows, self.groups = windows, groups
        matrix = weight_matrix(w, groups)
        y = xp(x).empty((x.shape[0], w.shape[0], *windows.counts), x.dtype)
        by_channel = y.swapaxes(0, 1)  # (N, O, counts …) → (O, N, counts …)
        for some in blocks_of_samples(x, windows):
            # (G, O/G, C/G·K) times (G, C/G·K, N·L) → (G, O/G, N·L) → (O, N, counts …)
            product = matrix @ columns(x[some], windows, groups)
            by_channel[:, some] = product.reshape(by_channel[:, some].shape)
        return add_bias(y, b)

    def backward(self, g: Any) -> Any:
        x, w = self.saved
        rest = self.windows, self.groups
        dx = None if w is None else ConvTranspose.apply(g, w, None, *rest)
        dw = None if x is None else ConvWeight.apply(x, g, *rest)
        return dx, dw, sum_channels(g) if self.needs(2) else None


@accelerated("convolution")
class ConvTranspose(Op):
    """y[n, c, i·stride + k·dilation − padding] = b[c] + Σ w[o, c, k]·x[n, o, i];
    dx = g and w, by Convolution, dw = g and x, by ConvWeight, db = Σ g

    windows: those of the convolution that this is the transpose of; its image is y.
    """

    saves = {"x": "w", "w": "x"}

    def forward(self, x: Array, w: Array, b: Array | None, windows: Windows, groups: int) -> Array:
        self.windows, self.groups = windows, groups
        matrix = weight_matrix(w, groups).swapaxes(1, 2)
        y = xp(x).zeros((x.shape[0], w.shape[1] * groups, *windows.size), x.dtype)
        for some in blocks_of_samples(y, windows):
            # (G, C/G·K, O/G) times (G, O/G, N·L) → (G, C/G·K, N·L)
            add_columns(y[some], matrix @ output_matrix(x[some], groups), windows)
        return add_bias(y, b)

    def backward(self, g: Any) -> Any:
        x, w = self.saved
        rest = self.windows, self.groups
        dx = None if w is None else Convolution.apply(g, w, None, *rest)
        dw = None if x is None else ConvWeight.apply(g, x, *rest)
        return dx, dw, sum_channels(g) if self.needs(2) else None


@accelerated("convolution")
class ConvWeight(Op):
    """w[o, c, k] = Σ x[n, c, i·stride + k·dilation − padding]·y[n, o, i];
    dx = y and g, by ConvTranspose, dy = x and g, by Convolution

    The gradient of a convolution's weight, from its image x and the gradient y of its output.
    """

    saves = {"x": "y", "y": "x"}

    def forward(self, x: Array, y: Array, windows: Windows, groups: int) -> Array:
        self.windows, self.groups = windows, groups
        w = xp(x).zeros((y.shape[1], x.shape[1] // groups, *windows.kernel), x.dtype)
        matrix = weight_matrix(w, groups)  # in the same memory
        for some in blocks_of_samples(x, windows):
            # (G, O/G, N·L) times (G, N·L, C/G·K) → (G, O/G, C/G·K)
            rows = columns(x[some], windows, groups).swapaxes(1, 2)
            matrix += output_matrix(y[some], groups) @ rows
        return w

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        rest = None, self.windows, self.groups
        dx = None if y is None else ConvTranspose.apply(y, g, *rest)
        dy = None if x is None else Convolution.apply(x, g, *rest)
        return dx, dy


def columns(x: Array, windows: Windows, groups: int) -> Array:
    """(N, C, size …) → (G, C/G·K, N·L): the elements of each window as one column."""
    samples, channels = x.shape[:2]
    shape = (channels, *windows.kernel, samples, *windows.counts)
    y = xp(x).zeros(shape, x.dtype)  # what no tap reaches is padding
    by_channel = x.swapaxes(0, 1)  # (N, C, size …) → (C, N, size …)
    for k, inside, places in windows.taps():
        y[(ALL,) + k][inside] = by_channel[places]
    length = channels // groups * math.prod(windows.kernel)
    return y.reshape(groups, length, samples * math.prod(windows.counts))


def add_columns(y: Array, x: Array, windows: Windows) -> None:
    """Add columns (G, C/G·K, N·L) to an image y (N, C, size …), each where its window lies."""
    samples, channels = y.shape[:2]
    # (G, C/G·K, N·L) → (C, kernel …, N, counts …)
    x = x.reshape(channels, *windows.kernel, samples, *windows.counts)
    by_channel = y.swapaxes(0, 1)  # (N, C, size …) → (C, N, size …)
    for k, inside, places in windows.taps():
        by_channel[places] += x[(ALL,) + k][inside]


def blocks_of_samples(image: Array, windows: Windows) -> Iterator[slice]:
    """Slices of the batch, sized so that the columns of each fit a cache."""
    samples, channels = image.shape[:2]
    elements = channels * math.prod(windows.kernel) * math.prod(windows.counts)
    room = CACHE if xp(image) is np else GPU_MEMORY
    step = max(1, room // max(1, elements * image.dtype.itemsize))
    for start in range(0, samples, step):
        yield slice(start, start + step)


def weight_matrix(w: Array, groups: int) -> Array:
    """(O, C/G, kernel …) → (G, O/G, C/G·K)"""
    return w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))


def output_matrix(y: Array, groups: int) -> Array:
    """(N, O, counts …) → (O, N, counts …) → (G, O/G, N·L)"""
    samples, channels = y.shape[:2]
    length = samples * math.prod(y.shape[2:])
    return y.swapaxes(0, 1).reshape(groups, channels // groups, length)


def add_bias(y: Array, b: Array | None) -> Array:
    """y (N, O, …) + b (O), in the memory of y."""
    if b is not None:
        y += b.reshape(-1, *(1,) * (y.ndim - 2))
    return y


def sum_channels(g: Any) -> Any:
    """(N, O, …) → (O): the gradient of a bias."""
    return sum_over(g, (0, *range(2, g.ndim)))


# ------------------------------------------------------------------------------------------
# Convolution
# ------------------------------------------------------------------------------------------


def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolution over lines: input (N, C, L) or (C, L), weight (O, C/groups, K), bias (O).

    The other arguments are as in `conv2d`.
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolution over pictures: each output is a weighted sum of a window of the input.

    input (N, C, H, W) or (C, H, W), weight (O, C/groups, kH, kW), bias (O). The result is (N, O,
    H', W') with H' = (H + 2·padding − dilation·(kH − 1) − 1) // stride + 1, and the same for W'.

    stride:    how far a window is from the next
    padding:   zeros around the input; "same": as many as keep its size; "valid": none
    dilation:  how far the elements of a window are apart
    groups:    the number of groups that channels are divided into; groups do not mix

    Each of the first three is one int, or one for each of (H, W).
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolution over volumes: input (N, C, D, H, W) or (C, D, H, W), weight (O, C/groups, …).

    The other arguments are as in `conv2d`.
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _convolve(
    name: str, dims: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    dilation: Any, groups: int,
) -> Any:  # fmt: skip
    image, batched = check_inputs(name, dims, input, weight, bias, groups)
    channels, expected = image.shape[1], weight.shape[1] * groups
    if channels != expected:
        raise ShapeError(
            f"{name}: input has {channels} channels (shape {tuple(input.shape)}), weight "
            f"{tuple(weight.shape)} with groups={groups} expects {expected}"
        )
    check_bias(name, bias, weight, weight.shape[0])
    stride = sizes(name, "stride", stride, dims)
    dilation = sizes(name, "dilation", dilation, dims)
    size, kernel = tuple(image.shape[2:]), tuple(weight.shape[2:])
    if isinstance(padding, str):
        windows = _named_padding(name, padding, size, kernel, stride, dilation)
    else:
        padding = sizes(name, "padding", padding, dims, least=0)
        windows = sliding(size, kernel, stride, padding, dilation)
    if min(windows.counts) < 1:
        raise ShapeError(
            f"{name}: input of shape {tuple(input.shape)} with padding {padding} is smaller than "
            f"the kernel {kernel} with dilation {dilation}"
        )
    y = Convolution.apply(image, weight, bias, windows, groups)
    return y if batched else y.reshape(y.shape[1:])


def _named_padding(
    name: str, padding: str, size: tuple, kernel: tuple, stride: tuple, dilation: tuple
) -> Windows:
    """The windows for padding "same" or "valid"."""
    if padding not in ("same", "valid"):
        raise RuntimeError(f"{name}: got padding {padding!r}, expected ints, 'same' or 'valid'")
    if padding == "valid":
        return sliding(size, kernel, stride, (0,) * len(size), dilation)
    if max(stride) > 1:
        raise RuntimeError(f"{name}: padding='same' needs stride 1, got {stride}")
    # As many windows as elements. An odd number of zeros is one more at the end.
    before = tuple(d * (k - 1) // 2 for d, k in zip(dilation, kernel, strict=True))
    return Windows(size, kernel, stride, before, dilation, size)


# ------------------------------------------------------------------------------------------
# Checks
# ------------------------------------------------------------------------------------------


def check_inputs(
    name: str, dims: int, input: Any, weight: Any, bias: Any, groups: int
) -> tuple[Any, bool]:
    """(input as a batch, whether it was one), after checking dtypes, ranks and groups."""
    tensors = [input, weight] if bias is None else [input, weight, bias]
    check_operands(name, *map(unwrap, tensors))
    if groups < 1:
        raise RuntimeError(f"{name}: got groups={groups}, expected at least 1")
    if weight.ndim != dims + 2 or input.ndim not in (dims + 1, dims + 2):
        raise ShapeError(
            f"{name}: got input of shape {tuple(input.shape)} and weight of shape "
            f"{tuple(weight.shape)}, expected {dims + 2} dimensions each (input without the batch: "
            f"{dims + 1})"
        )
    if not weight.shape[0] or weight.shape[0] % groups:
        raise ShapeError(
            f"{name}: weight {tuple(weight.shape)} has {weight.shape[0]} channels in its first "
            f"dimension, expected a multiple of groups={groups}"
        )
    batched = input.ndim == dims + 2
    if not unwrap(input).size and 0 not in input.shape[:-dims]:
        raise ShapeError(
            f"{name}: got input of shape {tuple(input.shape)}, expected at least one position; "
            "only the batch may be empty"
        )
    return input if batched else input.reshape((1, *input.shape)), batched


def check_bias(name: str, bias: Any, weight: Any, channels: int) -> None:
    if bias is not None and tuple(bias.shape) != (channels,):
        raise ShapeError(
            f"{name}: bias has shape {tuple(bias.shape)}, expected ({channels},) for weight "
            f"{tuple(weight.shape)}"
        )


__all__ = ["conv1d", "conv2d", "conv3d"]
