"""Windows for `stft`: weights that fall off towards both ends of a frame.

n counts from 0 to N − 1 and M = N − 1. periodic=True, the default, makes a window one longer and
leaves out its last element, so that shifted copies add up evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.variable import wrap
from ..devices import get_default_device, to_device
from ..dtype import default_float, to_numpy_dtype
from .size_arguments import size_from

if TYPE_CHECKING:
    from ..tensor import Tensor


def _window(name: str, length: int, periodic: bool, shape: Callable, options: dict) -> Tensor:
    """shape(n, M) for n = 0 … N − 1; options: dtype, device, requires_grad."""
    dtype, device = options.pop("dtype", None), options.pop("device", None)
    requires_grad = options.pop("requires_grad", False)
    size_from(name, ((),), options)
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    if numpy_dtype.kind not in "fV":
        raise RuntimeError(f"{name}: got dtype {numpy_dtype}, expected a floating point dtype")
    if length < 0:
        raise RuntimeError(f"{name}: got window_length {length}, expected at least 0")
    values = np.ones(length)
    if length > 1:
        last = length if periodic else length - 1
        values = shape(np.arange(length, dtype=np.float64), last)
    array = to_device(
        values.astype(numpy_dtype), get_default_device() if device is None else device
    )
    return wrap(array).requires_grad_(requires_grad)


def _cosines(*weights: float) -> Callable:
    """Σ (−1)ᵏ·wₖ·cos(2πk·n/M)"""
    return lambda n, last: sum(
        (-1) ** k * w * np.cos(2 * np.pi * k * n / last) for k, w in enumerate(weights)
    )


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """½ − ½·cos(2πn/M); options: dtype, device, requires_grad."""
    return _window("hann_window", window_length, periodic, _cosines(0.5, 0.5), options)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
    **options: Any,
) -> Tensor:  # fmt: skip
    """alpha − beta·cos(2πn/M); options: dtype, device, requires_grad."""
    return _window("hamming_window", window_length, periodic, _cosines(alpha, beta), options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.42 − ½·cos(2πn/M) + 0.08·cos(4πn/M); options: dtype, device, requires_grad."""
    shape = _cosines(0.42, 0.5, 0.08)
    return _window("blackman_window", window_length, periodic, shape, options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """1 − |2n/M − 1|, a triangle; options: dtype, device, requires_grad."""

    def triangle(n: Any, last: int) -> Any:
        return 1 - np.abs(2 * n / last - 1)

    return _window("bartlett_window", window_length, periodic, triangle, options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Tensor:
    """I₀(beta·√(1 − (2n/M − 1)²)) / I₀(beta), I₀ the Bessel function; options as above."""

    def bessel(n: Any, last: int) -> Any:
        return np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * n / last - 1) ** 2))) / np.i0(beta)

    return _window("kaiser_window", window_length, periodic, bessel, options)


__all__ = [
    "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window",
]  # fmt: skip
