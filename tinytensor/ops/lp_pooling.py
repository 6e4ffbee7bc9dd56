"""lp_pool: the p-norm of each window, and local_response_norm, a norm over nearby channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_flags
from .pad import pad
from .pooling import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d
from .power import pow
from .promote import require_float
from .rectifier import relu
from .sign import sign
from .windows import Sizes

if TYPE_CHECKING:
    from ..tensor import Tensor


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """`lp_pool2d` over lines: (N, C, L) or (C, L)."""
    if type(ceil_mode) is not bool:
        check_flags("lp_pool1d", ceil_mode=ceil_mode)
    if abs(norm_type) == math.inf:
        return _extreme(max_pool1d, input, norm_type, kernel_size, stride, ceil_mode)
    mean = avg_pool1d(_power("lp_pool1d", input, norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, norm_type, kernel_size, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """(Σ xᵖ)^(1/p) over each window, p = norm_type: (N, C, H, W) or (C, H, W) → (…, H', W').

    As in PyTorch the sum is of xᵖ, not of |x|ᵖ, and a window that ceil_mode adds counts as full:
    the mean of its elements stands for those that it lacks. Other arguments: as in `avg_pool2d`.
    """
    if type(ceil_mode) is not bool:
        check_flags("lp_pool2d", ceil_mode=ceil_mode)
    if abs(norm_type) == math.inf:
        return _extreme(max_pool2d, input, norm_type, kernel_size, stride, ceil_mode)
    mean = avg_pool2d(_power("lp_pool2d", input, norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, norm_type, kernel_size, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """`lp_pool2d` over volumes: (N, C, D, H, W) or (C, D, H, W)."""
    if type(ceil_mode) is not bool:
        check_flags("lp_pool3d", ceil_mode=ceil_mode)
    if abs(norm_type) == math.inf:
        return _extreme(max_pool3d, input, norm_type, kernel_size, stride, ceil_mode)
    mean = avg_pool3d(_power("lp_pool3d", input, norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, norm_type, kernel_size, 3)


def _extreme(
    max_pool: Callable, input: Any, p: float, kernel: Any, stride: Any, ceil_mode: bool
) -> Any:
    """The largest |x| of each window for p = ∞, the smallest for p = −∞."""
    if p > 0:
        return max_pool(abs(input), kernel, stride, 0, 1, ceil_mode)
    return -max_pool(-abs(input), kernel, stride, 0, 1, ceil_mode)


def _power(name: str, input: Any, p: float) -> Any:
    require_float(name, input, NotImplementedError)
    return pow(input, p)


def _root(mean: Any, p: float, kernel: Any, dims: int) -> Any:
    """(mean·elements)^(1/p); where the mean is 0 the slope is 0·∞ = NaN, as in PyTorch."""
    elements = math.prod(kernel) if isinstance(kernel, (tuple, list)) else kernel**dims
    return pow((sign(mean) * relu(abs(mean))) * elements, 1.0 / p)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha·mean of x² over `size` channels around it)^beta: input (N, C, …).

    The window has size // 2 channels before and (size − 1) // 2 after; zeros stand outside.
    """
    shape = array_of("local_response_norm", input).shape
    if len(shape) < 3:
        raise ValueError(
            f"local_response_norm: got input of shape {shape}, expected 3 dimensions or more"
        )
    if not input.numel():
        return input
    squares = (input * input).reshape((shape[0], 1, shape[1], -1))  # (N, 1, C, positions)
    squares = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = avg_pool2d(squares, (size, 1), 1).reshape(shape)
    return input / pow(mean * alpha + k, beta)


__all__ = ["local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d"]
