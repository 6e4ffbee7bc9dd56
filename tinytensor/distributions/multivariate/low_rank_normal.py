"""LowRankMultivariateNormal: normal vectors whose correlations come from few factors."""

from __future__ import annotations

import math
from typing import Any

from ...create import eye, randn
from ...linalg import cholesky, solve_triangular
from ...ops import broadcast_tensors
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import lazy_property
from .multivariate_normal import half_log_det, mahalanobis, times_vector


class LowRankMultivariateNormal(Distribution):
    """MultivariateNormal with Σ = W·Wᵀ + diag(D)

    loc         (…, n)
    cov_factor  W, (…, n, m) with m much smaller than n
    cov_diag    D, (…, n), positive

    Woodbury's identity needs the Cholesky factor of an m×m matrix only, C = I + Wᵀ·D⁻¹·W:
    Σ⁻¹ = D⁻¹ − D⁻¹·W·C⁻¹·Wᵀ·D⁻¹ and det Σ = det C·det D.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor,
                 validate_args: Any = None):  # fmt: skip
        name = "LowRankMultivariateNormal"
        if loc.dim() < 1:
            raise ValueError(f"{name}: loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError(
                f"{name}: cov_factor must be at least two-dimensional, with optional leading batch "
                f"dimensions, got {cov_factor.dim()} dimensions"
            )
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n:
            raise ValueError(
                f"{name}: cov_factor must be a batch of matrices with shape {n} x m, got "
                f"{tuple(cov_factor.shape)}"
            )
        if tuple(cov_diag.shape[-1:]) != (n,):
            raise ValueError(
                f"{name}: cov_diag must be a batch of vectors with shape ({n},), got "
                f"{tuple(cov_diag.shape)}"
            )
        try:
            wide, self.cov_factor, diagonal = broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except (RuntimeError, ValueError):
            raise ValueError(
                f"{name}: Incompatible batch shapes: loc {tuple(loc.shape)}, cov_factor "
                f"{tuple(cov_factor.shape)}, cov_diag {tuple(cov_diag.shape)}"
            ) from None
        self.loc, self.cov_diag = wide[..., 0], diagonal[..., 0]
        self._factor, self._diagonal = cov_factor, cov_diag  # not broadcast: less to compute
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)  # Wᵀ·D⁻¹
        self._capacitance_tril = cholesky(scaled @ cov_factor + self._identity(scaled.shape[-2]))
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args)

    def _identity(self, n: int) -> Tensor:
        return eye(n, dtype=self.loc.dtype, device=self.loc.device)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        new._factor, new._diagonal = self._factor, self._diagonal
        new._capacitance_tril = self._capacitance_tril
        return super().expand(batch_shape, new)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(*self.batch_shape, *self.event_shape, *self.event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """√D·(the Cholesky factor of I + D^(−½)·W·Wᵀ·D^(−½)), whose eigenvalues are ≥ 1."""
        root = self._diagonal.sqrt().unsqueeze(-1)
        scaled = self._factor / root
        return self._full(root * cholesky(scaled @ scaled.mT + self._identity(scaled.shape[-2])))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._full(self._factor @ self._factor.mT + self._diagonal.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        root = self.whitened()
        return self._full(self._diagonal.reciprocal().diag_embed() - root.mT @ root)

    def whitened(self) -> Tensor:
        """A with Σ⁻¹ = D⁻¹ − Aᵀ·A: (…, m, n)."""
        scaled = self._factor.mT / self._diagonal.unsqueeze(-2)
        return solve_triangular(self._capacitance_tril, scaled, upper=False)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return (self._factor.pow(2).sum(-1) + self._diagonal).expand(self.loc.shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + W·ε₁ + √D·ε₂ with ε₁ (m) and ε₂ (n) standard normal."""
        shape = self._extended_shape(sample_shape)
        kind = {"dtype": self.loc.dtype, "device": self.loc.device}
        few = randn((*shape[:-1], self.cov_factor.shape[-1]), **kind)
        each = randn(shape, **kind)
        return self.loc + times_vector(self._factor, few) + self._diagonal.sqrt() * each

    def log_det(self) -> Tensor:
        """log det Σ."""
        return 2 * half_log_det(self._capacitance_tril) + self._diagonal.log().sum(-1)

    def square(self, x: Tensor) -> Tensor:
        """xᵀ·Σ⁻¹·x."""
        scaled = self._factor.mT / self._diagonal.unsqueeze(-2)
        plain = (x.pow(2) / self._diagonal).sum(-1)
        return plain - mahalanobis(self._capacitance_tril, times_vector(scaled, x))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        size = self.event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (size + self.log_det() + self.square(value - self.loc))

    def entropy(self) -> Tensor:
        size = self.event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (size + self.log_det())).expand(self.batch_shape)
