"""Losses of classification into one of C classes: cross_entropy and nll_loss."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_given, check_tensors
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap_like
from ..backend import Array, sum_over, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .index import read
from .loss_reduction import reduce_loss, reduction_of
from .masked import MaskedFill
from .parse_index import outside
from .promote import require_float, require_same_dtype
from .shape import movedim
from .softmax import Softmax, log_softmax

if TYPE_CHECKING:
    from ..tensor import Tensor


def probabilities(x: Any) -> Any:
    """softmax x for each row of x (M, C)."""
    return Softmax.apply(x, 1)


def _at_target(x: Array, target: Array) -> Array:
    """x[t] for each row of x (M, C)."""
    if xp(target) is not xp(x):
        raise TypeError("an index on another device")  # of which the engine makes a DeviceError
    if not x.shape[1]:  # no classes: all rows are ignored
        return x.sum(axis=1)
    return x[xp(x).arange(x.shape[0]), target]


def _pulled(loss: Array, pull: Array | None) -> Array:
    """pull·loss for each row; 0 for ignored rows, even if they hold inf or NaN."""
    if pull is None:
        return loss
    loss *= pull
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
    row's own class counts, 1 for None. spread (M), or None: how much all classes do, each by its
    weight in w (C), 1 for None; this is label smoothing. count: None for no reduction.
    """

    saves = ("x", "target", "pull", "spread", "w")
    fresh = True

    def forward(self, x: Array, target: Array, pull: Array | None, spread: Array | None,
                w: Array | None, count: Any) -> Array:  # fmt: skip
        if not x.size:
            return self.reduce(x.sum(axis=1), count)
        library = xp(x)
        shifted = x - x.max(axis=1, keepdims=True)  # (M, C), as in ops/softmax.py
        powers = library.exp(shifted)
        sums = sum_over(powers, (1,), keepdims=True)  # (M, 1)
        logs = library.log(sums)
        loss = _pulled(logs[:, 0] - _at_target(shifted, target), pull)
        if self.needs(0):
            powers /= sums
            self.remember("probabilities", powers)
        if spread is not None:
            p = shifted - logs
            even = (p.sum(axis=1) if w is None else p @ w) * -spread
            even[spread == 0] = 0
            loss += even
        return self.reduce(loss, count)

    def backward(self, g: Any) -> Any:
        x, *constants = self.saved
        target, pull, spread, w = (unwrap(constant) for constant in constants)
        g = (g / self.divisor).reshape((-1, 1))  # () → (1, 1), or (M) → (M, 1)
        if pull is not None and not pull.all():
            ignored = pull == 0 if spread is None else (pull == 0) & (spread == 0)
            g = MaskedFill.apply(g, ignored[:, None], 0)  # (M, 1); also where g is infinite
        own = all_classes = g if pull is None else g * pull[:, None]  # (1, 1) or (M, 1)
        if spread is not None:
            share = pull + spread * (x.shape[1] if w is None else w.sum())
            all_classes = g * share[:, None]
        dx = self.recall(probabilities, x) * all_classes
        if spread is not None:
            dx = dx - g * (spread[:, None] if w is None else spread[:, None] * w)
        if not x.shape[1]:
            return dx
        rows = xp(target).arange(target.shape[0])
        dx[rows, target] -= own[:, 0]  # dx is fresh: nothing else refers to it
        return dx


class NllLoss(RowLoss, Op):
    """y = Σ l / count (or each l), l = −pull·x[t] for each row x;  dx = −g/count·pull·onehot t

    pull: 1 for None.
    """

    saves = ("target", "pull")

    def forward(self, x: Array, target: Array, pull: Array | None, count: Any) -> Array:
        self.shape = x.shape
        return self.reduce(_pulled(-_at_target(x, target), pull), count)

    def backward(self, g: Any) -> Any:
        target, pull = (unwrap(constant) for constant in self.saved)
        g = g / -self.divisor
        if pull is not None:
            g = MaskedFill.apply(g * pull, pull == 0, 0)  # also where g is infinite
        if not self.shape[1]:
            return wrap_like(xp(target).zeros(self.shape, unwrap(g).dtype), g)
        return OnePerRow.apply(g, target, self.shape)


class OnePerRow(Op):
    """y = zeros (M, C), but y[i, tᵢ] = xᵢ;  dx = g[i, tᵢ], for x (M) or one number"""

    def forward(self, x: Array, target: Array, shape: tuple) -> Array:
        self.index = (xp(target).arange(shape[0]), target)
        y = xp(target).zeros(shape, dtype=x.dtype)
        y[self.index] = x
        return y

    def backward(self, g: Any) -> Any:
        return read(g, self.index)


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
) -> tuple[Array, Array | None, Array | None]:
    """(class, whether it counts, its weight) for each row of `_as_rows(input)`, each (M).

    None for the last two if every row counts 1.
    """
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
    classes = shape[0 if len(shape) == 1 else 1]
    # A copy: the target may be written to before backward. int64, as uint8 is a mask in an index.
    chosen = numbers.astype(np.int64).reshape(-1)
    wrong = outside(chosen, 0, classes)
    if wrong is None and weight is None and not 0 <= ignore_index < classes:
        return chosen, None, None
    counts = chosen != ignore_index
    if not counts.all():
        chosen = xp(chosen).where(counts, chosen, 0)
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


def _count(chosen: Array, pull: Array | None, reduction: str) -> Any:
    """What the sum of the losses is divided by; None if they are not summed."""
    if reduction == "mean":
        if pull is None:
            return float(chosen.size)
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
    if not isinstance(target, Variable) or weight is not None:
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
    count = _count(chosen, pull, reduction)
    spread = None
    if label_smoothing > 0:
        classes, dtype = input.shape[_class_dim(input)], unwrap(input).dtype
        ones = xp(chosen).ones(chosen.shape, dtype)
        spread = (ones if counts is None else counts.astype(dtype)) * (
            label_smoothing / max(classes, 1)
        )
        pull = (ones if pull is None else pull) * (1 - label_smoothing)
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
    if not isinstance(target, Variable) or weight is not None:
        check_given("nll_loss", target=target)
        check_tensors("nll_loss", weight=weight)
    reduction = reduction_of("nll_loss", reduction, size_average, reduce)
    if type(ignore_index) is not int:
        check_index("nll_loss", ignore_index)
    w = _check_weight("nll_loss", input, weight)
    chosen, _, pull = _targets("nll_loss", input, target, w, ignore_index)
    loss = NllLoss.apply(_as_rows(input), chosen, pull, _count(chosen, pull, reduction))
    return loss.reshape(tuple(target.shape)) if reduction == "none" else loss


__all__ = ["cross_entropy", "nll_loss"]
