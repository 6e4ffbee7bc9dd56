"""renorm: slices whose norm is too large are made shorter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..out import takes_out
from .clamp import where
from .dims import normalize_dim
from .promote import require_float
from .variance import norm

if TYPE_CHECKING:
    from ..tensor import Tensor


@takes_out("same dtype")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Each slice along `dim` times maxnorm/(‖slice‖ₚ + 10⁻⁷) if its p-norm exceeds maxnorm."""
    require_float("renorm", input)
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: got shape {tuple(input.shape)}, expected at least 2 dimensions"
        )
    if not p > 0:
        raise RuntimeError(f"renorm: got p = {p}, expected a number above 0")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: got maxnorm = {maxnorm}, expected a number from 0 on")
    dim = normalize_dim("renorm", dim, input.ndim)
    size = norm(input, p, tuple(i for i in range(input.ndim) if i != dim), keepdim=True)
    return input * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


__all__ = ["renorm"]
