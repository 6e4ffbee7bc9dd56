"""softmax and log_softmax along the last dimension; equations as in ops/softmax.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array
from .machinery.compile import parallel
from .machinery.contiguous import as_rows
from .machinery.memory import empty
from .machinery.vector_math import exp, f32, minus


@parallel
def softmax(start, stop, x, y):
    """y = exp(x − max x) / Σ exp(x − max x) for each row; NaN for a row that is all −inf."""
    for row in range(start, stop):
        line, out = x[row], y[row]
        top = line[0]
        for j in range(line.size):
            top = max(top, line[j])
        total = f32(0.0)
        for j in range(line.size):
            out[j] = exp(line[j] - top)
            total += out[j]
        for j in range(line.size):
            out[j] /= total


@parallel
def softmax_gradient(start, stop, y, g, dx):
    """dx = y·(g − Σ g·y)"""
    for row in range(start, stop):
        line, slope, out = y[row], g[row], dx[row]
        along = f32(0.0)
        for j in range(line.size):
            along += slope[j] * line[j]
        for j in range(line.size):
            out[j] = line[j] * (slope[j] - along)


@parallel
def log_softmax(start, stop, x, y):
    """y = x − max x − log Σ exp(x − max x) for each row"""
    for row in range(start, stop):
        line, out = x[row], y[row]
        top = line[0]
        for j in range(line.size):
            top = max(top, line[j])
        total = f32(0.0)
        for j in range(line.size):
            total += exp(line[j] - top)
        logarithm = np.log(total)
        for j in range(line.size):
            out[j] = minus(minus(line[j], top), logarithm)


@parallel
def log_softmax_gradient(start, stop, y, g, dx):
    """dx = g − exp(y)·Σ g"""
    for row in range(start, stop):
        line, slope, out = y[row], g[row], dx[row]
        total = f32(0.0)
        for j in range(line.size):
            total += slope[j]
        for j in range(line.size):
            out[j] = slope[j] - exp(line[j]) * total


def _forward(kernel: Callable) -> Callable:
    def forward(op: Any, x: Array, dim: int) -> Array:
        if dim % x.ndim != x.ndim - 1:
            return NotImplemented
        op.dim = dim
        y = empty(x.shape)
        rows = as_rows(x)
        kernel(rows.shape[0], rows, as_rows(y))
        return y

    return forward


def _backward(kernel: Callable) -> Callable:
    def backward(op: Any, g: Array) -> Array:
        (y,) = op.saved
        if op.dim % y.ndim != y.ndim - 1:
            return NotImplemented
        dx = empty(y.shape)
        rows = as_rows(y)
        kernel(rows.shape[0], rows, as_rows(g), as_rows(dx))
        return dx

    return backward


softmax_forward, softmax_backward = _forward(softmax), _backward(softmax_gradient)
log_softmax_forward, log_softmax_backward = _forward(log_softmax), _backward(log_softmax_gradient)
