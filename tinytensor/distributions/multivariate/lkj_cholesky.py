"""LKJCholesky: Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.settings import no_grad
from ...create import arange, randn
from ...dtype import finfo
from ...ops import mvlgamma
from ...tensor import Tensor
from .. import constraints
from ..continuous.dirichlet import Beta
from ..distribution import Distribution
from ..utils import broadcast_all


class LKJCholesky(Distribution):
    """L with p(L·Lᵀ) ∝ det(L·Lᵀ)^(η − 1), η the concentration, for dim×dim correlation matrices

    η = 1 is uniform; a larger η prefers matrices near the identity. D. Lewandowski, D. Kurowicka,
    H. Joe, "Generating random correlation matrices based on vines and extended onion method",
    Journal of Multivariate Analysis 100 (2009), 1989–2001.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: Any = None):
        if dim < 2:
            raise ValueError(
                "LKJCholesky: Expected dim to be an integer greater than or equal to 2. "
                f"Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        new.dim, new.concentration = self.dim, self.concentration.expand(batch_shape)
        return self._finish_expand(new, batch_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """The onion method: row i is a random direction of i numbers, √y long, y from a Beta."""
        with no_grad():
            eta = self.concentration
            row = arange(self.dim, dtype=eta.dtype, device=eta.device)
            # y from Beta(i/2, η + (dim − 1 − i)/2), the share of row i; row 0 has no direction
            left = eta.unsqueeze(-1) + 0.5 * (self.dim - 1 - row)
            share = Beta(0.5 * row.clamp(min=1), left, validate_args=False)
            y = share.sample(sample_shape).unsqueeze(-1)  # (…, dim, 1)
            shape = self._extended_shape(sample_shape)
            direction = randn(shape, dtype=y.dtype, device=y.device).tril(-1)
            length = direction.norm(dim=-1, keepdim=True)
            below = y.sqrt() * direction / length.masked_fill(length == 0, 1.0)
            rest = (1 - (below**2).sum(-1)).clamp(min=finfo(y.dtype).tiny)
            return below + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        """Σᵢ (dim − i + 2η − 2)·log Lᵢᵢ, i = 2 … dim, less the logarithm of its integral."""
        self._validate_sample(value)
        eta, n = self.concentration, self.dim - 1
        order = 2 * (eta - 1).unsqueeze(-1) + self.dim - arange(2, self.dim + 1, device=eta.device)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        alpha = eta + 0.5 * n
        size = 0.5 * n * math.log(math.pi) + mvlgamma(alpha - 0.5, n) - alpha.lgamma() * n
        return (order * diagonal.log()).sum(-1) - size
