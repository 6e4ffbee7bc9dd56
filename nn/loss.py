"""Losses as modules: each holds its settings; the equations are in the functions of `F`.

The functions are in `tinytensor/ops/cross_entropy.py`, `loss.py` and `distribution_loss.py`; margin
losses are in margin_loss.py, both there and here. `reduction` is "mean", "sum" or "none" for every
loss; size_average and reduce are PyTorch's deprecated names for it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from tinytensor.ops.loss_reduction import reduction_of
from tinytensor.tensor import Tensor

from . import functional as F
from .linear import Linear
from .module import Module

# fmt: off
__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss",
    "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
    "MSELoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss",
]
# fmt: on


class Loss(Module):
    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = reduction_of(type(self).__name__, reduction, size_average, reduce)
        self.reduction = reduction


class WeightedLoss(Loss):
    """Base class of losses with a weight for each class or element, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# ------------------------------------------------------------------------------------------
# Classes and distributions
# ------------------------------------------------------------------------------------------


class CrossEntropyLoss(WeightedLoss):
    """−log softmax(input)[target]:  input (N, C, …), target class indices (N, …)

    target may also be probabilities (N, C, …). weight (C): how much each class counts.
    label_smoothing: this fraction of the target is spread evenly over all classes.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch's LinearCrossEntropyLoss saves memory. Accepted, without effect."""

    allow_retain_graph: bool = False
    acc_policy: str = "auto"
    chunking_method: str = "auto"
    batch_chunk_size: int | None = None


class LinearCrossEntropyLoss(WeightedLoss):
    """Cross entropy of a linear layer:  input (N, in_features), target (N, *out_features)

    The layer, `linear`, has num_classes·Π out_features outputs. The rest is as in CrossEntropyLoss.
    """

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (),
        bias: bool = False, device: Any = None, dtype: Any = None, reduction: str = "mean",
        weight: Tensor | None = None, ignore_index: int | None = None,
        label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None,
    ):  # fmt: skip
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"LinearCrossEntropyLoss: weight has shape {tuple(weight.shape)}, expected "
                f"({num_classes},)"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"LinearCrossEntropyLoss: got label_smoothing {label_smoothing}, expected 0 to 1"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class NLLLoss(WeightedLoss):
    """−input[target], for log-probabilities:  input (N, C, …), target (N, …)"""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """NLLLoss, under its older name"""


class CTCLoss(Loss):
    """−log p(targets | log_probs) over all alignments with the frames; see `F.ctc_loss`

    log_probs (T, N, C), targets (N, S) or one after the other. blank: the class that stands for "no
    label". zero_infinity: targets too long for their frames have loss 0, not ∞.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity,
        )  # fmt: skip


class KLDivLoss(Loss):
    """target·(log target − input), for log-probabilities `input`; reduction also "batchmean"."""

    def __init__(
        self,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        log_target: bool = False,
    ):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(WeightedLoss):
    """−target·log(input) − (1 − target)·log(1 − input), for probabilities"""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Loss):
    """BCELoss of σ(input), numerically stable; pos_weight: weight of the term target·log σ."""

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class PoissonNLLLoss(Loss):
    """rate − target·log(rate), where input is log(rate), or the rate with log_input=False"""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ):
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(Loss):
    """½·(log var + (input − target)² / var), with var at least eps; full adds ½·log 2π"""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


# ------------------------------------------------------------------------------------------
# Regression
# ------------------------------------------------------------------------------------------


class MSELoss(Loss):
    """(input − target)²"""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(Loss):
    """|input − target|"""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """d² / (2·beta) where |d| < beta, else |d| − beta/2, with d = input − target"""

    def __init__(
        self,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """d² / 2 where |d| ≤ delta, else delta·(|d| − delta/2), with d = input − target"""

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        if not isinstance(delta, (float, int)):
            raise TypeError(f"HuberLoss: got delta={delta!r}, expected a float or an int")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)
