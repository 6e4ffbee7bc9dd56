"""Transposed convolution: a convolution's gradient for its image, as a function of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ShapeError
from .convolution import ConvTranspose, check_bias, check_inputs
from .windows import Sizes, Windows, sizes

if TYPE_CHECKING:
    from ..tensor import Tensor


def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """`conv_transpose2d` over lines: input (N, O, L) or (O, L), weight (O, C/groups, K)."""
    return _transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """What `conv2d` with the same settings does to gradients: from output to image.

    Each input element, times the weight, is added to a window of the result. input (N, O, H, W) or
    (O, H, W), weight (O, C/groups, kH, kW), bias (C). The result is (N, C, H', W') with
    H' = (H − 1)·stride − 2·padding + dilation·(kH − 1) + output_padding + 1, the same for W'.

    padding:         rows and columns taken away all around the result
    output_padding:  ones added at its end, as several sizes of image give one size of output
    """
    return _transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """`conv_transpose2d` over volumes: input (N, O, D, H, W) or (O, D, H, W)."""
    return _transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups,
        dilation,
    )  # fmt: skip


def _transpose(
    name: str, dims: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    output_padding: Any, groups: int, dilation: Any,
) -> Any:  # fmt: skip
    x, batched = check_inputs(name, dims, input, weight, bias, groups)
    if x.shape[1] != weight.shape[0]:
        raise ShapeError(
            f"{name}: input has {x.shape[1]} channels (shape {tuple(input.shape)}), weight "
            f"{tuple(weight.shape)} expects {weight.shape[0]}"
        )
    check_bias(name, bias, weight, weight.shape[1] * groups)
    stride = sizes(name, "stride", stride, dims)
    padding = sizes(name, "padding", padding, dims, least=0)
    extra = sizes(name, "output_padding", output_padding, dims, least=0)
    dilation = sizes(name, "dilation", dilation, dims)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(
            f"{name}: got output_padding {extra}, expected less than stride {stride} or "
            f"dilation {dilation}"
        )
    count, kernel = tuple(x.shape[2:]), tuple(weight.shape[2:])
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(count, stride, padding, dilation, kernel, extra, strict=True)
    )
    if min(size) < 1:
        raise ShapeError(
            f"{name}: input of shape {tuple(input.shape)} with padding {padding} gives an output "
            f"of size {size}, which is too small"
        )
    windows = Windows(size, kernel, stride, padding, dilation, count)
    y = ConvTranspose.apply(x, weight, bias, windows, groups)
    return y if batched else y.reshape(y.shape[1:])


__all__ = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
