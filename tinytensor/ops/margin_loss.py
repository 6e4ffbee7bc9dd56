"""Losses that ask for a margin: between two scores, two distances, or a score and a decision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, check_given, check_tensors
from ..autograd.variable import unwrap
from ..backend import xp
from ..errors import ShapeError
from .activation import logsigmoid, softplus
from .autocast import in_float32
from .broadcast import expands_to
from .clamp import clamp_min, minimum, where
from .distance import pairwise_distance
from .loss_reduction import reduce_loss, reduction_of
from .parse_index import outside
from .power import sqrt
from .promote import require_float

if TYPE_CHECKING:
    from ..tensor import Tensor


@in_float32
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin − target·(input1 − input2)), averaged.

    target: 1 where input1 should be larger, −1 where input2 should.
    """
    check_given("margin_ranking_loss", input2=input2, target=target)
    name = "margin_ranking_loss"
    reduction = reduction_of(name, reduction, size_average, reduce)
    if not array_of("margin_ranking_loss", input1).ndim == input2.ndim == target.ndim:
        raise ShapeError(
            f"{name}: got shapes {tuple(input1.shape)}, {tuple(input2.shape)} and target "
            f"{tuple(target.shape)}, expected the same number of dimensions"
        )
    return reduce_loss(clamp_min(-target * (input1 - input2) + margin, 0), reduction)


@in_float32
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin − input) where it is −1, averaged."""
    reduction = reduction_of("hinge_embedding_loss", reduction, size_average, reduce)
    near = where(target != -1, input, 0.0)
    far = where(target != 1, clamp_min(margin - input, 0), 0.0)
    return reduce_loss(near + far, reduction)


@in_float32
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 − cosine where target is 1, max(0, cosine − margin) where it is −1, averaged.

    input1, input2 (N, D) with target (N), or (D) with target ().
    """
    check_given("cosine_embedding_loss", input2=input2, target=target)
    name = "cosine_embedding_loss"
    reduction = reduction_of(name, reduction, size_average, reduce)
    ndim = array_of(name, input1).ndim
    if ndim not in (1, 2) or not ndim == input2.ndim == target.ndim + 1:
        raise ShapeError(
            f"{name}: got shapes {tuple(input1.shape)}, {tuple(input2.shape)} and target "
            f"{tuple(target.shape)}, expected (N, D), (N, D) and (N), or (D), (D) and ()"
        )
    eps = 1e-12  # PyTorch's; differentiable also where a vector is 0
    product = (input1 * input2).sum(axis=-1)
    lengths = ((input1 * input1).sum(axis=-1) + eps) * ((input2 * input2).sum(axis=-1) + eps)
    cosine = product / sqrt(lengths)
    alike = where(target == 1, 1 - cosine, 0.0)
    unlike = where(target == -1, clamp_min(cosine - margin, 0), 0.0)
    return reduce_loss(alike + unlike, reduction)


@in_float32
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + ‖anchor − positive‖ₚ − ‖anchor − negative‖ₚ), averaged; all (N, D) or (D).

    swap: use the distance of positive and negative where that is the smaller.
    """
    check_given("triplet_margin_loss", positive=positive, negative=negative)
    reduction = reduction_of("triplet_margin_loss", reduction, size_average, reduce)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _triplet_loss(
        "triplet_margin_loss", (anchor, positive, negative), distance, margin, swap, reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """As `triplet_margin_loss`, with a distance function of your own."""
    name = "triplet_margin_with_distance_loss"
    reduction = reduction_of(name, reduction)
    distance = distance_function or pairwise_distance
    return _triplet_loss(name, (anchor, positive, negative), distance, margin, swap, reduction)


def _triplet_loss(
    name: str, triplet: tuple, distance: Callable, margin: float, swap: bool, reduction: str
) -> Any:
    anchor, positive, negative = triplet
    if type(swap) is not bool:
        check_flags(name, swap=swap)
    if margin <= 0:
        raise ValueError(f"{name}: margin must be greater than 0, got {margin}")
    if not array_of(name, anchor).ndim == positive.ndim == negative.ndim:
        shapes = ", ".join(str(tuple(x.shape)) for x in triplet)
        raise ShapeError(f"{name}: got shapes {shapes}, expected the same number of dimensions")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduce_loss(clamp_min(margin + near - far, 0), reduction)


@in_float32
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(−target·input)), averaged; target is 1 or −1."""
    check_given("soft_margin_loss", target=target)
    reduction = reduction_of("soft_margin_loss", reduction, size_average, reduce)
    require_float("soft_margin_loss", input)
    if not expands_to(tuple(target.shape), tuple(input.shape)):
        raise ShapeError(
            f"soft_margin_loss: target has shape {tuple(target.shape)}, expected one that expands "
            f"to {tuple(input.shape)}"
        )
    return reduce_loss(softplus(-target * input), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """binary_cross_entropy_with_logits, averaged over the classes, then over the batch.

    input and target (N, C) or (C); weight (C).
    """
    if not array_of("multilabel_soft_margin_loss", input).ndim:
        raise IndexError("multilabel_soft_margin_loss: got a 0-d input, expected (N, C) or (C)")
    reduction = reduction_of("multilabel_soft_margin_loss", reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.ndim - 1  # the dimension; after broadcasting it may have another size
    return reduce_loss(loss.sum(axis=classes) / input.shape[classes], reduction)


@in_float32
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Σ max(0, margin − input[target] + input[c])ᵖ / C over the classes c other than the target.

    input (N, C) or (C); target: class numbers (N), for (C) also (). weight (C): how much each class
    counts.
    """
    check_given("multi_margin_loss", target=target)
    check_tensors("multi_margin_loss", weight=weight)
    name = "multi_margin_loss"
    reduction = reduction_of(name, reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"{name}: p is {p}, expected 1 or 2")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"{name}: weight must be one-dimensional, got {tuple(weight.shape)}")
    require_float(name, input, NotImplementedError)
    shape, given = array_of(name, input).shape, tuple(target.shape)
    fits = given == shape[:-1] or (math.prod(shape[:-1]) == 1 and given in ((), (1,)))
    if len(shape) > 2 or 0 in shape[-1:] or not fits:
        raise ShapeError(
            f"{name}: got input {shape} and target {given}, expected (N, C) and (N), or (C) and ()"
        )
    classes = shape[-1] if shape else 1
    if weight is not None and tuple(weight.shape) != (classes,):
        raise ShapeError(f"{name}: weight has shape {tuple(weight.shape)}, expected ({classes},)")
    chosen = unwrap(target).reshape(-1)
    if chosen.dtype != np.int64:
        raise RuntimeError(f"{name}: got target of dtype {chosen.dtype}, expected int64")
    library = xp(chosen)
    wrong = outside(chosen, 0, classes)
    if wrong is not None:
        raise RuntimeError(f"{name}: target {wrong} is out of range, expected 0 to {classes - 1}")
    scores = input.reshape((-1, classes))  # (C) → (1, C)
    own = scores[library.arange(chosen.size), chosen].reshape((-1, 1))
    loss = clamp_min(margin - own + scores, 0)
    if p == 2:
        loss = loss * loss
    if weight is not None:
        loss = loss * unwrap(weight)[chosen].reshape((-1, 1))
    others = library.arange(classes) != chosen[:, None]
    loss = where(others, loss, 0.0).sum(axis=1) / classes
    return reduce_loss(loss.reshape(tuple(target.shape)), reduction)


@in_float32
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Σ max(0, 1 − input[j] + input[i]) / C over the target classes j and the other classes i.

    input (N, C) or (C); target, of the same shape: class numbers up to the first −1.
    """
    check_given("multilabel_margin_loss", target=target)
    name = "multilabel_margin_loss"
    reduction = reduction_of(name, reduction, size_average, reduce)
    require_float(name, input)
    shape, given = array_of(name, input).shape, unwrap(target)
    if len(shape) > 2 or given.shape != shape or shape[-1:] == (0,):
        raise ShapeError(
            f"{name}: got input {shape} and target {given.shape}, expected both (N, C) or (C)"
        )
    classes = shape[-1] if shape else 1
    library = xp(given)
    if given.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: got target of dtype {given.dtype}, expected int64")
    wrong = outside(given, -1, classes)
    if wrong is not None:
        raise RuntimeError(f"{name}: target {wrong} is out of range, expected −1 to {classes - 1}")
    labels = given.reshape(-1, classes)  # (C) → (1, C)
    valid = library.cumsum(labels < 0, axis=1) == 0  # before the first −1
    chosen = library.where(valid, labels, 0)
    numbers = library.arange(classes)
    own = ((chosen[:, :, None] == numbers) & valid[:, :, None]).any(axis=1)  # (N, C): a target
    scores = input.reshape((-1, classes))
    rows = library.arange(len(labels))[:, None]
    margins = 1 - scores[rows, chosen].reshape((-1, classes, 1)) + scores.reshape((-1, 1, classes))
    pairs = valid[:, :, None] & ~own[:, None, :]  # (N, target j, class i)
    loss = where(pairs, clamp_min(margins, 0), 0.0).sum(axis=(1, 2)) / classes
    return reduce_loss(loss.reshape(shape[:-1]), reduction)


__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip
