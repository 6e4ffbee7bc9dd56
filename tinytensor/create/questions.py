"""Questions about a tensor, as functions: `is_tensor`, `numel` and similar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import require_tensor
from ..autograd.variable import Variable

if TYPE_CHECKING:
    from ..tensor import Tensor


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Variable)


def is_floating_point(input: Tensor) -> bool:
    """Whether the tensor's dtype is a floating point one."""
    return input.array.dtype.kind in "fV"


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.array.size


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex64 or complex128."""
    require_tensor("is_complex", input)
    return input.is_complex()


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero."""
    return bool(input)


__all__ = ["is_complex", "is_floating_point", "is_nonzero", "is_tensor", "numel"]
