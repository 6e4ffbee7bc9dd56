"""gelu, silu, relu, leaky_relu: one pass over memory per direction; see ops/activation.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import Array
from .machinery.compile import parallel, part
from .machinery.constants import ERF_E, ERF_F, ONE_OVER_SQRT_2_PI, SQRT_HALF, TANH_CUBIC, TANH_SCALE
from .machinery.contiguous import flat
from .machinery.memory import empty_like
from .machinery.vector_math import exp, f32, sigmoid

HALF_ROOT, DENSITY = f32(SQRT_HALF), f32(ONE_OVER_SQRT_2_PI)
# ½·(1 + tanh u) = σ(2u), which is precise where tanh nears −1
LINEAR, CUBIC = f32(2 * TANH_SCALE), f32(2 * TANH_CUBIC)

ERF_E0, ERF_E1, ERF_E2, ERF_E3, ERF_E4, ERF_E5 = map(f32, ERF_E)
ERF_F0, ERF_F1, ERF_F2, ERF_F3, ERF_F4, ERF_F5 = map(f32, ERF_F)


@part
def erf(x):
    """The error function: x·E(x²) / F(x²) on |x| ≤ 3.93, ±1 beyond; see ops/erf.py."""
    s = x * x
    top = ((((ERF_E0 * s + ERF_E1) * s + ERF_E2) * s + ERF_E3) * s + ERF_E4) * s + ERF_E5
    bottom = ((((ERF_F0 * s + ERF_F1) * s + ERF_F2) * s + ERF_F3) * s + ERF_F4) * s + ERF_F5
    y = x * top / bottom
    y = f32(1.0) if x > f32(3.93) else y
    return f32(-1.0) if x < f32(-3.93) else y


@parallel
def gelu(start, stop, x, y):
    """y = x·Φ(x)"""
    for i in range(start, stop):
        y[i] = x[i] * (f32(0.5) * erf(x[i] * HALF_ROOT) + f32(0.5))


@parallel
def gelu_gradient(start, stop, x, g, dx):
    """dx = g·(Φ(x) + x·φ(x))"""
    for i in range(start, stop):
        v = x[i]
        below = f32(0.5) * erf(v * HALF_ROOT) + f32(0.5)
        dx[i] = g[i] * (below + v * DENSITY * exp(f32(-0.5) * v * v))


@parallel
def gelu_tanh(start, stop, x, y):
    """y = x·σ(2u), u = √(2/π)·(x + 0.044715·x³)"""
    for i in range(start, stop):
        v = x[i]
        y[i] = v * sigmoid(v * (LINEAR + CUBIC * v * v))


@parallel
def gelu_tanh_gradient(start, stop, x, g, dx):
    """dx = g·(s + x·s·(1 − s)·d(2u)/dx), s = σ(2u)"""
    for i in range(start, stop):
        v = x[i]
        s = sigmoid(v * (LINEAR + CUBIC * v * v))
        square = f32(1e4) if v * v > f32(1e4) else v * v  # not inf: for large |x|, s or 1 − s is 0
        dx[i] = g[i] * (s + v * s * (f32(1.0) - s) * (LINEAR + f32(3.0) * CUBIC * square))


@parallel
def silu(start, stop, x, y):
    """y = x·σ(x)"""
    for i in range(start, stop):
        y[i] = x[i] * sigmoid(x[i])


@parallel
def silu_gradient(start, stop, x, g, dx):
    """dx = g·s·(1 + x·(1 − s)), s = σ(x)"""
    for i in range(start, stop):
        s = sigmoid(x[i])
        dx[i] = g[i] * s * (f32(1.0) + x[i] * (f32(1.0) - s))


@parallel
def relu(start, stop, x, y):
    """y = max(x, 0); NaN stays NaN."""
    for i in range(start, stop):
        y[i] = f32(0.0) if x[i] < f32(0.0) else x[i]


@parallel
def relu_gradient(start, stop, y, g, dx):
    """dx = g where y is above 0 (or NaN), else 0"""
    for i in range(start, stop):
        dx[i] = f32(0.0) if y[i] <= f32(0.0) else g[i]


@parallel
def leaky_relu(start, stop, x, slope, y):
    """y = x where x > 0, else slope·x"""
    for i in range(start, stop):
        y[i] = x[i] if x[i] > f32(0.0) else slope * x[i]


@parallel
def leaky_relu_gradient(start, stop, x, slope, g, dx):
    """dx = g where x > 0, else slope·g"""
    for i in range(start, stop):
        dx[i] = g[i] if x[i] > f32(0.0) else slope * g[i]


def _forward(kernel: Callable) -> Callable:
    """Return the op's forward: the kernel on all elements of x."""

    def forward(op: Any, x: Array) -> Array:
        y = empty_like(x)
        kernel(x.size, flat(x), y.reshape(-1))
        return y

    return forward


def _backward(kernel: Callable) -> Callable:
    """Return the op's backward: the kernel on all elements of the saved array and of g."""

    def backward(op: Any, g: Array) -> Array:
        (saved,) = op.saved
        dx = empty_like(g)
        kernel(g.size, flat(saved), flat(g), dx.reshape(-1))
        return dx

    return backward


gelu_forward, gelu_backward = _forward(gelu), _backward(gelu_gradient)
gelu_tanh_forward, gelu_tanh_backward = _forward(gelu_tanh), _backward(gelu_tanh_gradient)
silu_forward, silu_backward = _forward(silu), _backward(silu_gradient)
relu_forward, relu_backward = _forward(relu), _backward(relu_gradient)


def leaky_relu_forward(op: Any, x: Array, slope: float) -> Array:
    op.slope = slope
    y = empty_like(x)
    leaky_relu(x.size, flat(x), f32(slope), y.reshape(-1))
    return y


def leaky_relu_backward(op: Any, g: Array) -> Array:
    (x,) = op.saved
    dx = empty_like(g)
    leaky_relu_gradient(g.size, flat(x), f32(op.slope), flat(g), dx.reshape(-1))
    return dx
