"""Wishart: random positive definite matrices."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...create import arange, randn, tensor
from ...dtype import finfo
from ...linalg import slogdet
from ...linalg.triangular import cholesky_inverse, cholesky_solve
from ...ops import broadcast_shapes, mvlgamma, where
from ...tensor import Tensor
from .. import constraints
from ..continuous.gamma import Chi2
from ..exp_family import ExponentialFamily
from ..utils import lazy_property
from .multivariate_normal import half_log_det, one_matrix, scale_tril_of

TRIES = 10  # draws of a matrix that came out singular


class Wishart(ExponentialFamily):
    """p(X) ∝ det(X)^((df − n − 1)/2)·exp(−½·tr(Σ⁻¹·X)): X = Σ xᵢ·xᵢᵀ of df normal vectors xᵢ

    df                 (…), above n − 1
    covariance_matrix  Σ, (…, n, n), positive definite; or precision_matrix, or scale_tril, as in
                       MultivariateNormal
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: Any = None):  # fmt: skip
        key, matrix = one_matrix(
            "Wishart",
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if not isinstance(df, Tensor):
            df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        n = matrix.shape[-1]
        if bool((df <= n - 1).any()):
            raise ValueError(
                f"Wishart: Value of df={df} expected to be greater than ndim - 1 = {n - 1}."
            )
        if bool((df < n).any()):
            warnings.warn(
                f"Wishart: Low df values detected. Singular samples are highly likely to occur for "
                f"{n - 1} < df < {n}.",
                stacklevel=2,
            )
        batch = broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        setattr(self, key, matrix.expand(*batch, -1, -1))
        super().__init__(batch, matrix.shape[-2:], validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(key, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._event_shape = self.event_shape  # which arg_constraints reads
        return super().expand(batch_shape, new)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(*self.batch_shape, *self.event_shape)

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

    def _wide_df(self) -> Tensor:
        return self.df.reshape(*self.batch_shape, 1, 1)

    @property
    def mean(self) -> Tensor:
        return self._wide_df() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._wide_df() - self.event_shape[-1] - 1
        return where(factor <= 0, math.nan, factor) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        each = covariance.diagonal(dim1=-2, dim2=-1)
        return self._wide_df() * (covariance.pow(2) + each.unsqueeze(-1) * each.unsqueeze(-2))

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """(L·A)·(L·A)ᵀ: Bartlett's A has roots of Chi2 numbers on its diagonal, normal ones below.

        Matrices that are singular by rounding are drawn again, max_try_correction times.
        """
        drawn = self._draw(sample_shape)
        good = self.support.check(drawn.detach())
        for _ in range(TRIES if max_try_correction is None else max_try_correction):
            if bool(good.all()):
                break
            drawn = where(good[..., None, None], drawn, self._draw(sample_shape))
            good = self.support.check(drawn.detach())
        return drawn

    def _draw(self, sample_shape: Any) -> Tensor:
        lower, n = self._unbroadcasted_scale_tril, self.event_shape[-1]
        df = self.df.unsqueeze(-1) - arange(n, dtype=lower.dtype, device=lower.device)
        roots = Chi2(df, validate_args=False).rsample(sample_shape).sqrt()
        below = randn(self._extended_shape(sample_shape), dtype=lower.dtype, device=lower.device)
        bartlett = roots.clamp(min=finfo(lower.dtype).eps).diag_embed() + below.tril(-1)
        root = lower @ bartlett
        return root @ root.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        df, n, lower = self.df, self.event_shape[-1], self._unbroadcasted_scale_tril
        size = df * (n * math.log(2) / 2 + half_log_det(lower)) + mvlgamma(df / 2, n)
        trace = cholesky_solve(value, lower).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (df - n - 1) / 2 * slogdet(value).logabsdet - trace / 2 - size

    def entropy(self) -> Tensor:
        df, n = self.df, self.event_shape[-1]
        size = (n + 1) * (n * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
        steps = arange(n, dtype=df.dtype, device=df.device) / 2
        mean_log = (df.unsqueeze(-1) / 2 - steps).digamma().sum(-1)
        return size + mvlgamma(df / 2, n) - (df - n - 1) / 2 * mean_log + df * n / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self.event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        n = self.event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - slogdet(-2 * x).logabsdet) + mvlgamma(half, n)
