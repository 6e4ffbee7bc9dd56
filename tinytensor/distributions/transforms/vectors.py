"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from ...create import eye, ones
from ...dtype import finfo
from ...linalg import cholesky
from ...ops import logsigmoid, pad, softplus
from ...tensor import Tensor
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .base import _require_dims
from .elementwise import _Fixed, clipped_sigmoid


class SoftmaxTransform(_Fixed):
    """y = softmax x; not bijective: x and x + c give the same y. `inv` returns log y"""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _require_dims(self, len(shape), 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Fixed):
    """yₖ = zₖ·Π_{j<k} (1 − zⱼ),  zₖ = sigmoid(xₖ − log(K − k + 1)): K numbers → K + 1 shares

    Each zₖ breaks its share off the rest of a stick of length 1; the last y is what remains. The
    offset makes x = 0 give equal shares.
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _offset(self, x: Tensor) -> Tensor:
        count = x.shape[-1]
        return (count + 1 - ones(count, dtype=x.dtype, device=x.device).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        z = clipped_sigmoid(x - self._offset(x))
        rest = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        share = y[..., :-1]
        rest = (1 - share.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return share.log() - rest.log() + self._offset(share)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x)
        # dyₖ/dxₖ = yₖ·(1 − zₖ), and 1 − sigmoid x = exp(−x)·sigmoid x
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _require_dims(self, len(shape), 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        _require_dims(self, len(shape), 1)
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(_Fixed):
    """y = the lower triangle of x, with exp of its diagonal"""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Fixed):
    """y = L·Lᵀ with L from LowerCholeskyTransform"""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(_Fixed):
    """D·(D − 1)/2 numbers → the Cholesky factor L of a D×D correlation matrix

    t = tanh x fills the lower triangle. In each row, Lₖ = tₖ·√(Π_{j<k} (1 − tⱼ²)): every element
    takes its share of what is left of a row of length 1, and the diagonal takes the rest.
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = x.tanh()
        eps = finfo(x.dtype).eps
        t = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - t**2).sqrt().cumprod(-1)
        t = t + eye(t.shape[-1], dtype=t.dtype, device=t.device)
        return t * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2  # atanh

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Of the map from x to the elements below the diagonal."""
        rest = 1 - (y * y).cumsum(-1)
        stick = 0.5 * tril_matrix_to_vec(rest, diag=-2).log().sum(-1)
        return stick - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _require_dims(self, len(shape), 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError(
                f"{type(self).__name__}: Input is not a flattened lower-diagonal number: got "
                f"{count} elements"
            )
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Any) -> Any:
        _require_dims(self, len(shape), 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"{type(self).__name__}: Input is not square: got {tuple(shape)}")
        size = shape[-1]
        return (*shape[:-2], size * (size - 1) // 2)
