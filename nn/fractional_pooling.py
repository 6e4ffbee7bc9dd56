"""FractionalMaxPool: maxima of windows at random distances. LPPool: p-norms of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d"]

Sizes = int | Sequence[int]  # one int for all dimensions of the image, or one for each


class _FractionalMaxPool(Module):
    function: Callable
    dims: int

    def __init__(
        self, kernel_size: Sizes, output_size: Sizes | None = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ):  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name}: expected either output_size or output_ratio, and not both")
        self.kernel_size = self._each(kernel_size)
        if self.dims == 3 and any(k <= 0 for k in self.kernel_size):
            raise ValueError(f"{name}: got kernel_size {kernel_size}, expected sizes from 1 on")
        self.return_indices = return_indices
        self.output_size = None if output_size is None else self._each(output_size)
        self.output_ratio = None if output_ratio is None else self._each(output_ratio)
        self.register_buffer("_random_samples", _random_samples)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"{name}: got output_ratio {output_ratio}, expected between 0 and 1")

    def _each(self, value: Any) -> tuple:
        return (value,) * self.dims if isinstance(value, (int, float)) else tuple(value)

    def forward(self, input: Tensor) -> Any:
        return type(self).function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest pixel of each window: (N, C, H, W) → (N, C, H', W')

    kernel_size:     of a window; the windows begin at random distances from each other
    output_size:     (H', W') or one int for both
    output_ratio:    instead of it: (H'/H, W'/W) or one for both, between 0 and 1
    return_indices:  also return the flat index of each maximum in its H·W image
    """

    function = F.fractional_max_pool2d
    dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The same over volumes: (N, C, D, H, W) → (N, C, D', H', W')"""

    function = F.fractional_max_pool3d
    dims = 3


class _LPPool(Module):
    function: Callable

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
        ceil_mode: bool = False,
    ):  # fmt: skip
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """(Σ xᵖ)^(1/p) over each window: (N, C, L) → (N, C, L'). Arguments as in LPPool2d."""

    function = F.lp_pool1d


class LPPool2d(_LPPool):
    """(Σ xᵖ)^(1/p) over each window, p = norm_type: (N, C, H, W) → (N, C, H', W')

    kernel_size, stride, ceil_mode: as in AvgPool2d.
    """

    function = F.lp_pool2d


class LPPool3d(_LPPool):
    """(Σ xᵖ)^(1/p) over each window: (N, C, D, H, W) → (N, C, D', H', W'). As LPPool2d."""

    function = F.lp_pool3d
