"""Norms of weights: over all dimensions but one, and the largest singular value."""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from .. import functional as F


def norm_except_dim(weight: Tensor, dim: int | None) -> Tensor:
    """√Σ w² over all dimensions but `dim`, which are kept with size 1; None: over all."""
    if dim is None:
        return weight.norm()
    others = tuple(d for d in range(weight.dim()) if d != dim % weight.dim())
    if not others:
        return weight.abs()
    return weight.pow(2).sum(others, keepdim=True).sqrt()


def first_dim_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix whose rows are dimension `dim`."""
    if dim:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.shape[0], -1)  # (rows, …) → (rows, all the rest)


def unit_vector(like: Tensor, size: int, eps: float) -> Tensor:
    """A random vector of length 1."""
    return F.normalize(like.new_empty(size).normal_(0, 1), dim=0, eps=eps)


def adjoint(matrix: Any) -> Any:
    """The transpose of a matrix, conjugated if it is complex."""
    return matrix.t().conj() if matrix.is_complex() else matrix.t()


def power_iteration(matrix: Any, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Turn u and v towards the singular vectors of the largest singular value, in place."""
    with tt.no_grad():
        for _ in range(steps):
            v.copy_(F.normalize(tt.mv(adjoint(matrix), u), dim=0, eps=eps))
            u.copy_(F.normalize(tt.mv(matrix, v), dim=0, eps=eps))
