"""Windows with the names of torch.signal.windows, which are those of SciPy.

M is the number of elements and n counts them from 0. The last element is at N = M − 1, where a
window of sym=True ends as it began. sym=False: at N = M, so that repeated windows go on evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.variable import wrap
from ..devices import get_default_device, to_device
from ..dtype import DType, default_float, to_numpy_dtype
from ..memory_format import strided

if TYPE_CHECKING:
    from ..tensor import Tensor


def _window(name: str, M: int, shape: Callable, options: dict) -> Tensor:
    """shape(n) in float64, for n = 0 … M − 1, in the dtype and on the device of the options."""
    dtype: DType | None = options.pop("dtype", None)
    layout, device = options.pop("layout", strided), options.pop("device", None)
    requires_grad = options.pop("requires_grad", False)
    if options:
        raise TypeError(f"{name}: got an unexpected keyword argument {next(iter(options))!r}")
    if not isinstance(M, (int, np.integer)):
        raise TypeError(f"{name}: got M of type {type(M).__name__}, expected a whole number")
    if M < 0:
        raise ValueError(f"{name}: got M = {M}, expected a window length of at least 0")
    if layout is not strided:
        raise ValueError(f"{name}: got layout {layout}, expected strided tensors")
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    if numpy_dtype not in (np.float32, np.float64):
        raise ValueError(f"{name}: got dtype {numpy_dtype}, expected float32 or float64")
    values = np.asarray(shape(np.arange(M, dtype=np.float64))).astype(numpy_dtype)
    array = to_device(values, get_default_device() if device is None else device)
    return wrap(array).requires_grad_(requires_grad)


def _end(M: int, sym: bool) -> int:
    """N, the place of the last element; 1 where there is only one."""
    return max(M - 1 if sym else M, 1)


def _unless_single(M: int, shape: Callable) -> Callable:
    """A window of one element is 1, whatever its shape."""
    return shape if M > 1 else np.ones_like


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """1 − |2n/N − 1|, a triangle; options: dtype, layout, device, requires_grad."""
    end = _end(M, sym)
    return _window("bartlett", M, _unless_single(M, lambda n: 1 - np.abs(2 * n / end - 1)), options)


def _sum_of_cosines(name: str, M: int, a: Any, sym: bool, options: dict) -> Tensor:
    end = _end(M, sym)

    def shape(n: np.ndarray) -> np.ndarray:
        angle = 2 * np.pi * n / end
        terms = [(-1) ** k * weight * np.cos(k * angle) for k, weight in enumerate(a)]
        return np.sum(terms, axis=0)

    return _window(name, M, _unless_single(M, shape), options)


def general_cosine(M: int, *, a: Sequence[float], sym: bool = True, **options: Any) -> Tensor:
    """Σ (−1)ᵏ·aₖ·cos(2πk·n/N); options: dtype, layout, device, requires_grad."""
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"general_cosine: got a of type {type(a).__name__}, expected a list")
    if not a:
        raise ValueError("general_cosine: got no coefficients a, expected at least one")
    return _sum_of_cosines("general_cosine", M, a, sym, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """alpha − (1 − alpha)·cos(2πn/N); options: dtype, layout, device, requires_grad."""
    return _sum_of_cosines("general_hamming", M, [alpha, 1.0 - alpha], sym, options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.54 − 0.46·cos(2πn/N); options: dtype, layout, device, requires_grad."""
    return _sum_of_cosines("hamming", M, [0.54, 0.46], sym, options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """½ − ½·cos(2πn/N); options: dtype, layout, device, requires_grad."""
    return _sum_of_cosines("hann", M, [0.5, 0.5], sym, options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.42 − ½·cos(2πn/N) + 0.08·cos(4πn/N); options: dtype, layout, device, requires_grad."""
    return _sum_of_cosines("blackman", M, [0.42, 0.5, 0.08], sym, options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Σ (−1)ᵏ·aₖ·cos(2πk·n/N) with Nuttall's four weights; options: dtype, layout, device, …"""
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return _sum_of_cosines("nuttall", M, weights, sym, options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """sin(π·(n + ½)/(N + 1)); options: dtype, layout, device, requires_grad."""
    length = M if sym or M < 2 else M + 1
    return _window("cosine", M, lambda n: np.sin(np.pi * (n + 0.5) / length), options)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """exp(−|n − center|/tau); options: dtype, layout, device, requires_grad.

    center: N/2 by default; another one needs sym=False.
    """
    if tau <= 0:
        raise ValueError(f"exponential: got tau = {tau}, expected a number above 0")
    if sym and center is not None:
        raise ValueError("exponential: got a center and sym=True, expected sym=False or no center")
    middle = (M if not sym and M > 1 else M - 1) / 2 if center is None else center
    return _window("exponential", M, lambda n: np.exp(-np.abs(n - middle) / tau), options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(−½·((n − N/2)/std)²); options: dtype, layout, device, requires_grad."""
    if std <= 0:
        raise ValueError(f"gaussian: got std = {std}, expected a number above 0")
    middle = (M if not sym and M > 1 else M - 1) / 2
    return _window("gaussian", M, lambda n: np.exp(-0.5 * ((n - middle) / std) ** 2), options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """I₀(beta·√(1 − (2n/N − 1)²)) / I₀(beta), I₀ the Bessel function; options as above."""
    if beta < 0:
        raise ValueError(f"kaiser: got beta = {beta}, expected at least 0")
    end = _end(M, sym)

    def shape(n: np.ndarray) -> np.ndarray:
        return np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * n / end - 1) ** 2))) / np.i0(beta)

    return _window("kaiser", M, _unless_single(M, shape), options)


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip
