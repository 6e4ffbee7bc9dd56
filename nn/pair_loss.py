"""Losses on pairs that PyTorch does not have: images with texts, and better with worse answers."""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.ops.loss_reduction import reduce_loss, reduction_of
from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module
from .parameter import Parameter

__all__ = ["CLIPLoss", "PairwiseRewardLoss"]


class CLIPLoss(Module):
    """½·(cross_entropy(S, i) + cross_entropy(Sᵀ, i)), S = cos(a_i, b_j) / temperature

    a (N, D), b (N, D): row i of a matches row i of b, and no other row.
    temperature: logit_scale starts at log(1/temperature) and is learned, unless learnable=False.
    max_scale: the upper limit of exp(logit_scale), as in the paper.
    """

    def __init__(
        self,
        temperature: float = 0.07,
        learnable: bool = True,
        max_scale: float = 100.0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"CLIPLoss: temperature must be greater than 0, got {temperature}")
        self.max_scale = max_scale
        start = tt.full((), math.log(1 / temperature), device=device, dtype=dtype)
        self.logit_scale = Parameter(start, requires_grad=learnable)

    def similarity(self, a: Tensor, b: Tensor) -> Tensor:
        """S: the cosine of each row of a with each row of b, divided by the temperature."""
        scale = self.logit_scale.exp().clamp(max=self.max_scale)
        return scale * (F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        if a.ndim != 2 or tuple(a.shape) != tuple(b.shape):
            raise ShapeError(
                f"CLIPLoss: got {tuple(a.shape)} and {tuple(b.shape)}, expected (N, D) for both"
            )
        similarity = self.similarity(a, b)  # (N, N)
        pairs = tt.arange(len(a), device=a.device)
        return (F.cross_entropy(similarity, pairs) + F.cross_entropy(similarity.T, pairs)) / 2

    def extra_repr(self) -> str:
        return f"learnable={self.logit_scale.requires_grad}, max_scale={self.max_scale}"


class PairwiseRewardLoss(Module):
    """−log σ(chosen − rejected − margin), for the rewards of the chosen and the rejected answer"""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__()
        self.margin = margin
        self.reduction = reduction_of("PairwiseRewardLoss", reduction)

    def forward(self, chosen: Tensor, rejected: Tensor) -> Tensor:
        if tuple(chosen.shape) != tuple(rejected.shape):
            raise ShapeError(
                f"PairwiseRewardLoss: got {tuple(chosen.shape)} and {tuple(rejected.shape)}, "
                "expected one shape"
            )
        loss = F.softplus(rejected - chosen + self.margin)  # −log σ(x) = log(1 + e⁻ˣ)
        return reduce_loss(loss, self.reduction)

    def extra_repr(self) -> str:
        return f"margin={self.margin}"
