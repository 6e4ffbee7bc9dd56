"""Size: a tensor's shape, a tuple with PyTorch's repr and `numel`."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any


class Size(tuple):
    """`x.shape`: a tuple of ints."""

    def __new__(cls, sizes: Iterable = ()) -> Size:
        try:
            return tuple.__new__(cls, map(operator.index, sizes))
        except TypeError:
            raise TypeError(f"Size: got {sizes!r}, expected an iterable of integers") from None

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"tinytensor.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return tuple.__new__(Size, item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__
