"""Losses of regression and of yes-or-no decisions, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import check_given, check_tensors
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..errors import ShapeError
from .activation import logsigmoid
from .autocast import in_float32
from .autocast_setting import setting
from .broadcast import expands_to
from .clamp import clamp, clamp_min
from .loss_reduction import (
    reduce_loss,
    reduction_of,
    require_same_shape,
    warn_if_broadcast,
)
from .pointwise import log, log1p, sigmoid
from .promote import cast, promote, require_float, require_same_dtype
from .sign import abs

if TYPE_CHECKING:
    from ..tensor import Tensor

# ------------------------------------------------------------------------------------------
# Regression
# ------------------------------------------------------------------------------------------


class SquaredError(Op):
    """y = (x − t)²;  dx = 2·g·(x − t), dt = −dx"""

    saves = ("x", "t")

    def forward(self, x: Array, t: Array) -> Array:
        y = x - t
        y *= y
        return y

    def backward(self, g: Any) -> Any:
        x, t = self.saved
        dx = (x - t) * (2 * g)
        return dx, -dx if self.needs(1) else None


class HuberError(Op):
    """y = scale·½d² where |d| = |x − t| < delta, else scale·delta·(|d| − ½·delta);
    dx = g·scale·(d clamped to ±delta), dt = −dx
    """

    saves = ("x", "t")

    def forward(self, x: Array, t: Array, delta: float, scale: float) -> Array:
        self.delta, self.scale = delta, scale
        distance = xp(x).abs(x - t)
        # With m = min(|d|, delta), both branches are m·(|d| − ½m).
        m = xp(x).minimum(distance, delta)
        return m * (distance - 0.5 * m) * scale

    def backward(self, g: Any) -> Any:
        x, t = self.saved
        dx = clamp(x - t, -self.delta, self.delta) * (g * self.scale)
        return dx, -dx if self.needs(1) else None


def _as_floats(name: str, input: Any, target: Any) -> tuple[Any, Any]:
    """input and target in one floating point dtype."""
    a, b = promote(input, target)
    require_float(name, a)
    return a, b


def _weighted_mean(loss: Any, weight: Any, reduction: str, name: str, input: Any) -> Any:
    """`reduce_loss` with a weight for each element; the mean is divided by the sum of weights."""
    if weight is None:
        return reduce_loss(loss, reduction)
    require_same_shape(name, input, weight, "weight")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce_loss(loss, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input − target)², averaged. weight: one for each element, for a weighted mean."""
    reduction = reduction_of("mse_loss", reduction, size_average, reduce)
    warn_if_broadcast("mse_loss", input, target)
    loss = SquaredError.apply(*_as_floats("mse_loss", input, target))
    return _weighted_mean(loss, weight, reduction, "mse_loss", input)


@in_float32
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input − target|, averaged. weight: one for each element, for a weighted mean."""
    reduction = reduction_of("l1_loss", reduction, size_average, reduce)
    warn_if_broadcast("l1_loss", input, target)
    return _weighted_mean(abs(input - target), weight, reduction, "l1_loss", input)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """|d| − ½·beta for d = input − target, rounded off to d² / (2·beta) where |d| < beta."""
    if beta < 0:
        raise RuntimeError(
            f"smooth_l1_loss: beta is {beta}, expected a number that is not negative"
        )
    reduction = reduction_of("smooth_l1_loss", reduction, size_average, reduce)
    warn_if_broadcast("smooth_l1_loss", input, target)
    if beta == 0:
        return reduce_loss(abs(input - target), reduction)
    a, b = _as_floats("smooth_l1_loss", input, target)
    return reduce_loss(HuberError.apply(a, b, float(beta), 1 / beta), reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """½d² for d = input − target where |d| < delta, beyond it the straight line that goes on."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss: delta is {delta}, expected a positive number")
    reduction = reduction_of("huber_loss", reduction)
    warn_if_broadcast("huber_loss", input, target)
    a, b = _as_floats("huber_loss", input, target)
    loss = HuberError.apply(a, b, float(delta), 1.0)
    if weight is not None:
        require_same_shape("huber_loss", input, weight, "weight")
        loss = loss * weight
    return reduce_loss(loss, reduction)


# ------------------------------------------------------------------------------------------
# Yes or no
# ------------------------------------------------------------------------------------------


class BinaryCrossEntropy(Op):
    """y = −t·log x − (1 − t)·log(1 − x), logarithms not below −100;
    dx = g·(x − t) / (x·(1 − x)), the divisor not below 1e-12;  dt = g·(log(1 − x) − log x)
    """

    saves = ("x", "t")

    def forward(self, x: Array, t: Array) -> Array:
        library = xp(x)
        yes = library.maximum(library.log(x), -100)
        no = library.maximum(library.log1p(-x), -100)
        return (t - 1) * no - t * yes

    def backward(self, g: Any) -> Any:
        x, t = self.saved
        dx = g * (x - t) / clamp_min((1 - x) * x, 1e-12)
        dt = g * (log1p(-x) - log(x)) if self.needs(1) else None
        return dx, dt


class BinaryCrossEntropyWithLogits(Op):
    """y = (1 − t)·x + k·s, s = −log σ(x), k = 1 + (p − 1)·t;
    dx = g·(1 − t − k·σ(−x)),  dt = g·((p − 1)·s − x),  dp = g·t·s

    p, or None for 1, is the weight of "yes".
    """

    saves = ("x", "t", "p")

    def forward(self, x: Array, t: Array, p: Array | None) -> Array:
        s = -logsigmoid(x)
        if p is not None:
            s = s * (1 + (p - 1) * t)
        return (1 - t) * x + s

    def backward(self, g: Any) -> Any:
        x, t, p = self.saved
        no = sigmoid(-x)
        dx = g * (1 - t - (no if p is None else (1 + (p - 1) * t) * no))
        dt = dp = None
        if self.needs(1):
            dt = -g * x if p is None else -g * ((p - 1) * logsigmoid(x) + x)
        if self.needs(2):
            dp = -g * t * logsigmoid(x)
        return dx, dt, dp


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """−target·log(input) − (1 − target)·log(1 − input), averaged, for probabilities `input`.

    Logarithms are held above −100, so that the loss is finite. weight broadcasts to the losses.
    """
    name = "binary_cross_entropy"
    reduction = reduction_of(name, reduction, size_average, reduce)
    require_same_shape(name, input, target)
    require_float(name, input)
    require_same_dtype(name, "target", target, input)
    for what, values in (("input", unwrap(input)), ("target", unwrap(target))):
        if values.size and not (float(values.min()) >= 0 and float(values.max()) <= 1):
            raise RuntimeError(f"{name}: all elements of {what} should be between 0 and 1")
    if weight is not None and not expands_to(tuple(weight.shape), tuple(input.shape)):
        raise ShapeError(
            f"{name}: weight has shape {tuple(weight.shape)}, expected one that expands to "
            f"{tuple(input.shape)}"
        )
    loss = BinaryCrossEntropy.apply(input, target)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy(sigmoid(input), target), without the loss of digits of the two in turn.

    weight broadcasts to the losses; pos_weight, which broadcasts to input, weights the part of the
    target that is "yes". The loss has the dtype of the target.
    """
    check_given("binary_cross_entropy_with_logits", target=target)
    check_tensors("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    name = "binary_cross_entropy_with_logits"
    reduction = reduction_of(name, reduction, size_average, reduce)
    require_same_shape(name, input, target)
    require_float(name, input)
    require_float(name, target)
    a, b = promote(input, target)
    loss = BinaryCrossEntropyWithLogits.apply(a, b, pos_weight)
    loss = loss if weight is None else loss * weight
    if unwrap(target).dtype != unwrap(loss).dtype and setting.active is None:
        loss = cast(loss, unwrap(target).dtype)  # PyTorch computes in place of the target
    return reduce_loss(loss, reduction)


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "l1_loss", "mse_loss",
    "smooth_l1_loss",
]  # fmt: skip
