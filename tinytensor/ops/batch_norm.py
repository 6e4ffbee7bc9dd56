"""Normalisation over a batch (batch_norm), and over each channel of each sample (instance_norm)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_flags, check_numbers, check_tensors
from ..autograd.inplace import assign
from ..autograd.variable import unwrap
from ..backend import Array
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .layer_norm import LayerNorm, check_parameter
from .power import rsqrt
from .promote import cast, require_float

if TYPE_CHECKING:
    from ..tensor import Tensor


@accelerated("batch_norm")
class BatchNorm(LayerNorm):
    """y = w·n + b, n = (x − mean x)·s;  dx, dw, db = as in LayerNorm

    Mean and variance are over the samples and positions of each channel.
    """

    forward, backward = LayerNorm.forward, LayerNorm.backward  # with a kernel of their own


@accelerated("group_norm")
class InstanceNorm(LayerNorm):
    """y = w·n + b, n = (x − mean x)·s;  dx, dw, db = as in LayerNorm

    Mean and variance are over the positions of each channel of each sample.
    """

    forward, backward = LayerNorm.forward, LayerNorm.backward  # with a kernel of their own


class RunningStatistics:
    """running ← (1 − momentum)·running + momentum·observed, in place, as a batch goes through.

    Either may be None. The variance is rescaled from division by n to division by n − 1, as PyTorch
    does here.
    """

    def __init__(self, mean: Any, variance: Any, momentum: float, count: int):
        self.mean, self.variance, self.momentum, self.count = mean, variance, momentum, count

    def __call__(self, mean: Array, variance: Array) -> None:
        """mean and variance: (1, C, 1, …), or (N, C, 1, …) to be averaged over N."""
        if not self.count:
            return  # an empty batch has no statistics
        unbiased = variance * (self.count / (self.count - 1))
        for running, observed in ((self.mean, mean), (self.variance, unbiased)):
            if running is not None:
                observed = observed.mean(axis=0).reshape(-1)  # (N, C, 1, …) → (C)
                change = self.momentum * (observed - unwrap(running))
                assign(running, ..., unwrap(running) + change, "batch_norm")


def _checked(name: str, input: Any, parameters: dict) -> tuple:
    """The shape that makes a (C) tensor broadcast over x (N, C, …): (C, 1, …)."""
    require_float(name, input)
    shape = tuple(input.shape)
    if len(shape) < 2:
        raise ShapeError(f"{name}: x has shape {shape}, expected (N, C, …)")
    channels = shape[1] * (shape[0] if name == "instance_norm" else 1)
    if not channels and any(parameters[p] is not None for p in ("weight", "bias")):
        raise IndexError(f"{name}: x has shape {shape}, expected at least one channel for weights")
    for what, parameter in parameters.items():
        check_parameter(name, what, parameter, shape[1:2], "axis 1", input)
    return (shape[1],) + (1,) * (len(shape) - 2)


def _check_pair(name: str, running_mean: Any, running_var: Any) -> None:
    if (running_mean is None) is not (running_var is None):
        raise ValueError(f"{name}: got one of running_mean and running_var, expected both or none")


def _values_per(name: str, what: str, input: Any, axes: tuple) -> int:
    """The number of values in each mean; an error for one, which has no variance."""
    count = math.prod(input.shape[axis] for axis in axes)
    if count == 1:
        raise ValueError(
            f"{name}: expected more than 1 value per {what} when training, got x of shape "
            f"{tuple(input.shape)}"
        )
    return count


def _reshaped(parameter: Any, shape: tuple) -> Any:
    """(C) → (C, 1, …), so that it broadcasts over x (N, C, …)."""
    return None if parameter is None else parameter.reshape(shape)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 for each channel, then ·weight + bias.

    input (N, C, …); all others (C). In training, mean and variance are those of the batch, and the
    running ones, if given, are updated in place; otherwise the running ones are used.
    """
    check_tensors(
        "batch_norm", running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    if type(training) is not bool:
        check_flags("batch_norm", training=training)
    if eps < 0 or (training and eps == 0):
        least = "more than 0 in training" if training else "at least 0"
        raise ValueError(f"batch_norm: got eps={eps}, expected {least}")
    parameters = {
        "running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias
    }  # fmt: skip
    if array_of("batch_norm", input).shape == (0,) and weight is None and bias is None:
        return input.clone()  # as in PyTorch: no channels, nothing to compute
    shape = _checked("batch_norm", input, parameters)
    weight, bias = _reshaped(weight, shape), _reshaped(bias, shape)
    if training:
        _check_pair("batch_norm", running_mean, running_var)
        axes = (0, *range(2, input.ndim))
        count = _values_per("batch_norm", "channel", input, axes)
        update = RunningStatistics(running_mean, running_var, momentum, count)
        return BatchNorm.apply(input, weight, bias, axes, eps, update)
    if running_mean is None or running_var is None:
        raise RuntimeError(
            "batch_norm: running_mean and running_var are needed in evaluation; "
            "pass them, or training=True"
        )
    y = _with_running(input, running_mean, running_var, weight, bias, eps, shape)
    return cast(y, unwrap(input).dtype)


def _with_running(
    input: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float, shape: tuple
) -> Any:
    """(x − mean) / √(variance + eps)·weight + bias, as one scale and one shift for each channel."""
    scale = rsqrt(variance.reshape(shape) + eps)
    if weight is not None:
        scale = scale * weight
    shift = -mean.reshape(shape) * scale
    if bias is not None:
        shift = shift + bias
    return input * scale + shift


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the positions of each channel of each sample, ·weight + bias.

    input (N, C, positions …); all others (C). use_input_stats=False: the running mean and variance
    are used instead; otherwise they, if given, are updated in place.
    """
    check_tensors(
        "instance_norm",
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    if type(use_input_stats) is not bool:
        check_flags("instance_norm", use_input_stats=use_input_stats)
    parameters = {
        "running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias
    }  # fmt: skip
    if type(eps) is not float:
        check_numbers("instance_norm", eps=eps)
    shape = _checked("instance_norm", input, parameters)
    weight, bias = _reshaped(weight, shape), _reshaped(bias, shape)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "instance_norm: running_mean and running_var are needed with use_input_stats=False"
            )
        return _with_running(input, running_mean, running_var, weight, bias, eps, shape)
    _check_pair("instance_norm", running_mean, running_var)
    axes = tuple(range(2, input.ndim))
    count = _values_per("instance_norm", "channel of a sample", input, axes)
    update = RunningStatistics(running_mean, running_var, momentum, count)
    return InstanceNorm.apply(input, weight, bias, axes, eps, update)


__all__ = ["batch_norm", "instance_norm"]
