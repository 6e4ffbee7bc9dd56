"""Named tuples for functions with several results, under PyTorch's names: `x.max(0).values`."""

from __future__ import annotations

from typing import Any, NamedTuple


def _text(result: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in result._asdict().items())
    return f"tinytensor.return_types.{type(result).__name__}(\n{fields})"


class ValuesIndices(NamedTuple):
    """Elements picked along a dimension, and where they were."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _text(self)


class aminmax(NamedTuple):
    """The smallest and the largest element."""

    min: Any
    max: Any

    def __repr__(self) -> str:
        return _text(self)


class frexp(NamedTuple):
    """Mantissas and exponents."""

    mantissa: Any
    exponent: Any

    def __repr__(self) -> str:
        return _text(self)


class histogram(NamedTuple):
    """The height of each bin, and the edges of the bins, one more."""

    hist: Any
    bin_edges: Any

    def __repr__(self) -> str:
        return _text(self)


class histogramdd(NamedTuple):
    """The height of each bin, and for each dimension the edges of its bins."""

    hist: Any
    bin_edges: Any

    def __repr__(self) -> str:
        return _text(self)


class max(ValuesIndices): ...


class min(ValuesIndices): ...


class median(ValuesIndices): ...


class nanmedian(ValuesIndices): ...


class cummax(ValuesIndices): ...


class cummin(ValuesIndices): ...


class sort(ValuesIndices): ...


class topk(ValuesIndices): ...


class kthvalue(ValuesIndices): ...


class mode(ValuesIndices): ...


# ------------------------------------------------------------------------------------------
# Linear algebra
# ------------------------------------------------------------------------------------------


class linalg_svd(NamedTuple):
    """A = U·diag(S)·Vh"""

    U: Any
    S: Any
    Vh: Any

    def __repr__(self) -> str:
        return _text(self)


class svd(NamedTuple):
    """A = U·diag(S)·Vᵀ"""

    U: Any
    S: Any
    V: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_eigh(NamedTuple):
    """A = V·diag(eigenvalues)·Vᵀ"""

    eigenvalues: Any
    eigenvectors: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_eig(NamedTuple):
    """A = V·diag(eigenvalues)·V⁻¹"""

    eigenvalues: Any
    eigenvectors: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_qr(NamedTuple):
    """A = Q·R"""

    Q: Any
    R: Any

    def __repr__(self) -> str:
        return _text(self)


class qr(NamedTuple):
    """A = Q·R"""

    Q: Any
    R: Any

    def __repr__(self) -> str:
        return _text(self)


class geqrf(NamedTuple):
    """The Householder vectors of A = Q·R, and R above them; their factors."""

    a: Any
    tau: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_cholesky_ex(NamedTuple):
    """A = L·Lᵀ, and 0 or the place where it failed."""

    L: Any
    info: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_inv_ex(NamedTuple):
    """A⁻¹, and 0 or the place where it failed."""

    inverse: Any
    info: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_solve_ex(NamedTuple):
    """X with A·X = B, and 0 or the place where it failed."""

    result: Any
    info: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_slogdet(NamedTuple):
    """det A = sign·exp(logabsdet)"""

    sign: Any
    logabsdet: Any

    def __repr__(self) -> str:
        return _text(self)


class slogdet(NamedTuple):
    """det A = sign·exp(logabsdet)"""

    sign: Any
    logabsdet: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_lu(NamedTuple):
    """A = P·L·U"""

    P: Any
    L: Any
    U: Any

    def __repr__(self) -> str:
        return _text(self)


class lu_unpack(NamedTuple):
    """A = P·L·U"""

    P: Any
    L: Any
    U: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_lu_factor(NamedTuple):
    """Both factors in one matrix, and the row exchanges."""

    LU: Any
    pivots: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_lu_factor_ex(NamedTuple):
    """Both factors in one matrix, the row exchanges, and 0 or the place of a zero."""

    LU: Any
    pivots: Any
    info: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_lstsq(NamedTuple):
    """The X that minimises ‖A·X − B‖."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any

    def __repr__(self) -> str:
        return _text(self)


class triangular_solve(NamedTuple):
    """X with A·X = b, and a copy of A."""

    solution: Any
    cloned_coefficient: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_ldl_factor(NamedTuple):
    """A = L·D·Lᵀ, both factors in one matrix, and the exchanges."""

    LD: Any
    pivots: Any

    def __repr__(self) -> str:
        return _text(self)


class linalg_ldl_factor_ex(NamedTuple):
    """A = L·D·Lᵀ, the exchanges, and 0 or the place of a zero."""

    LD: Any
    pivots: Any
    info: Any

    def __repr__(self) -> str:
        return _text(self)
