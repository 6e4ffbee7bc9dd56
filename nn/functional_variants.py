"""Second forms of functions in torch.nn.functional: in place, with indices, under older names."""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.autograd.site import warn
from tinytensor.tensor import Tensor

# fmt: off
__all__ = [
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d_with_indices", "celu_", "elu_", "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d_with_indices", "hardtanh_", "leaky_relu_", "linear_cross_entropy",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "native_channel_shuffle", "relu_",
    "rrelu_", "selu_", "threshold_", "upsample", "upsample_bilinear", "upsample_nearest",
]
# fmt: on

# ------------------------------------------------------------------------------------------
# In place
# ------------------------------------------------------------------------------------------


def relu_(input: Tensor) -> Tensor:
    """`relu`, in place."""
    return tt.relu(input, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, in place."""
    return tt.elu(input, alpha, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu`, in place."""
    return tt.celu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """`selu`, in place."""
    return tt.selu(input, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, in place."""
    return tt.hardtanh(input, min_val, max_val, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, in place."""
    return tt.leaky_relu(input, negative_slope, inplace=True)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """`rrelu`, in place."""
    return tt.rrelu(input, lower, upper, training, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold`, in place."""
    return tt.threshold(input, threshold, value, inplace=True)


# ------------------------------------------------------------------------------------------
# With indices
# ------------------------------------------------------------------------------------------


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool1d` with return_indices=True."""
    return tt.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool2d` with return_indices=True."""
    return tt.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool3d` with return_indices=True."""
    return tt.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """`adaptive_max_pool1d` with return_indices=True."""
    return tt.adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """`adaptive_max_pool2d` with return_indices=True."""
    return tt.adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """`adaptive_max_pool3d` with return_indices=True."""
    return tt.adaptive_max_pool3d(input, output_size, True)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """`fractional_max_pool2d` with return_indices=True."""
    return tt.fractional_max_pool2d(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """`fractional_max_pool3d` with return_indices=True."""
    return tt.fractional_max_pool3d(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )


# ------------------------------------------------------------------------------------------
# Older names
# ------------------------------------------------------------------------------------------


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle`."""
    return tt.channel_shuffle(input, groups)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """`interpolate`, under its older name."""
    warn("upsample: deprecated, use interpolate")
    return tt.interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest"."""
    warn("upsample_nearest: deprecated, use interpolate")
    return tt.interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" and align_corners=True."""
    warn("upsample_bilinear: deprecated, use interpolate with align_corners=True")
    return tt.interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """cross_entropy(linear(input, linear_weight, linear_bias), target).

    input (N, D) or (D); linear_weight (C, …, D); target: classes (N, …) or probabilities (N, C, …).
    options, PyTorch's choice of a way that saves memory, has no effect.
    """
    name = "linear_cross_entropy"
    if input.ndim not in (1, 2) or linear_weight.ndim < 2:
        raise RuntimeError(
            f"{name}: got input of shape {tuple(input.shape)} and linear_weight of shape "
            f"{tuple(linear_weight.shape)}, expected (N, D) and (C, …, D)"
        )
    classes, *extra = linear_weight.shape[:-1]
    width = linear_weight.shape[-1]
    if input.shape[-1] != width or (extra and input.ndim == 1):
        raise RuntimeError(
            f"{name}: input has shape {tuple(input.shape)}, expected "
            f"{'' if extra else 'D or '}(N, D) with D = {width}"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *extra):
        raise RuntimeError(
            f"{name}: linear_bias has shape {tuple(linear_bias.shape)}, expected "
            f"{(classes, *extra)}"
        )
    shape = (*input.shape[:-1], classes, *extra)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError(f"{name}: got ignore_index, but target contains probabilities")
    flat = linear_weight.reshape((math.prod(extra, start=classes), width))  # (C·…, D)
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    return tt.cross_entropy(
        tt.nn.functional.linear(input, flat, bias).reshape(shape), target, weight=weight,
        reduction=reduction, label_smoothing=label_smoothing,
        ignore_index=-100 if ignore_index is None else ignore_index,
    )  # fmt: skip
