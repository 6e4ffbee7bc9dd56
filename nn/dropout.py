"""Dropout layers: zero random elements while training, do nothing in evaluation."""

from __future__ import annotations

from collections.abc import Callable

from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Module):
    """Base class of the dropout layers. p: the probability that an element is dropped."""

    function: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: got p={p}, expected a number from 0 to 1")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """input with some elements or channels set to zero while training, else input itself."""
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """y = x·mask / (1 − p), where each element of mask is 0 with probability p, else 1."""

    function = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """Dropout of whole channels: x (N, C, L) or (C, L)."""

    function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Dropout of whole channels: x (N, C, H, W)."""

    function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Dropout of whole channels: x (N, C, D, H, W) or (C, D, H, W)."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1: drops to SELU's minimum, then scales and shifts."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels: x (N, C, …)."""

    function = staticmethod(F.feature_alpha_dropout)
