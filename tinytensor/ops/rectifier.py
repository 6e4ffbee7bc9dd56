"""Piecewise linear activations: relu, leaky_relu, prelu, hardtanh and others.

At a corner the slope is the one that PyTorch takes: that of the left piece for relu and leaky_relu,
0 at both bounds of hardtanh and relu6. NaN stays NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, check_given
from ..autograd.inplace import write
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, xp
from ..create.generator import generator_for
from ..create.memory_errors import named_if_out_of_memory
from ..dtype import FLOATS, finfo
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .clamp import where
from .promote import (
    as_float,
    refuse_complex,
    require_float,
    require_numbers,
    require_same_dtype,
    zeros_for,
)

if TYPE_CHECKING:
    from ..tensor import Tensor


_INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}  # by the bytes of a float


def keep_where(opened: Array, g: Array) -> Array:
    """g where open, else 0: all bits of a number, or none of them.

    As where(opened, g, 0), for which NumPy takes ten times as long: it branches at each element. A
    product with the mask would be as fast, but inf·0 is NaN.
    """
    integer = _INTEGERS[g.dtype.itemsize]
    mask = -opened.astype(integer)  # −1, all bits set, where open
    return (g.view(integer) & mask).view(g.dtype)


class Gate(Op):
    """y = g where open, else slope·g;  dg = g′ where open, else slope·g′;  dx = 0

    slope None: 0 where not open, even if g is infinite.
    The backward of straight pieces. What is open follows from x, if only in steps: x is an argument
    so that there is a second derivative, of zeros, as in PyTorch.
    """

    saves = ("x", "opened")

    def forward(self, g: Array, x: Array, opened: Array, slope: float | None = None) -> Array:
        self.slope = slope
        kept = keep_where(opened, g)
        return kept if slope is None else kept + keep_where(~opened, g * slope)

    def backward(self, g: Any) -> Any:
        x, opened = self.saved
        dg = Gate.apply(g, x, opened, self.slope) if self.needs(0) else None
        return dg, zeros_for(g) if self.needs(1) else None


# ------------------------------------------------------------------------------------------
# One corner: relu, leaky_relu, prelu, threshold
# ------------------------------------------------------------------------------------------


@accelerated("activation")
class Relu(Op):
    """y = max(x, 0);  dx = g where x > 0, else 0"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        require_numbers("relu", x)
        return xp(x).maximum(x, 0)

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return Gate.apply(g, y, ~(y <= 0))  # not y > 0: g passes where y is NaN


@accelerated("activation")
class LeakyRelu(Op):
    """y = x where x > 0, else slope·x;  dx = g where x > 0, else slope·g"""

    saves = ("x",)

    def forward(self, x: Array, slope: float) -> Array:
        self.slope = slope
        if 0 < slope <= 1:
            return xp(x).maximum(x, x * slope)  # the same, without a branch at each element
        return xp(x).where(x > 0, x, x * slope)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return Gate.apply(g, x, x > 0, self.slope)


class Prelu(Op):
    """y = x where x > 0, else w·x;  dx = g where x > 0, else w·g;  dw = 0 where x > 0, else g·x"""

    saves = {"x": ("x", "w"), "w": "x"}

    def forward(self, x: Array, w: Array) -> Array:
        return xp(x).where(x > 0, x, w * x)

    def backward(self, g: Any) -> Any:
        x, w = self.saved
        dx = None if w is None else where(x > 0, g, g * w)
        return dx, where(x > 0, 0, g * x) if self.needs(1) else None


class Threshold(Op):
    """y = x where x > threshold, else value;  dx = g where x > threshold, else 0"""

    saves = ("x",)

    def forward(self, x: Array, threshold: float, value: float) -> Array:
        require_numbers("threshold", x)
        if x.dtype.kind != "f":
            threshold, value = int(threshold), int(value)
        self.threshold = threshold
        return xp(x).where(x <= threshold, value, x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return Gate.apply(g, x, ~(x <= self.threshold))


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0), elementwise. The slope at 0 is 0."""
    return write(input, relu) if inplace else Relu.apply(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x for x > 0, else negative_slope·x, elementwise. The slope at 0 is negative_slope."""
    if inplace:
        return write(input, leaky_relu, negative_slope)
    return LeakyRelu.apply(as_float("leaky_relu", input), float(negative_slope))


@named_if_out_of_memory("rrelu")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:  # fmt: skip
    """input where it is positive, a·input elsewhere.

    a: uniform in [lower, upper) for each element while training, else (lower + upper)/2.
    """
    if type(training) is not bool:
        check_flags("rrelu", training=training)
    if not math.isfinite(lower) or not math.isfinite(upper):
        raise RuntimeError(f"rrelu: got lower={lower} and upper={upper}, expected finite numbers")
    if lower > upper:
        raise RuntimeError(f"rrelu: got lower={lower}, expected at most upper={upper}")
    if inplace:
        return write(input, lambda x: rrelu(x, lower, upper, training))
    x = array_of("rrelu", input)
    if not training:
        return LeakyRelu.apply(input, (lower + upper) / 2)
    require_float("rrelu", input, NotImplementedError)
    slopes = generator_for(x).uniform(x.shape, x.dtype) * (upper - lower) + lower
    return Prelu.apply(input, slopes)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x for x > 0, else weight·x, elementwise, where weight is learned.

    input (N, C, …), or of any shape if weight has one element; weight (C,), (1,) or ().
    """
    if not isinstance(weight, Variable):
        check_given("prelu", weight=weight)
    shape = array_of("prelu", input).shape
    refuse_complex("prelu", input)
    if weight.ndim > 1:
        raise ShapeError(f"prelu: weight has shape {tuple(weight.shape)}, expected () or (C,)")
    require_same_dtype("prelu", "weight", weight, input, autocasts=True)
    if weight.ndim and weight.shape[0] != 1:
        channels = shape[1] if len(shape) > 1 else 1
        if weight.shape[0] != channels:
            raise ShapeError(
                f"prelu: weight has shape {tuple(weight.shape)}, expected (1,) or ({channels},), "
                f"the channels of input {shape}"
            )
        weight = weight.reshape((channels,) + (1,) * (len(shape) - 2))  # (C,) → (C, 1, …, 1)
    elif not shape:
        weight = weight.reshape(())
    return Prelu.apply(input, weight)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x for x > threshold, else value, elementwise."""
    if inplace:
        return write(input, _threshold, threshold, value)
    return Threshold.apply(input, float(threshold), float(value))


_threshold = threshold  # within the function, its argument of the same name hides it


# ------------------------------------------------------------------------------------------
# Two corners: hardtanh, relu6, hardsigmoid, hardswish
# ------------------------------------------------------------------------------------------


class Hardtanh(Op):
    """y = x clamped to [low, high];  dx = g where low < x < high, else 0"""

    saves = ("x",)

    def forward(self, x: Array, low: float, high: float) -> Array:
        require_numbers("hardtanh", x)
        if x.dtype.kind != "f":
            low, high = int(low), int(high)
        self.low, self.high = low, high
        return xp(x).clip(x, low, high)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return Gate.apply(g, x, ~((x <= self.low) | (x >= self.high)))


class Hardsigmoid(Op):
    """y = (x + 3)/6 clamped to [0, 1];  dx = g/6 where −3 < x < 3, else 0"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).clip(x + 3, 0, 6) / 6

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return Gate.apply(g / 6, x, (x > -3) & (x < 3))


class Hardswish(Op):
    """y = x·(x + 3)/6, with (x + 3)/6 clamped to [0, 1];
    dx = 0 where x ≤ −3, g where x ≥ 3, else g·(x/3 + ½)
    """

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return x * xp(x).clip(x + 3, 0, 6) / 6

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        right = where(x < 3, g * (x / 3 + 0.5), g)
        return where(x <= -3, 0, right)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x clamped to [min_val, max_val], elementwise. The slope at the bounds is 0."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} is greater than max_val {max_val}")
    if inplace:
        return write(input, hardtanh, min_val, max_val)
    return Hardtanh.apply(input, float(min_val), float(max_val))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6), elementwise."""
    return write(input, relu6) if inplace else Hardtanh.apply(input, 0.0, 6.0)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """(x + 3)/6 clamped to [0, 1], elementwise."""
    if inplace:
        return write(input, hardsigmoid)
    return Hardsigmoid.apply(as_float("hardsigmoid", input))


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x·hardsigmoid(x), elementwise."""
    return write(input, hardswish) if inplace else Hardswish.apply(as_float("hardswish", input))


# ------------------------------------------------------------------------------------------
# A dead zone around 0: hardshrink, softshrink
# ------------------------------------------------------------------------------------------


class Softshrink(Op):
    """y = x − (x clamped to [−λ, λ]);  dx = 0 where |x| ≤ λ, else g"""

    saves = ("x",)

    def forward(self, x: Array, lambd: float) -> Array:
        self.lambd = lambd
        return x - xp(x).clip(x, -lambd, lambd)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return Gate.apply(g, x, ~((x >= -self.lambd) & (x <= self.lambd)))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 where |x| ≤ lambd, else x, elementwise."""
    x = as_float("hardshrink", input)
    with np.errstate(all="ignore"):  # x's own dtype decides which numbers equal lambd
        lambd = float(unwrap(x).dtype.type(lambd))
    return Gate.apply(x, x, ~((x >= -lambd) & (x <= lambd)))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x brought nearer to 0 by lambd, and 0 where |x| ≤ lambd, elementwise."""
    if lambd < 0:
        raise RuntimeError(f"softshrink: got lambd={lambd}, expected 0 or more")
    dtype = array_of("softshrink", input).dtype
    if dtype.kind in FLOATS and lambd > finfo(dtype).max:
        raise RuntimeError(f"softshrink: got lambd={lambd}, expected at most {finfo(dtype).max}")
    return Softshrink.apply(as_float("softshrink", input), float(lambd))


__all__ = [
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "prelu", "relu", "relu6",
    "rrelu", "softshrink", "threshold",
]  # fmt: skip
