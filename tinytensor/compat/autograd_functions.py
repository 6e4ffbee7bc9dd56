"""torch.autograd._functions: Functions that PyTorch wrote in Python."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.function import Function
from ..tensor import Tensor


class Resize(Function):
    """y = the elements of x in another shape;  dx = g in the shape of x"""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"Resize: got sizes {tuple(sizes)} for a tensor of shape {tuple(tensor.shape)}, "
                f"expected {tensor.numel()} elements"
            )
        ctx.shape = tensor.shape
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple:
        return g.contiguous().view(ctx.shape), None


__all__ = ["Resize"]
