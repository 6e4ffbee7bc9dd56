"""Padding layers: surround an image with zeros, a value, or its own elements.

`F.pad` does the work; padding is one int for all sides, or (left, right, top, bottom, …).
"""

from __future__ import annotations

from collections.abc import Sequence

from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module


class _Pad(Module):
    dimensions: int
    mode: str

    def __init__(self, padding: int | Sequence[int]):
        super().__init__()
        sides = 2 * self.dimensions
        self.padding = (padding,) * sides if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != sides:
            raise ValueError(
                f"{type(self).__name__}: got padding={padding}, expected an int or {sides} of them"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pad a sequence with value: (N, C, L) → (N, C, left + L + right)"""

    dimensions = 1


class ConstantPad2d(_ConstantPad):
    """Pad an image with value: (N, C, H, W) → (N, C, top + H + bottom, left + W + right)"""

    dimensions = 2


class ConstantPad3d(_ConstantPad):
    """Pad a volume (N, C, D, H, W) with value"""

    dimensions = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]):
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad1d(_ZeroPad):
    """Pad a sequence (N, C, L) with zeros"""

    dimensions = 1


class ZeroPad2d(_ZeroPad):
    """Pad an image (N, C, H, W) with zeros"""

    dimensions = 2


class ZeroPad3d(_ZeroPad):
    """Pad a volume (N, C, D, H, W) with zeros"""

    dimensions = 3


class ReflectionPad1d(_Pad):
    """Pad a sequence (N, C, L) with its mirror image; the element at the edge is not repeated"""

    dimensions, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pad an image (N, C, H, W) with its mirror image"""

    dimensions, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pad a volume (N, C, D, H, W) with its mirror image"""

    dimensions, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pad a sequence (N, C, L) by repeating its end elements"""

    dimensions, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pad an image (N, C, H, W) by repeating its edge pixels"""

    dimensions, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pad a volume (N, C, D, H, W) by repeating the elements of its faces"""

    dimensions, mode = 3, "replicate"


class _CircularPad(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (self.dimensions + 1, self.dimensions + 2):
            raise ValueError(
                f"{type(self).__name__}: got input of shape {tuple(input.shape)}, expected "
                f"{self.dimensions + 1} or {self.dimensions + 2} dimensions"
            )
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Pad a sequence (N, C, L) by wrapping around to its other end"""

    dimensions = 1


class CircularPad2d(_CircularPad):
    """Pad an image (N, C, H, W) by wrapping around to its other side"""

    dimensions = 2


class CircularPad3d(_CircularPad):
    """Pad a volume (N, C, D, H, W) by wrapping around to its other side"""

    dimensions = 3


# fmt: off
__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]
# fmt: on
