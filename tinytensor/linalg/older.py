"""Names outside of torch.linalg, most of them older: `tinytensor.svd`, `tinytensor.lu`, …"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from ..autograd.arguments import array_of, check_flags
from ..autograd.variable import unwrap, wrap
from ..backend import xp
from ..ops import return_types
from ..ops.autocast import in_float32
from ..ops.convert import clone
from ..ops.rearrange import flip
from ..out import takes_out
from .checks import adjoint, check_matrix, transposed
from .least_squares import pinverse
from .low_rank import ormqr, pca_lowrank, svd_lowrank
from .lu import lu_factor_ex, lu_unpack
from .lu import lu_solve as linalg_lu_solve
from .products import chain_matmul, householder_product, matrix_exp, matrix_power
from .products import vander as linalg_vander
from .solve import det, inverse, logdet, slogdet
from .svd import qr as linalg_qr
from .svd import svd as linalg_svd
from .svd import svdvals
from .triangular import cholesky as linalg_cholesky
from .triangular import cholesky_inverse, cholesky_solve, triangular_solve

if TYPE_CHECKING:
    from ..tensor import Tensor


@takes_out("same dtype")
@in_float32
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> return_types.svd:
    """(U, S, V) with input = U·diag(S)·Vᴴ; `linalg.svd`, which returns Vᴴ, is its successor.

    some=False: U and V are square. compute_uv=False: only S; zeros in place of U and V.
    """
    check_flags("svd", some=some, compute_uv=compute_uv)
    check_matrix("svd", input, "input")
    if compute_uv:
        U, S, Vh = linalg_svd(input, full_matrices=not some)
        return return_types.svd(U, S, adjoint(Vh))
    m, n = input.shape[-2:]
    nothing = [input.new_zeros((*input.shape[:-2], size, size)) for size in (m, n)]
    return return_types.svd(nothing[0], svdvals(input), nothing[1])


@in_float32
def qr(input: Tensor, some: bool = True) -> return_types.qr:
    """(Q, R) with input = Q·R; `linalg.qr` is its successor. some=False: Q is square."""
    check_flags("qr", some=some)
    check_matrix("qr", input, "input")
    return return_types.qr(*linalg_qr(input, "reduced" if some else "complete"))


@takes_out("cast")
@in_float32
def geqrf(input: Tensor) -> return_types.geqrf:
    """(a, tau): R on and above a's diagonal, and below it the vectors of Householder's Q.

    `linalg.householder_product(a, tau)` is Q. Without a gradient.
    """
    check_matrix("geqrf", input, "input")
    array = unwrap(input)
    h, tau = xp(array).linalg.qr(array, mode="raw")
    return return_types.geqrf(wrap(transposed(h).copy()), wrap(tau))


@takes_out("cast")
@in_float32
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """L with L·Lᵀ = input; `linalg.cholesky` is its successor. upper=True: U with Uᵀ·U = input."""
    check_flags("cholesky", upper=upper)
    check_matrix("cholesky", input, "input")
    if not unwrap(input).size:
        return input.clone()  # no elements: PyTorch does not ask for a square matrix then
    return linalg_cholesky(input, upper=upper)


@in_float32
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple:
    """(LU, pivots), and info with get_infos=True; see `linalg.lu_factor_ex`, its successor."""
    check_flags("lu", pivot=pivot, get_infos=get_infos)
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    return (LU, pivots, info) if get_infos else (LU, pivots)


@takes_out("same dtype")
@in_float32
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X with A·X = input, from the result of `lu(A)`; `linalg.lu_solve` is its successor."""
    return linalg_lu_solve(LU_data, LU_pivots, input)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers xᴺ⁻¹, …, x, 1 of each element of a vector: (n) → (n, N), N is n by default.

    increasing=True: 1, x, …, xᴺ⁻¹. See `linalg.vander`, which takes batches.
    """
    check_flags("vander", increasing=increasing)
    if array_of("vander", x).ndim != 1:
        raise RuntimeError(
            f"vander: got a tensor of shape {tuple(x.shape)}, expected one dimension"
        )
    count = x.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise RuntimeError(f"vander: got N = {N}, expected at least 0")
    powers = linalg_vander(x, max(count, 2))[:, :count]
    return clone(powers) if increasing else flip(powers, (-1,))


orgqr = householder_product

__all__ = [
    "chain_matmul", "cholesky", "cholesky_inverse", "cholesky_solve", "det", "geqrf", "inverse",
    "logdet", "lu", "lu_solve", "lu_unpack", "matrix_exp", "matrix_power", "orgqr", "ormqr",
    "pca_lowrank", "pinverse", "qr", "slogdet", "svd", "svd_lowrank", "triangular_solve", "vander",
]  # fmt: skip
