"""inverse, det and solve, for one matrix or a batch of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.op import Op
from ..backend import Array, xp
from ..errors import ShapeError
from .promote import promote
from .reduce import require_float

if TYPE_CHECKING:
    from ..tensor import Tensor


class Inverse(Op):
    """y = x⁻¹;  dx = −yᵀ·g·yᵀ"""

    saves = ("out",)

    def forward(self, x: Array) -> Array:
        return lapack("inverse", x, "inv")

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        yT = y.swapaxes(-1, -2)
        return -(yT @ g @ yT)


class Det(Op):
    """y = det x;  dx = g·y·x⁻ᵀ"""

    saves = ("x", "out")

    def forward(self, x: Array) -> Array:
        return xp(x).linalg.det(x)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        return (g * y).reshape((*y.shape, 1, 1)) * inverse(x).swapaxes(-1, -2)


class Solve(Op):
    """y = a⁻¹·b;  db = a⁻ᵀ·g, da = −db·yᵀ"""

    saves = ("a", "out")

    def forward(self, a: Array, b: Array) -> Array:
        return lapack("solve", a, "solve", b)

    def backward(self, g: Any) -> Any:
        a, y = self.saved
        db = Solve.apply(a.swapaxes(-1, -2), g)
        return -(db @ y.swapaxes(-1, -2)), db


def lapack(op: str, a: Array, name: str, *args: Any, **options: Any) -> Any:
    """linalg.name(a, …) of a's library, with its LinAlgError raised as an error of `op`."""
    try:
        return getattr(xp(a).linalg, name)(a, *args, **options)
    except np.linalg.LinAlgError as error:
        raise RuntimeError(f"{op}: {error}, in a tensor of shape {a.shape}") from None


def check_square(op: str, input: Any) -> None:
    """Refuse anything but a square matrix of floats, or a batch of them."""
    require_float(op, input)
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ShapeError(f"{op}: got shape {tuple(input.shape)}, expected square matrices")


def inverse(input: Tensor) -> Tensor:
    """The inverse of a square matrix, or of each in a batch: (…, n, n) → (…, n, n)."""
    check_square("inverse", input)
    return Inverse.apply(input)


def det(input: Tensor) -> Tensor:
    """The determinant: (…, n, n) → (…). Its gradient needs an invertible matrix."""
    check_square("det", input)
    return Det.apply(input)


def solve(A: Tensor, B: Tensor) -> Tensor:
    """X with A·X = B: (…, n, n) and (…, n, k) → (…, n, k), or (…, n) and (…, n) → (…, n)."""
    check_square("solve", A)
    A, B = promote(A, B, "solve")
    vectors = B.ndim == 1 or B.shape == A.shape[:-1]
    columns = B.reshape((*B.shape, 1)) if vectors else B  # (…, n) → (…, n, 1)
    if columns.shape[-2] != A.shape[-1]:
        raise ShapeError(
            f"solve: got shapes {tuple(A.shape)} and {tuple(B.shape)}, expected (…, n, n) and "
            "(…, n, k) or (…, n)"
        )
    X = Solve.apply(A, columns)
    return X.reshape(X.shape[:-1]) if vectors else X


__all__ = ["det", "inverse"]
