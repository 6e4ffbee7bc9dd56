"""The gradients of a convolution, as in torch.nn.grad: of its input and of its weight.

    y = conv(x, w):  conv2d_input(x.shape, w, g) = dx,  conv2d_weight(x, w.shape, g) = dw

for g of y's shape. stride, padding, dilation and groups are those of the convolution. The results
can be differentiated in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight",
]  # fmt: skip

Sizes = int | Sequence[int]


def conv1d_input(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Sizes = 1,
                 padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """dx of conv1d: input_size (N, C, L), weight (O, C/groups, K), grad_output (N, O, L')."""
    settings = (None, stride, padding, dilation, groups)
    return _gradient(lambda x: tt.conv1d(x, weight, *settings), input_size, weight, grad_output)


def conv1d_weight(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Sizes = 1,
                  padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """dw of conv1d: input (N, C, L), weight_size (O, C/groups, K), grad_output (N, O, L')."""
    settings = (None, stride, padding, dilation, groups)
    return _gradient(lambda w: tt.conv1d(input, w, *settings), weight_size, input, grad_output)


def conv2d_input(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Sizes = 1,
                 padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """dx of conv2d: input_size (N, C, H, W), weight (O, C/groups, …), grad_output (N, O, …)."""
    settings = (None, stride, padding, dilation, groups)
    return _gradient(lambda x: tt.conv2d(x, weight, *settings), input_size, weight, grad_output)


def conv2d_weight(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Sizes = 1,
                  padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """dw of conv2d: input (N, C, H, W), weight_size (O, C/groups, …), grad_output (N, O, …)."""
    settings = (None, stride, padding, dilation, groups)
    return _gradient(lambda w: tt.conv2d(input, w, *settings), weight_size, input, grad_output)


def conv3d_input(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Sizes = 1,
                 padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """dx of conv3d: input_size (N, C, D, H, W), weight (O, C/groups, …), grad_output (N, O, …)."""
    settings = (None, stride, padding, dilation, groups)
    return _gradient(lambda x: tt.conv3d(x, weight, *settings), input_size, weight, grad_output)


def conv3d_weight(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Sizes = 1,
                  padding: Sizes = 0, dilation: Sizes = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """dw of conv3d: input (N, C, D, H, W), weight_size (O, C/groups, …), grad_output (N, O, …)."""
    settings = (None, stride, padding, dilation, groups)
    return _gradient(lambda w: tt.conv3d(input, w, *settings), weight_size, input, grad_output)


def _gradient(convolve: Callable, size: Any, other: Tensor, grad_output: Tensor) -> Tensor:
    """grad_output carried back through convolve, which is linear: its argument may be zeros."""
    tracked = tt.is_grad_enabled() and (other.requires_grad or grad_output.requires_grad)
    with tt.enable_grad():
        at = tt.zeros(size, dtype=other.dtype, device=other.device, requires_grad=True)
        (gradient,) = tt.autograd.grad(convolve(at), at, grad_output, create_graph=tracked)
    return gradient
