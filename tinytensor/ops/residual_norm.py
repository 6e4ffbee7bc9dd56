"""A residual sum and the norm after it, in one pass over memory: add_layer_norm, add_rms_norm.

They give the sum too: in a pre-norm block it goes on along the skip connection,

    x, h = add_layer_norm(x, attention(h), …)        # x ← x + attention(h),  h = norm(x)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.variable import unwrap
from ..backend import Array
from ..errors import ShapeError
from ..kernels.route import accelerated
from .layer_norm import LayerNorm, RmsNorm, check_parameter, normalized_axes
from .promote import require_float, require_same_dtype

if TYPE_CHECKING:
    from ..tensor import Tensor


@accelerated("residual_norm")
class AddLayerNorm(LayerNorm):
    """t = x + r,  y = w·n + b, n = (t − mean t)·s, s = 1 / √(var t + eps);
    dn = g·w,  dx = dt + s·(dn − mean dn − n·mean(dn·n)),  dw = g·n,  db = g,  dr = dx

    dt and g: the gradients of t and y.
    """

    saves = ("x", "weight", "residual")
    fresh = False  # dx and dr are one array

    def forward(  # type: ignore[override]
        self, x: Array, weight: Array | None, bias: Array | None, residual: Array, axes: tuple,
        eps: float,
    ) -> tuple:  # fmt: skip
        total = x + residual
        return total, LayerNorm.forward(self, total, weight, bias, axes, eps)

    def backward(self, d_total: Any, g: Any) -> Any:  # type: ignore[override]
        x, weight, residual = self.saved
        dx, dw, db = self.gradients(x + residual, weight, g)
        dx = None if dx is None else d_total + dx
        return dx, dw, db, dx

    def needs(self, i: int) -> bool:
        return super().needs(i) or (i == 0 and super().needs(3))  # dr is dx


@accelerated("residual_norm")
class AddRmsNorm(RmsNorm):
    """t = x + r,  y = w·n, n = t·s, s = 1 / √(mean t² + eps);
    dn = g·w,  dx = dt + s·(dn − n·mean(dn·n)),  dw = g·n,  dr = dx
    """

    saves = ("x", "weight", "residual")
    fresh = False  # dx and dr are one array

    def forward(  # type: ignore[override]
        self, x: Array, weight: Array | None, residual: Array, axes: tuple, eps: float
    ) -> tuple:
        total = x + residual
        return total, RmsNorm.forward(self, total, weight, axes, eps)

    def backward(self, d_total: Any, g: Any) -> Any:  # type: ignore[override]
        x, weight, residual = self.saved
        dx, dw = self.gradients(x + residual, weight, g)
        dx = None if dx is None else d_total + dx
        return dx, dw, dx

    def needs(self, i: int) -> bool:
        return super().needs(i) or (i == 0 and super().needs(2))  # dr is dx


def _check_residual(name: str, input: Any, residual: Any) -> None:
    if tuple(residual.shape) != tuple(input.shape):
        raise ShapeError(
            f"{name}: the residual has shape {tuple(residual.shape)}, expected that of x, "
            f"{tuple(input.shape)}"
        )
    require_same_dtype(name, "the residual", residual, input)


def add_layer_norm(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor]:
    """(t, layer_norm(t)) for t = input + residual.

    input and residual (…, *normalized_shape); the rest as in layer_norm.
    """
    require_float("add_layer_norm", input)
    _check_residual("add_layer_norm", input, residual)
    shape, axes, of = normalized_axes("add_layer_norm", input, normalized_shape)
    check_parameter("add_layer_norm", "weight", weight, shape, of, input)
    check_parameter("add_layer_norm", "bias", bias, shape, of, input)
    return AddLayerNorm.apply(input, weight, bias, residual, axes, eps)


def add_rms_norm(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(t, rms_norm(t)) for t = input + residual; arguments as in add_layer_norm and rms_norm."""
    require_float("add_rms_norm", input)
    _check_residual("add_rms_norm", input, residual)
    shape, axes, of = normalized_axes("add_rms_norm", input, normalized_shape)
    check_parameter("add_rms_norm", "weight", weight, shape, of, input)
    if eps is None:
        eps = float(np.finfo(unwrap(input).dtype).eps)
    return AddRmsNorm.apply(input, weight, residual, axes, eps)


__all__ = ["add_layer_norm", "add_rms_norm"]
