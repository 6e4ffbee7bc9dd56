"""Images at a smaller size without aliasing: interpolate(…, antialias=True).

A new pixel is a weighted mean of the old ones around it. When the image shrinks by a factor s, the
filter is s times wider, so that every old pixel counts:

    y[i] = Σ_j w[i, j]·x[j],   w[i, j] = f((j + ½ − c_i) / max(s, 1)) / Σ_j …,   c_i = s·(i + ½)

f is a triangle (bilinear) or a cubic kernel (bicubic).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.variable import unwrap, wrap_like
from ..backend import xp
from .shape import swapaxes

SLOPE = -0.5  # of the cubic kernel at distance 1, as in Pillow; without antialias it is -0.75


def triangle(x: np.ndarray) -> np.ndarray:
    """1 − |x| up to distance 1."""
    return (1 - np.abs(x)).clip(0, None)


def cubic(x: np.ndarray) -> np.ndarray:
    """The cubic kernel, up to distance 2."""
    x = np.abs(x)
    near = ((SLOPE + 2) * x - (SLOPE + 3)) * x * x + 1
    far = ((SLOPE * x - 5 * SLOPE) * x + 8 * SLOPE) * x - 4 * SLOPE
    return np.where(x < 1, near, np.where(x < 2, far, 0))


FILTERS = {"bilinear": (triangle, 1), "bicubic": (cubic, 2)}  # the function, and its reach


def weights(mode: str, length: int, count: int, step: float) -> np.ndarray:
    """w: (count, length), the weight of each old element in each new one; rows add up to 1."""
    function, reach = FILTERS[mode]
    width = max(step, 1.0)
    centre = step * (np.arange(count) + 0.5)[:, None]  # (count, 1)
    old = np.arange(length)[None, :]  # (1, length)
    # The old elements that count are found by rounding, as in PyTorch.
    first = np.floor(centre - reach * width + 0.5).clip(0, None)
    last = np.floor(centre + reach * width + 0.5).clip(None, length)
    inside = (old >= first) & (old < last)
    w = np.where(inside, function((old + 0.5 - centre) / width), 0)
    return w / w.sum(1, keepdims=True)


def resize_smoothly(input: Any, dim: int, count: int, step: float, mode: str) -> Any:
    """`input` with `count` elements along `dim`, `step` old elements apart."""
    array = unwrap(input)
    w = weights(mode, input.shape[dim], count, step).astype(array.dtype)
    # (…, length, …) → (…, length) @ (length, count) → (…, count, …)
    y = swapaxes(input, dim, -1) @ wrap_like(xp(array).asarray(w.T), input)
    return swapaxes(y, dim, -1)
