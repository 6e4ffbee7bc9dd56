"""Lengths, angles and distances of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import (
    array_of,
    check_flags,
    check_given,
    check_ints,
    check_numbers,
    require_tensor,
)
from ..autograd.variable import unwrap, wrap_like
from ..backend import xp
from ..errors import ShapeError
from ..out import takes_out
from .autocast import in_float32
from .broadcast import broadcast_tensors
from .clamp import clamp_min, where
from .dims import accepts_axis
from .index import Index
from .promote import promote_float, refuse_complex, require_float
from .variance import norm

if TYPE_CHECKING:
    from ..tensor import Tensor


@takes_out("cast", elementwise=True)
@accepts_axis
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input / ‖input‖ₚ along `dim`: vectors of length 1. Lengths below eps count as eps."""
    require_tensor("normalize", input)
    return input / clamp_min(norm(input, p, dim, keepdim=True), eps)


@accepts_axis
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1·x2 / (‖x1‖·‖x2‖) along `dim`: the cosine of the angle between two vectors.

    x1 and x2 broadcast; lengths below eps count as eps.
    """
    check_ints("cosine_similarity", dim=dim)
    # `dim` counts in the common shape, and the lengths are those of the broadcast vectors.
    x1, x2 = broadcast_tensors(*promote_float(x1, x2, "cosine_similarity"))
    unit1 = x1 / clamp_min(norm(x1, 2, dim, keepdim=True), eps)
    unit2 = x2 / clamp_min(norm(x2, 2, dim, keepdim=True), eps)
    return (unit1 * unit2).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """‖x1 − x2 + eps‖ₚ over the last dimension; x1 and x2 broadcast."""
    check_given("pairwise_distance", x2=x2)
    if type(keepdim) is not bool:
        check_flags("pairwise_distance", keepdim=keepdim)
    require_tensor("pairwise_distance", x1)
    if type(eps) is not float:
        check_numbers("pairwise_distance", eps=eps)
    return norm(x1 - x2 + eps, p, -1, keepdim)


MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@in_float32
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """‖a − b‖ₚ for each row a of x1 (…, P, M) and each row b of x2 (…, R, M): (…, P, R).

    compute_mode is PyTorch's; differences are always taken one by one here.
    """
    check_given("cdist", x2=x2)
    refuse_complex("cdist", x1, x2)
    for x in (x1, x2):
        require_float("cdist", x)
    if not isinstance(p, (int, float)):
        raise TypeError(f"cdist: got p = {p!r}, expected a number")
    if p < 0:
        raise RuntimeError(f"cdist: got p = {p}, expected at least 0")
    if not isinstance(compute_mode, str) or compute_mode not in MODES:
        raise ValueError(f"cdist: got compute_mode {compute_mode!r}, expected one of {MODES}")
    if array_of("cdist", x1).ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            f"cdist: x1 has shape {tuple(x1.shape)} and x2 {tuple(x2.shape)}, expected (…, P, M) "
            "and (…, R, M)"
        )
    # (…, P, 1, M) − (…, 1, R, M) → (…, P, R, M)
    rows = x1.reshape((*x1.shape[:-1], 1, x1.shape[-1]))
    columns = x2.reshape((*x2.shape[:-2], 1, *x2.shape[-2:]))
    if not x1.shape[-1]:
        return (rows - columns).sum(-1)  # zeros; the norm of nothing is not defined for every p
    return _length(rows - columns, p)


@in_float32
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """‖a − b‖ₚ for each two rows a, b of input (N, M): (N·(N − 1)/2), as (0, 1), (0, 2), …"""
    array = array_of("pdist", input)
    refuse_complex("pdist", input)
    if array.ndim != 2:
        raise ShapeError(f"pdist: got input of shape {array.shape}, expected (N, M)")
    if p < 0:
        raise RuntimeError(f"pdist: got p={p}, expected at least 0")
    first, second = xp(array).triu_indices(array.shape[0], 1)
    return _length(Index.apply(input, (first,)) - Index.apply(input, (second,)), p)


def _length(difference: Any, p: float) -> Any:
    """‖difference‖ₚ over the last dimension. Unlike `norm`, NaN for a NaN also if p is 0."""
    y = norm(difference, p, -1)
    x = unwrap(difference)
    if p or not (x != x).any():
        return y
    return where(wrap_like((x != x).any(-1), y), math.nan, y)


__all__ = ["cdist", "cosine_similarity", "normalize", "pairwise_distance", "pdist"]
