"""torch.utils.dlpack: exchange memory with other libraries."""

from __future__ import annotations

from typing import Any

from ..create import from_dlpack
from ..tensor import Tensor


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that other libraries take the tensor's memory from."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
