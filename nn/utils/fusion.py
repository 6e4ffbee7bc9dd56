"""Batch norm merged into the layer before it, for evaluation; and other names of torch.nn.utils."""

from __future__ import annotations

import copy
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from ..module import Module
from ..parameter import Parameter

__all__ = [
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
    "skip_init",
]  # fmt: skip


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of `conv` that computes bn(conv(x)), both in evaluation mode."""
    _require_eval("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """(weight, bias) of the merged convolution: W·s and (b − mean)·s + β, s = γ / √(var + eps).

    transpose: the channels of the output are the second dimension of the weight, not the first.
    """
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of `linear` that computes bn(linear(x)), both in evaluation mode."""
    _require_eval("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            f"fuse_linear_bn_eval: got bn with {bn.num_features} features, expected "
            f"{linear.out_features} or 1"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor, bn_b: Tensor,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """(weight, bias) of the merged linear layer; see fuse_conv_bn_weights."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(
    weight: Any, bias: Any, mean: Tensor, variance: Tensor, eps: float, gamma: Any, beta: Any,
    shape: list[int],
) -> tuple[Parameter, Parameter]:  # fmt: skip
    with tt.no_grad():
        scale = tt.rsqrt(variance + eps)
        scale = scale if gamma is None else scale * gamma
        shift = ((0 if bias is None else bias) - mean) * scale
        shift = shift if beta is None else shift + beta
        new_weight = (weight * scale.reshape(*shape)).to(weight.dtype)
        new_bias = shift.to(weight.dtype if bias is None else bias.dtype)
    learns_bias = (weight if bias is None else bias).requires_grad
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, learns_bias)


def _require_eval(name: str, layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError(f"{name}: got a module in training mode, expected both in eval()")


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """module_cls(*args, **kwargs). PyTorch leaves the values uninitialised; here they are set."""
    return module_cls(*args, **kwargs)


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """`module`: the order of dimensions in memory has no effect here."""
    return module


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """`module`: the order of dimensions in memory has no effect here."""
    return module
