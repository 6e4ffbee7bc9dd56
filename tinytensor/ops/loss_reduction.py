"""The `reduction` argument of the losses: mean, sum or none."""

from __future__ import annotations

from typing import Any

from ..autograd.arguments import array_of
from ..autograd.site import warn
from ..errors import ShapeError
from .reduce import mean, sum


def reduction_of(
    name: str, reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """Check the reduction; size_average and reduce are PyTorch's older arguments for it."""
    if size_average is not None or reduce is not None:
        averaged = size_average is None or size_average
        reduced = reduce is None or reduce
        reduction = ("mean" if averaged else "sum") if reduced else "none"
        warn(
            f"{name}: size_average and reduce are deprecated, use reduction={reduction!r}",
        )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"{name}: {reduction!r} is not a valid value for reduction, expected 'none', 'mean' or "
            "'sum'"
        )
    return reduction


def reduce_loss(loss: Any, reduction: str) -> Any:
    """The mean, the sum, or the losses as they are."""
    if reduction == "mean":
        return mean(loss)
    return sum(loss) if reduction == "sum" else loss


def warn_if_broadcast(name: str, input: Any, target: Any) -> None:
    """A target of another shape is most often a mistake: (N) against (N, 1) gives N² losses."""
    if array_of(name, input).shape != tuple(target.shape):
        warn(
            f"{name}: using a target size {tuple(target.shape)} that is different to the input "
            f"size {tuple(input.shape)}; they are broadcast, which is likely not what is meant",
        )


def require_same_shape(name: str, input: Any, other: Any, what: str = "target") -> None:
    if array_of(name, input).shape != tuple(other.shape):
        raise ShapeError(
            f"{name}: {what} has shape {tuple(other.shape)}, expected {tuple(input.shape)}, the "
            "shape of input"
        )
