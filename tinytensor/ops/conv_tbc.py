"""conv_tbc: convolution over lines whose dimensions are (time, batch, channels)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_given
from ..errors import ShapeError
from .convolution import conv1d
from .shape import permute

if TYPE_CHECKING:
    from ..tensor import Tensor


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` with other orders of dimensions: input (L, N, C), weight (K, C, O), bias (O).

    pad: zeros before and after the line. The result is (L + 2·pad − K + 1, N, O).
    """
    check_given("conv_tbc", weight=weight, bias=bias)
    shapes: Any = tuple(array_of("conv_tbc", x).shape for x in (input, weight, bias))
    (line, kernel, offset) = shapes
    fits = len(line) == len(kernel) == 3 and line[2] == kernel[1] and offset == kernel[2:]
    if not fits:
        raise ShapeError(
            f"conv_tbc: got input {line}, weight {kernel} and bias {offset}, expected (L, N, C), "
            "(K, C, O) and (O)"
        )
    # (L, N, C) → (N, C, L), (K, C, O) → (O, C, K)
    y = conv1d(permute(input, (1, 2, 0)), permute(weight, (2, 1, 0)), bias, padding=pad)
    return permute(y, (2, 0, 1))  # (N, O, L') → (L', N, O)


__all__ = ["conv_tbc"]
