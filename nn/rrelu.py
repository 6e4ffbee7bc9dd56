"""RReLU: leaky relu with random slopes."""

from __future__ import annotations

from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module

__all__ = ["RReLU"]


class RReLU(Module):
    """y = x where x > 0, else a·x

    a: uniform in [lower, upper) for each element while training, else (lower + upper)/2.
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        text = f"lower={self.lower}, upper={self.upper}"
        return f"{text}, inplace=True" if self.inplace else text
