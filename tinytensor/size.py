"""Size: a tensor's shape, a tuple that prints and counts as PyTorch's does."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple):
    """`x.shape`: a tuple of ints."""

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"tinytensor.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))
