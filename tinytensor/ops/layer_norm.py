"""Normalisation within each sample: layer_norm, group_norm, rms_norm.

layer_norm, group_norm, batch_norm and instance_norm are one rule over different axes: subtract the
mean, divide by the standard deviation, then scale by `weight` and shift by `bias`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_ints, check_numbers, check_tensors
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, is_array
from ..dtype import finfo
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .power import rsqrt
from .promote import cast, require_float, require_same_dtype
from .reduce import count_in, mean, total

if TYPE_CHECKING:
    from ..tensor import Tensor


# Means over `axes`, with keepdims. On arrays they are plain sums; on tensors, in a rule whose
# gradient is itself differentiated, they are ops.


def mean_over(x: Any, axes: tuple) -> Any:
    """The mean of x."""
    if not is_array(x):
        return mean(x, axes, keepdim=True)
    sums = total(x, axes, keepdim=True)
    return sums / count_in(x, sums)


def center_of(x: Any, axes: tuple) -> Any:
    """The mean of x, summed in float64, so that the mean of equal numbers is that number."""
    if not is_array(x):
        return cast(mean(x, axes, keepdim=True, dtype=np.float64), unwrap(x).dtype)
    sums = x.sum(axis=axes, keepdims=True, dtype=np.float64)
    return (sums / count_in(x, sums)).astype(x.dtype)


def mean_square(x: Any, axes: tuple) -> Any:
    """The mean of x²: the variance, if x has mean 0."""
    return mean_over(x * x, axes)


@accelerated("layer_norm")
class LayerNorm(Op):
    """y = w·n + b, n = (x − mean x)·s, s = 1 / √(var x + eps);
    dn = g·w,  dx = s·(dn − mean dn − n·mean(dn·n)),  dw = g·n,  db = g

    mean and var are over `axes`; w and b broadcast. `observe(mean, var)` is called if given.
    """

    saves: Any = ("x", "weight")
    fresh = True

    def forward(self, x: Array, weight: Array | None, bias: Array | None, axes: tuple, eps: float,
                observe: Callable | None = None) -> Array:  # fmt: skip
        self.axes, self.eps = axes, eps
        center = self.keep(center_of, x, axes)
        y = x - center
        variance = self.keep(mean_square, y, axes)
        if observe is not None:
            observe(center, variance)
        y *= (variance + eps) ** -0.5
        if weight is not None:
            y *= weight
        if bias is not None:
            y += bias
        return y

    def backward(self, g: Any) -> Any:
        x, weight = self.saved
        centered = x - self.recall(center_of, x, self.axes)
        s = rsqrt(self.recall(mean_square, centered, self.axes) + self.eps)
        n = centered * s
        dx = None
        if self.needs(0):
            dn = g if weight is None else g * weight
            dx = s * (dn - mean_over(dn, self.axes) - n * mean_over(dn * n, self.axes))
        return dx, g * n if self.needs(1) else None, g


@accelerated("group_norm")
class GroupNorm(LayerNorm):
    """y = w·n + b, n = (x − mean x)·s;  dx, dw, db = as in LayerNorm

    Mean and variance are over the channels of one group and their positions.
    """

    forward, backward = LayerNorm.forward, LayerNorm.backward  # with a kernel of their own


@accelerated("layer_norm")
class RmsNorm(Op):
    """y = w·n, n = x·s, s = 1 / √(mean x² + eps);
    dn = g·w,  dx = s·(dn − n·mean(dn·n)),  dw = g·n
    """

    saves: Any = ("x", "weight")
    fresh = True

    def forward(self, x: Array, weight: Array | None, axes: tuple, eps: float) -> Array:
        self.axes, self.eps = axes, eps
        y = x * (self.keep(mean_square, x, axes) + eps) ** -0.5
        if weight is not None:
            y *= weight
        return y

    def backward(self, g: Any) -> Any:
        x, weight = self.saved
        s = rsqrt(self.recall(mean_square, x, self.axes) + self.eps)
        n = x * s
        dn = g if weight is None else g * weight
        dx = s * (dn - n * mean_over(dn * n, self.axes)) if self.needs(0) else None
        return dx, g * n if self.needs(1) else None


# ------------------------------------------------------------------------------------------
# Checks that the functions share
# ------------------------------------------------------------------------------------------


def check_parameter(
    name: str, what: str, parameter: Any, shape: tuple, of: str, input: Any
) -> None:
    """Refuse a weight or bias (or running statistic) that does not fit the input."""
    if parameter is None:
        return
    found = tuple(parameter.shape)
    if found != shape:
        raise ShapeError(
            f"{name}: {what} has shape {found}, expected {shape}, {of} of x {tuple(input.shape)}"
        )
    dtype, own = unwrap(input).dtype, unwrap(parameter).dtype
    if not (dtype.itemsize == 2 and own == np.float32):  # as PyTorch mixes them
        require_same_dtype(name, what, parameter, input)


def normalized_axes(name: str, input: Any, normalized_shape: Any) -> tuple[tuple, tuple, str]:
    """(shape, axes, their name in errors) of the last dimensions, which are to be normalised."""
    try:
        shape = tuple(map(operator.index, normalized_shape))
    except TypeError:
        check_ints(name, normalized_shape=normalized_shape)  # PyTorch: only the modules take it
        shape = (operator.index(normalized_shape),)
    found = tuple(input.shape)
    if not shape or found[-len(shape) :] != shape:
        wanted = ", ".join(["…", *map(str, shape)])
        raise ShapeError(
            f"{name}: x has shape {found}, expected ({wanted}) for normalized_shape {shape}, which "
            "names at least one dimension"
        )
    of = "the last axis" if len(shape) == 1 else f"the last {len(shape)} axes"
    return shape, tuple(range(-len(shape), 0)), of


# ------------------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------------------


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then ·weight + bias.

    input (…, *normalized_shape); weight and bias, if given, have the shape normalized_shape.
    """
    if not (isinstance(weight, Variable) and isinstance(bias, Variable)):
        check_tensors("layer_norm", weight=weight, bias=bias)
    require_float("layer_norm", input)
    if type(eps) is not float:
        check_numbers("layer_norm", eps=eps)
    shape, axes, of = normalized_axes("layer_norm", input, normalized_shape)
    check_parameter("layer_norm", "weight", weight, shape, of, input)
    check_parameter("layer_norm", "bias", bias, shape, of, input)
    return LayerNorm.apply(input, weight, bias, axes, eps)


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root mean square over the last dimensions, then ·weight.

    input (…, *normalized_shape), weight of the shape normalized_shape. eps: by default the machine
    epsilon of the dtype that it is computed in.
    """
    check_tensors("rms_norm", weight=weight)
    require_float("rms_norm", input)
    shape, axes, of = normalized_axes("rms_norm", input, normalized_shape)
    check_parameter("rms_norm", "weight", weight, shape, of, input)
    if eps is None:
        dtype = unwrap(input).dtype
        eps = finfo(dtype if dtype.itemsize > 2 else np.float32).eps
    return RmsNorm.apply(input, weight, axes, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over each group of channels of each sample, then ·weight + bias.

    input (N, C, …), with C a multiple of num_groups; weight and bias (C).
    """
    check_tensors("group_norm", weight=weight, bias=bias)
    require_float("group_norm", input)
    if type(eps) is not float:
        check_numbers("group_norm", eps=eps)
    shape = tuple(input.shape)
    if len(shape) < 2:
        raise ShapeError(f"group_norm: x has shape {shape}, expected (N, C, …)")
    samples, channels = shape[:2]
    if num_groups <= 0 or channels % num_groups:
        raise ShapeError(
            f"group_norm: x {shape} has {channels} channels, which is not a multiple of "
            f"num_groups={num_groups}"
        )
    if input.numel() and samples * channels // num_groups * math.prod(shape[2:]) == 1:
        raise ValueError(
            f"group_norm: expected more than 1 value per group, got x of shape {shape}"
        )
    check_parameter("group_norm", "weight", weight, (channels,), "axis 1", input)
    check_parameter("group_norm", "bias", bias, (channels,), "axis 1", input)
    size = channels // num_groups
    # (N, C, …) → (N, G, C/G, positions); weight and bias (C) → (G, C/G, 1)
    positions = int(np.prod(shape[2:], dtype=np.int64))
    grouped = input.reshape((samples, num_groups, size, positions))
    if weight is not None:
        weight = weight.reshape((num_groups, size, 1))
    if bias is not None:
        bias = bias.reshape((num_groups, size, 1))
    return GroupNorm.apply(grouped, weight, bias, (2, 3), eps).reshape(shape)


__all__ = ["group_norm", "layer_norm", "rms_norm"]
