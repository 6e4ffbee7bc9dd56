"""Linear algebra with the names of torch.linalg, for one matrix or a batch of them.

    solve           inv, solve, det, slogdet
    triangular      solve_triangular, cholesky
    lu              lu, lu_factor, lu_solve
    svd             svd, eigh, qr: decompositions
    eig             eig: eigenvalues of any square matrix, which are complex
    least_squares   pinv, lstsq, matrix_rank
    low_rank        ormqr, svd_lowrank, pca_lowrank
    norms           norm, vector_norm, matrix_norm, cond
    products        matrix_power, matrix_exp, multi_dot, cross, tensorsolve
    older           the names outside torch.linalg: `tinytensor.svd`, `tinytensor.lu`
    checks          shared by them

All are differentiable, twice and more often, except ranks and the numbers in `info` and `pivots`.
"""

from ..errors import LinAlgError
from .eig import eig, eigvals
from .least_squares import lstsq, matrix_rank, pinv
from .lu import lu, lu_factor, lu_factor_ex, lu_solve
from .norms import cond, matrix_norm, norm, vector_norm
from .products import (
    cross,
    diagonal,
    householder_product,
    matrix_exp,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from .solve import det, inv, inv_ex, slogdet, solve, solve_ex
from .svd import eigh, eigvalsh, qr, svd, svdvals
from .triangular import cholesky, cholesky_ex, solve_triangular

from ..ops.matmul import matmul  # isort: skip

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals",
    "eigvalsh", "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor", "lu_factor_ex",
    "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
