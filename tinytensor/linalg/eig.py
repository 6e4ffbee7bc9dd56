"""Eigenvalues of square matrices that need not be symmetric; they are complex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.forward_ad import differentiated
from ..autograd.settings import is_grad_enabled
from ..autograd.variable import Variable, unwrap, wrap
from ..backend import Array, xp
from ..ops.autocast import in_float32
from ..ops.complex_numbers import conj, real
from ..ops.matrix import diag_embed
from ..ops.partial_views import diagonal
from ..ops.return_types import linalg_eig
from ..out import takes_out
from .checks import check_square, identity_like, lapack, new_info, transposed
from .solve import Solve
from .svd import Decomposition, check_phase

if TYPE_CHECKING:
    from ..tensor import Tensor


class Eig(Decomposition):
    """λ, V = the factors of x = V·diag(λ)·V⁻¹ with columns of length 1;
    dx = V⁻ᴴ·((M − Vᴴ·V·diag(Re M))/conj(E) + diag(gλ))·Vᴴ,  M = Vᴴ·gV,  E[i, j] = λⱼ − λᵢ

    The diagonal of the quotient counts as 0.
    """

    op_name = "linalg.eig"
    complex_rule = True

    def forward(self, x: Array, check: bool) -> tuple:
        self.check = check
        return self.factors_of(_eig, x)

    def backward(self, gvalues: Any, gV: Any) -> Any:
        values, V = self.factors(_eig)
        VH = conj(transposed(V))
        inner = None if gvalues is None else diag_embed(gvalues)
        if gV is not None:
            M = VH @ gV
            lengths = diagonal(M, 0, -2, -1)
            if self.check:
                check_phase("linalg.eig", "eigenvectors", unwrap(lengths))
                # With create_graph the rule is made of V computed anew. A second derivative then
                # reaches that V and this one, and only the sum is independent of their phase.
                self.check = not is_grad_enabled()
            n = values.shape[-1]
            row = conj(values).reshape((*values.shape[:-1], 1, n))
            E = row - transposed(row) + identity_like(values, n)
            scale = real(lengths).reshape((*values.shape[:-1], 1, n))
            quotient = (M - (VH @ V) * scale) / E
            quotient = quotient - diag_embed(diagonal(quotient, 0, -2, -1))
            inner = quotient if inner is None else inner + quotient
        return Solve.apply(VH, inner @ VH, new_info(tuple(values.shape[:-1]), values))


def _eig(x: Any) -> tuple:
    if isinstance(x, Variable):
        return Eig.apply(x, False)
    dtype = np.result_type(x.dtype, np.complex64)
    return tuple([y.astype(dtype) for y in lapack("linalg.eig", "eig", x)])


@takes_out("cast")
@in_float32
def eig(A: Tensor) -> linalg_eig:
    """(eigenvalues, eigenvectors), both complex: (…, n, n) → (…, n), (…, n, n), as columns.

    The vectors have length 1 and any phase. `eigh` is for symmetric matrices.
    """
    check_square("linalg.eig", A)
    return linalg_eig(*Eig.apply(A, True))


@takes_out("cast")
@in_float32
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues, complex, in no order: (…, n, n) → (…, n)."""
    check_square("linalg.eigvals", A)
    if differentiated(A):
        return Eig.apply(A, True)[0]
    array = unwrap(A)
    dtype = np.result_type(array.dtype, np.complex64)
    return wrap(xp(array).asarray(lapack("linalg.eigvals", "eigvals", array)).astype(dtype))


__all__ = ["eig", "eigvals"]
