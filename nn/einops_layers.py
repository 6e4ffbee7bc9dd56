"""The layers of einops: Rearrange, Reduce and EinMix, as modules. Imported only if asked for.

from einops.layers.tinytensor import Rearrange

nn.Sequential(nn.Conv2d(3, 8, 4, 4), Rearrange("b c h w -> b (h w) c"))
"""

from __future__ import annotations

from typing import Any

from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

from tinytensor import Tensor, einsum, empty

from .module import Module
from .parameter import Parameter


class Rearrange(RearrangeMixin, Module):
    """`einops.rearrange` with a fixed pattern."""

    def forward(self, input: Tensor) -> Tensor:
        return self._apply_recipe(input)


class Reduce(ReduceMixin, Module):
    """`einops.reduce` with a fixed pattern and reduction."""

    def forward(self, input: Tensor) -> Tensor:
        return self._apply_recipe(input)


class EinMix(_EinmixMixin, Module):
    """A linear layer over any axes: `einsum` of the input with a weight, plus a bias."""

    def _create_parameters(
        self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float
    ) -> None:
        self.weight = Parameter(empty(weight_shape).uniform_(-weight_bound, weight_bound))
        self.bias = None
        if bias_shape is not None:
            self.bias = Parameter(empty(bias_shape).uniform_(-bias_bound, bias_bound))

    def _create_rearrange_layers(
        self,
        pre_reshape_pattern: str | None,
        pre_reshape_lengths: dict | None,
        post_reshape_pattern: str | None,
        post_reshape_lengths: dict | None,
    ) -> None:
        self.pre_rearrange = self.post_rearrange = None
        if pre_reshape_pattern is not None:
            self.pre_rearrange = Rearrange(pre_reshape_pattern, **(pre_reshape_lengths or {}))
        if post_reshape_pattern is not None:
            self.post_rearrange = Rearrange(post_reshape_pattern, **(post_reshape_lengths or {}))

    def forward(self, input: Tensor) -> Tensor:
        if self.pre_rearrange is not None:
            input = self.pre_rearrange(input)
        y = einsum(self.einsum_pattern, input, self.weight)
        if self.bias is not None:
            y = y + self.bias
        return y if self.post_rearrange is None else self.post_rearrange(y)


__all__ = ["EinMix", "Rearrange", "Reduce"]
