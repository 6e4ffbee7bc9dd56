"""`orthogonal`: a weight whose columns (or rows, if there are fewer) stay orthonormal."""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from ..module import Module
from .parametrize import register_parametrization

MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Q = base·f(x), with f(x) orthogonal for every x (…, n, k), n ≥ k; else all is transposed

    matrix_exp:  f = exp(A),  A = L − Lᵀ, L the lower triangle of x
    cayley:      f = (I − A/2)⁻¹·(I + A/2)
    householder: f = H₁·H₂·…·Hₖ, with the reflections below the diagonal of x, whose diagonal of ±1
                 says whether a column is negated

    base is an orthogonal (n, n), which takes the value that is assigned to the weight; without it
    (use_trivialization=False), Q = f(x).
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(
                "orthogonal: got a complex weight, expected a real one for the householder map"
            )
        self.shape = tuple(weight.shape)
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        x = X.transpose(-2, -1) if wide else X  # (…, k, n) → (…, n, k)
        q = self._reflections(x) if self.orthogonal_map == "householder" else self._of_skew(x)
        if self.use_trivialization:
            assert self.base is not None
            q = self.base @ q
        return q.transpose(-2, -1) if wide else q

    def _of_skew(self, x: Tensor) -> Tensor:
        """exp or Cayley's map of the skew-symmetric matrix of x, its first k columns."""
        n, k = x.shape[-2:]
        lower = x.tril()
        if n != k:
            lower = tt.cat([lower, x.new_zeros(*x.shape[:-1], n - k)], -1)  # (…, n, k) → (…, n, n)
        turned = lower.transpose(-2, -1)
        skew = lower - (turned.conj() if x.is_complex() else turned)
        if self.orthogonal_map == "matrix_exp":
            q = tt.matrix_exp(skew)
        else:
            one = tt.eye(n, dtype=x.dtype, device=x.device)
            q = tt.linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return q[..., :k]

    def _reflections(self, x: Tensor) -> Tensor:
        below = x.tril(-1)
        q = tt.linalg.householder_product(below, 2 / (1 + (below * below).sum(-2)))
        return q * x.detach().diagonal(dim1=-2, dim2=-1).trunc().unsqueeze(-2)

    def right_inverse(self, Q: Tensor) -> Tensor:
        if tuple(Q.shape) != self.shape:
            raise ValueError(
                f"orthogonal: got a value of shape {tuple(Q.shape)}, expected {self.shape}"
            )
        wide = Q.shape[-2] < Q.shape[-1]
        with tt.no_grad():
            q = Q.transpose(-2, -1) if wide else Q  # (…, k, n) → (…, n, k)
            if not self.use_trivialization:
                x = self._reflections_of(q)
                return x.transpose(-2, -1) if wide else x
            self.base = _completed(q)
            # f(start) = I: in exp and Cayley's map the diagonal cancels in L − Lᵀ; reflections
            # along the axes negate the columns of I, which −1 undoes.
            start = tt.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1)
            return start

    def _reflections_of(self, q: Tensor) -> Tensor:
        """The x whose reflections give the orthonormal part of q = Q·R."""
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                f"orthogonal: a weight under {self.orthogonal_map} with use_trivialization=False "
                "cannot be assigned to; use the householder map, or use_trivialization=True"
            )
        x, tau = tt.geqrf(q)
        diagonal = x.diagonal(dim1=-2, dim2=-1)
        signs = diagonal.sign()
        diagonal.copy_(tt.where(tau == 0, -signs, signs))
        return x


def _completed(q: Tensor) -> Tensor:
    """A square orthogonal matrix that starts with the columns of q (…, n, k), made orthonormal."""
    n, k = q.shape[-2:]
    if n == k and _is_orthogonal(q):
        return q.clone()
    if n != k:
        more = tt.randn(*q.shape[:-1], n - k, dtype=q.dtype, device=q.device)
        q = tt.cat([q, more], -1)
    found, r = tt.linalg.qr(q)
    return found * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)  # as if R's diagonal were > 0


def _is_orthogonal(q: Tensor) -> bool:
    """Whether qᴴ·q is the identity, to ten machine epsilons per row."""
    n, k = q.shape[-2:]
    turned = q.transpose(-2, -1)
    product = (turned.conj() if q.is_complex() else turned) @ q
    one = tt.eye(k, dtype=q.dtype, device=q.device)
    return bool(tt.allclose(product, one, atol=10 * n * tt.finfo(q.dtype).eps))


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Module:  # fmt: skip
    """Keep a weight (…, n, k) orthogonal: QᵀQ = I if n ≥ k, else QQᵀ = I.

    orthogonal_map: "matrix_exp" (by default for square weights), "cayley" or "householder" (by
    default for others). use_trivialization: multiply by a fixed orthogonal `base`, so that any
    value can be assigned; the weight then starts as itself, made orthogonal.
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"orthogonal: {type(module).__name__} has no tensor {name!r}")
    if weight.ndim < 2:
        raise ValueError(
            f"orthogonal: got a weight of shape {tuple(weight.shape)}, expected at least 2 "
            "dimensions"
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f"orthogonal: got orthogonal_map={orthogonal_map!r}, expected one of {', '.join(MAPS)}"
        )
    function = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, function, unsafe=True)


__all__ = ["orthogonal"]
