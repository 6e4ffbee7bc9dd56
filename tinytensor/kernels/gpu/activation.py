"""gelu and silu, one launch in each direction; equations as in ops/activation.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...backend import Array
from ..machinery.constants import ONE_OVER_SQRT_2_PI, SQRT_HALF, TANH_CUBIC, TANH_SCALE
from . import elementwise

# Φ(x), and s = ½·(1 + tanh u) = σ(2u)
NORMAL_CDF = f"T below = T(0.5) * erf(x * T({SQRT_HALF!r})) + T(0.5);"
GATE = f"T s = T(1) / (T(1) + exp(-x * (T({2 * TANH_SCALE!r}) + T({2 * TANH_CUBIC!r}) * x * x)));"
SIGMOID = "T s = T(1) / (T(1) + exp(-x));"

gelu = elementwise("gelu", "T x", "T y", f"{NORMAL_CDF} y = x * below")
gelu_gradient = elementwise(
    "gelu_gradient", "T x, T g", "T dx",
    f"{NORMAL_CDF} dx = g * (below + x * T({ONE_OVER_SQRT_2_PI!r}) * exp(T(-0.5) * x * x))",
)  # fmt: skip
gelu_tanh = elementwise("gelu_tanh", "T x", "T y", f"{GATE} y = x * s")
gelu_tanh_gradient = elementwise(
    "gelu_tanh_gradient", "T x, T g", "T dx",
    f"{GATE} T slope = T({2 * TANH_SCALE!r}) + T({6 * TANH_CUBIC!r}) * x * x; "
    "dx = g * (s + x * s * (T(1) - s) * slope)",
)  # fmt: skip
silu = elementwise("silu", "T x", "T y", f"{SIGMOID} y = x * s")
silu_gradient = elementwise(
    "silu_gradient", "T x, T g", "T dx", f"{SIGMOID} dx = g * s * (T(1) + x * (T(1) - s))"
)


def _forward(kernel: Callable) -> Callable:
    return lambda op, x: kernel(x)


def _backward(kernel: Callable) -> Callable:
    def backward(op: Any, g: Array) -> Array:
        (x,) = op.saved
        return kernel(x, g)

    return backward


gelu_forward, gelu_backward = _forward(gelu), _backward(gelu_gradient)
gelu_tanh_forward, gelu_tanh_backward = _forward(gelu_tanh), _backward(gelu_tanh_gradient)
silu_forward, silu_backward = _forward(silu), _backward(silu_gradient)
