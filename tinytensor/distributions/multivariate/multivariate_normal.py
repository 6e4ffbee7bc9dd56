"""MultivariateNormal: normal vectors with correlations."""

from __future__ import annotations

import math
from typing import Any

from ...create import eye, randn
from ...linalg import cholesky, solve_triangular
from ...linalg.triangular import cholesky_inverse
from ...ops import broadcast_shapes
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property


def times_vector(matrix: Tensor, vector: Tensor) -> Tensor:
    """matrix·vector: (…, n, m) and (…, m) → (…, n)."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(lower: Tensor, x: Tensor) -> Tensor:
    """|L⁻¹·x|² = xᵀ·(L·Lᵀ)⁻¹·x: (*B, n, n) and (*S, *B, n) → (*S, *B).

    The samples S become columns of one system, so that each L is solved once.
    """
    extra = x.dim() - 1 - (lower.dim() - 2)
    samples, rest = x.shape[:extra], x.shape[extra:]
    columns = x.reshape(math.prod(samples), *rest).movedim(0, -1)  # (*B, n, S)
    square = solve_triangular(lower, columns, upper=False).pow(2).sum(-2)  # (*B, S)
    return square.movedim(-1, 0).reshape((*samples, *rest[:-1]))


def half_log_det(lower: Tensor) -> Tensor:
    """½·log det(L·Lᵀ) = Σ log Lᵢᵢ."""
    return lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """L with L·Lᵀ = P⁻¹. With the order of rows and columns reversed, P = U·Uᵀ and L = U⁻ᵀ."""
    reverse = cholesky(precision.flip((-2, -1))).flip((-2, -1))
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(reverse.mT, identity, upper=False)


def one_matrix(name: str, **given: Any) -> tuple[str, Tensor]:
    """The one of three matrices that is given, by its name."""
    found = [(key, value) for key, value in given.items() if value is not None]
    if len(found) != 1:
        raise ValueError(
            f"{name}: Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
            f"specified, got {len(found)}"
        )
    ((key, matrix),) = found
    if matrix.dim() < 2:
        raise ValueError(
            f"{name}: {key} must be at least two-dimensional, with optional leading batch "
            f"dimensions, got {matrix.dim()} dimensions"
        )
    return key, matrix


def scale_tril_of(key: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance, from any of the three matrices."""
    if key == "scale_tril":
        return matrix
    return cholesky(matrix) if key == "covariance_matrix" else precision_to_scale_tril(matrix)


class MultivariateNormal(Distribution):
    """p(x) = exp(−½·(x − loc)ᵀ·Σ⁻¹·(x − loc)) / √(det 2πΣ)

    loc                (…, n)
    covariance_matrix  Σ, (…, n, n), positive definite; or
    precision_matrix   Σ⁻¹; or
    scale_tril         L, lower triangular with a positive diagonal, Σ = L·Lᵀ: the cheapest
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: Any = None):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal: loc must be at least one-dimensional.")
        key, matrix = one_matrix(
            "MultivariateNormal",
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        n = loc.shape[-1]
        if tuple(matrix.shape[-2:]) != (n, n):
            raise ValueError(
                f"MultivariateNormal: got {key} of shape {tuple(matrix.shape)}, expected "
                f"(…, {n}, {n}) for a loc of shape {tuple(loc.shape)}"
            )
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(*batch, -1)
        setattr(self, key, matrix.expand(*batch, -1, -1))
        super().__init__(batch, loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(key, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return super().expand(batch_shape, new)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(*self.batch_shape, *self.event_shape, *self.event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        lower = self._unbroadcasted_scale_tril
        return self._full(lower @ lower.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._full(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self.loc.shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + L·ε with ε standard normal."""
        shape = self._extended_shape(sample_shape)
        eps = randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + times_vector(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        lower = self._unbroadcasted_scale_tril
        square = mahalanobis(lower, value - self.loc)
        size = self.event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (size + square) - half_log_det(lower)

    def entropy(self) -> Tensor:
        size = 0.5 * self.event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (size + half_log_det(self._unbroadcasted_scale_tril)).expand(self.batch_shape)
