"""Losses of classification into one of C classes: cross_entropy and nll_loss."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_given, check_tensors
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap_like
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .index import Unindex
from .loss_reduction import reduce_loss, reduction_of
from .masked import MaskedFill
from .parse_index import outside
from .pointwise import Exp
from .promote import require_float, require_same_dtype
from .shape import movedim
from .softmax import LogSoftmax, log_softmax

if TYPE_CHECKING:
    from ..tensor import Tensor


def log_probabilities(x: Any) -> Any:
    """p = x − log Σ exp x for each row of x (M, C)."""
    return LogSoftmax.apply(x, 1)


def _pulled(p: Array, target: Array, pull: Array) -> Array:
    """−pull·p[t] for each row of p; 0 for ignored rows, even if they hold inf or NaN."""
    if not p.shape[1]:  # no classes: all rows are ignored
        return pull * 0
    loss = p[xp(p).arange(p.shape[0]), target]
    loss *= -pull
    if not pull.all():
        loss[pull == 0] = 0
    return loss


class RowLoss:
    """Σ l / count over the losses l of the rows, or each l if count is None."""

    __slots__ = ()
    divisor: Any  # of the gradients

    def reduce(self, losses: Array, count: Any) -> Array:
        """Reduce the losses, and note what the gradients are divided by: count, or 1.

        If nothing counts, the mean is 0/0 = NaN, but no row has a gradient, as in PyTorch.
        """
        if count is None or isinstance(count, float):
            self.divisor = count or 1.0
        else:
            self.divisor = xp(losses).where(count == 0, 1, count).astype(losses.dtype)
        return losses if count is None else losses.sum() / count


@accelerated("cross_entropy", threshold=4096)
class CrossEntropy(RowLoss, Op):
    """y = Σ l / count (or each l), l = −pull·p[t] − spread·Σ w·p, p = log softmax x;
    dx = g/count·((pull + spread·Σ w)·softmax x − spread·w − pull·onehot t)

    There is one l for each of the M rows x, whose target is the class t. pull (M): how much each
    row's own class counts. spread (M), or None: how much all classes do, each by its weight in w
    (C), 1 for None; this is label smoothing. count: None for no reduction.
    """

    saves = ("x", "target", "pull", "spread", "w")
    fresh = True

    def forward(self, x: Array, target: Array, pull: Array, spread: Array | None, w: Array | None,
                count: Any) -> Array:  # fmt: skip
        p = self.keep(log_probabilities, x)
        loss = _pulled(p, target, pull)
        if spread is not None:
            even = (p.sum(axis=1) if w is None else p @ w) * -spread
            even[spread == 0] = 0
            loss += even
        return self.reduce(loss, count)

    def backward(self, g: Any) -> Any:
        x, *constants = self.saved
        target, pull, spread, w = (unwrap(constant) for constant in constants)
        g = (g / self.divisor).reshape((-1, 1))  # () → (1, 1), or (M) → (M, 1)
        if not pull.all():
            ignored = pull == 0 if spread is None else (pull == 0) & (spread == 0)
            g = MaskedFill.apply(g, ignored[:, None], 0)  # (M, 1); also where g is infinite
        own = all_classes = g * pull[:, None]  # (M, 1)
        if spread is not None:
            share = pull + spread * (x.shape[1] if w is None else w.sum())
            all_classes = g * share[:, None]
        dx = Exp.apply(self.recall(log_probabilities, x)) * all_classes
        if spread is not None:
            dx = dx - g * (spread[:, None] if w is None else spread[:, None] * w)
        if not x.shape[1]:
            return dx
        rows = xp(target).arange(target.shape[0])
        dx[rows, target] -= own[:, 0]  # dx is fresh: nothing else refers to it
        return dx


class NllLoss(RowLoss, Op):
    """y = Σ l / count (or each l), l = −pull·x[t] for each row x;  dx = −g/count·pull·onehot t"""

    saves = ("target", "pull")

    def forward(self, x: Array, target: Array, pull: Array, count: Any) -> Array:
        self.shape = x.shape
        return self.reduce(_pulled(x, target, pull), count)

    def backward(self, g: Any) -> Any:
        target, pull = (unwrap(constant) for constant in self.saved)
        if not self.shape[1]:
            return wrap_like(xp(target).zeros(self.shape, pull.dtype), g)
        rows = xp(target).arange(target.shape[0])
        return Unindex.apply(g / self.divisor * -pull, self.shape, (rows, target))


# ------------------------------------------------------------------------------------------
# Arguments
# ------------------------------------------------------------------------------------------


def check_index(name: str, ignore_index: Any) -> None:
    try:
        operator.index(ignore_index)
    except TypeError:
        raise TypeError(f"{name}: got ignore_index = {ignore_index!r}, expected an int") from None


def _class_dim(input: Any) -> int:
    return 0 if input.ndim == 1 else 1


def _check_weight(name: str, input: Any, weight: Any) -> Array | None:
    """The weights of the classes as a raw array; they are constants, as in PyTorch."""
    require_float(name, input)
    if not input.ndim:
        raise ShapeError(f"{name}: input has shape (), expected (C), (N, C) or (N, C, d1, …)")
    if weight is None:
        return None
    classes = input.shape[_class_dim(input)]
    if tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"{name}: weight has shape {tuple(weight.shape)}, expected ({classes},), one for each "
            f"class of input {tuple(input.shape)}"
        )
    if isinstance(weight, Variable) and weight._tracked:
        raise RuntimeError(
            f"{name}: weight requires grad, but the loss is not differentiable by it; detach() it"
        )
    return unwrap(weight)


def _as_rows(input: Any) -> Any:
    """(C) → (1, C); (N, C, d1, …) → (N·d1·…, C)."""
    if input.ndim == 1:
        return input.reshape((1, -1))
    if input.ndim > 2:
        input = movedim(input, 1, -1)
        return input.reshape((math.prod(input.shape[:-1]), input.shape[-1]))
    return input


def _targets(
    name: str, input: Any, target: Any, weight: Array | None, ignore_index: int
) -> tuple[Array, Array, Array]:
    """(class, whether it counts, its weight) for each row of `_as_rows(input)`, each (M)."""
    if weight is not None:
        require_same_dtype(name, "weight", weight, input, autocasts=True)
    shape = unwrap(input).shape
    expected = shape[:1] + shape[2:] if len(shape) > 1 else ()
    numbers = unwrap(target)
    if tuple(numbers.shape) != expected:
        raise ShapeError(
            f"{name}: target has shape {tuple(numbers.shape)}, expected {expected} for class "
            f"numbers with input {shape}"
        )
    if numbers.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}: target has dtype {numbers.dtype}, expected integers, the numbers of the "
            "classes; use .long()"
        )
    library = xp(numbers)
    numbers = numbers.reshape(-1)
    counts = numbers != ignore_index
    # a copy in both cases: the target may be written to before backward
    chosen = numbers.copy() if counts.all() else library.where(counts, numbers, 0)
    classes = shape[_class_dim(input)]
    wrong = outside(chosen, 0, classes) if counts.any() else None
    if wrong is not None:
        raise IndexError(
            f"{name}: target {wrong} is out of bounds for {classes} classes, expected 0 to "
            f"{classes - 1}, or ignore_index={ignore_index}"
        )
    pull = counts.astype(unwrap(input).dtype)
    if weight is not None and classes:
        pull *= weight[chosen]
    return chosen, counts, pull


def _count(pull: Array, reduction: str) -> Any:
    """What the sum of the losses is divided by; None if they are not summed."""
    if reduction == "mean":
        total = pull.sum()
        return float(total) if isinstance(total, np.generic) else total  # on a GPU an array
    return 1.0 if reduction == "sum" else None


# ------------------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------------------


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """−log softmax(input)[target], averaged: how surprised the logits `input` are by the targets.

    input (C), (N, C) or (N, C, d1, …). target: class numbers of shape (), (N) or (N, d1, …), or
    probabilities in the shape of input.

    weight (C): how much each class counts; the mean is then weighted too. ignore_index: a class
    number that counts nothing. label_smoothing: this part of the target is spread evenly over all
    classes. reduction: "none", "mean" or "sum".
    """
    check_given("cross_entropy", target=target)
    check_tensors("cross_entropy", weight=weight)
    name = "cross_entropy"
    reduction = reduction_of(name, reduction, size_average, reduce)
    if type(ignore_index) is not int:
        check_index(name, ignore_index)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(
            f"{name}: label_smoothing must be between 0.0 and 1.0, got {label_smoothing}"
        )
    w = _check_weight(name, input, weight)
    if tuple(unwrap(input).shape) == tuple(unwrap(target).shape):
        if ignore_index >= 0:
            raise RuntimeError(
                f"{name}: got ignore_index={ignore_index} with probabilities as target, expected "
                "class numbers"
            )
        return _with_probabilities(input, target, w, reduction, label_smoothing)

    chosen, counts, pull = _targets(name, input, target, w, ignore_index)
    count = _count(pull, reduction)
    spread = None
    if label_smoothing > 0:
        classes = input.shape[_class_dim(input)]
        spread = counts.astype(pull.dtype) * (label_smoothing / max(classes, 1))
        pull = pull * (1 - label_smoothing)
    loss = CrossEntropy.apply(_as_rows(input), chosen, pull, spread, weight, count)
    return loss.reshape(tuple(target.shape)) if reduction == "none" else loss


def _with_probabilities(
    input: Any, target: Any, weight: Array | None, reduction: str, smoothing: float
) -> Any:
    """−Σ target·log softmax(input) over the classes, each class with its weight."""
    if unwrap(target).dtype.kind not in "fV":
        raise RuntimeError(
            f"cross_entropy: target has the shape of input, {tuple(input.shape)}, which means "
            f"probabilities, but dtype {unwrap(target).dtype}, expected floating point"
        )
    dim = _class_dim(input)
    classes = input.shape[dim]
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / max(classes, 1)
    if weight is not None:
        target = target * weight.reshape((classes,) + (1,) * (input.ndim - dim - 1))
    loss = -(log_softmax(input, dim) * target).sum(axis=dim)
    if not classes and reduction == "mean":
        loss = loss * math.nan  # as in PyTorch: the sum over as many elements as input has, 0/0
    return reduce_loss(loss, reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """−input[target], averaged, for log-probabilities `input`: cross_entropy without its softmax.

    input (C), (N, C) or (N, C, d1, …); target: class numbers of shape (), (N) or (N, d1, …). The
    other arguments are those of `cross_entropy`.
    """
    check_given("nll_loss", target=target)
    check_tensors("nll_loss", weight=weight)
    reduction = reduction_of("nll_loss", reduction, size_average, reduce)
    if type(ignore_index) is not int:
        check_index("nll_loss", ignore_index)
    w = _check_weight("nll_loss", input, weight)
    chosen, _, pull = _targets("nll_loss", input, target, w, ignore_index)
    loss = NllLoss.apply(_as_rows(input), chosen, pull, _count(pull, reduction))
    return loss.reshape(tuple(target.shape)) if reduction == "none" else loss


__all__ = ["cross_entropy", "nll_loss"]
