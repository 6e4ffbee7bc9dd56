"""MaxUnpool: maxima back at their places, zeros elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module

__all__ = ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]

Sizes = int | Sequence[int]  # one int for all dimensions of the image, or one for each


class _MaxUnpool(Module):
    function: Callable
    dims: int

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0):
        super().__init__()
        self.kernel_size = self._each(kernel_size)
        self.stride = self._each(kernel_size if stride is None else stride)
        self.padding = self._each(padding)

    def _each(self, value: Sizes) -> tuple[int, ...]:
        return (value,) * self.dims if isinstance(value, int) else tuple(value)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return type(self).function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """y[indices] = input: (N, C, L) → (N, C, L'). Arguments as in MaxUnpool2d."""

    function = F.max_unpool1d
    dims = 1


class MaxUnpool2d(_MaxUnpool):
    """y = 0, but y[indices] = input: (N, C, H, W) → (N, C, H', W')

    indices are those of MaxPool2d with return_indices=True, which had the same kernel_size, stride
    and padding. output_size, in the call: (H', W'), where several sizes pool to (H, W).
    """

    function = F.max_unpool2d
    dims = 2


class MaxUnpool3d(_MaxUnpool):
    """y[indices] = input: (N, C, D, H, W) → (N, C, D', H', W'). Arguments as in MaxUnpool2d."""

    function = F.max_unpool3d
    dims = 3
