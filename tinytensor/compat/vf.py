"""torch._VF, and PyTorch's private forms of `unique`: all results, empty ones if not asked for."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..ops import unique
from ..tensor import Tensor


def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """(distinct elements, the place of each element among them, how often each occurs)."""
    return _three(input, None, sorted, return_inverse, return_counts)


def _unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    """(distinct elements, the place of each element among them)."""
    return _three(input, None, sorted, return_inverse, False)[:2]


def unique_dim(
    input: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `_unique2`, of the slices along `dim`; all three, whatever is asked for."""
    return _three(input, dim, sorted, True, True)


def _three(
    input: Tensor, dim: int | None, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Tensor, Tensor, Tensor]:
    values, inverse, counts = unique(input, sorted, True, True, dim)
    none = inverse[:0].reshape(0)
    return values, inverse if return_inverse else none, counts if return_counts else none


def __getattr__(name: str) -> Any:
    """Other functions of `torch._VF` are the public ones."""
    if name in ops.NAMES:
        return getattr(ops, name)
    raise AttributeError(f"module 'tinytensor._VF' has no attribute {name!r}")
