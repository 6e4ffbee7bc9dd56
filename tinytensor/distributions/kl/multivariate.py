"""KL divergences of normal vectors: ½·(tr(Σq⁻¹·Σp) + |x|² − n + log det Σq − log det Σp)."""

from __future__ import annotations

from typing import Any

from ...create import arange
from ...linalg import solve_triangular
from ...ops import digamma, mvlgamma
from ...tensor import Tensor
from ..multivariate.low_rank_normal import LowRankMultivariateNormal
from ..multivariate.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from ..multivariate.wishart import Wishart
from .registry import register_kl


def _total(x: Tensor) -> Tensor:
    """Σ of the squares of a matrix: tr(X·Xᵀ)."""
    return x.pow(2).sum((-2, -1))


def _roots(p: Any) -> list[Tensor]:
    """Matrices R with Σ = Σ R·Rᵀ."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    return [p._factor, p._diagonal.sqrt().diag_embed()]


def _log_det(p: Any) -> Tensor:
    if isinstance(p, MultivariateNormal):
        return 2 * half_log_det(p._unbroadcasted_scale_tril)
    return p.log_det()


def _trace(q: Any, root: Tensor) -> Tensor:
    """tr(Σq⁻¹·R·Rᵀ)."""
    if isinstance(q, MultivariateNormal):
        return _total(solve_triangular(q._unbroadcasted_scale_tril, root, upper=False))
    scaled = q._diagonal.rsqrt().unsqueeze(-1) * root
    return _total(scaled) - _total(q.whitened() @ root)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _normal_vectors(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be "
            f"computed: got {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    shift = q.loc - p.loc
    if isinstance(q, MultivariateNormal):
        square = mahalanobis(q._unbroadcasted_scale_tril, shift)
    else:
        square = q.square(shift)
    trace: Any = 0
    for root in _roots(p):
        trace = trace + _trace(q, root)
    return 0.5 * (_log_det(q) - _log_det(p) + trace + square - p.event_shape[0])


@register_kl(Wishart, Wishart)
def _wishart(p: Any, q: Any) -> Tensor:
    """½·(ν₂·log(|Σ₂|/|Σ₁|) + ν₁·(tr(Σ₂⁻¹·Σ₁) − n) + (ν₁ − ν₂)·ψₙ(ν₁/2)) + log Γₙ(ν₂/2)/Γₙ(ν₁/2)

    with ψₙ(a) = Σ ψ(a − i/2) over i = 0 … n − 1, the derivative of log Γₙ.
    """
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Wisharts with different event shapes cannot be computed: "
            f"got {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    n, mine, other = p.event_shape[-1], p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _total(solve_triangular(other, mine, upper=False))
    halves = arange(n, dtype=p.df.dtype, device=p.df.device) / 2
    slope = digamma(p.df.unsqueeze(-1) / 2 - halves).sum(-1)
    spread = q.df * (half_log_det(other) - half_log_det(mine)) + 0.5 * p.df * (trace - n)
    gammas = mvlgamma(q.df / 2, n) - mvlgamma(p.df / 2, n)
    return spread + 0.5 * (p.df - q.df) * slope + gammas
