"""Variances, standard deviations and norms."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_flags, check_given, check_numbers, require_tensor
from ..autograd.op import Op
from ..backend import Array, xp
from ..dtype import to_numpy_dtype
from ..out import takes_out
from .dims import accepts_axis, keep_dims, normalize_dims
from .minmax import amax, amin
from .promote import cast, not_zero, require_float
from .reduce import mean, spread, sum, total

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# Variance and standard deviation
# ------------------------------------------------------------------------------------------


def variance(x: Array, dims: tuple, correction: float, keepdim: bool) -> tuple[Array, float]:
    """The variance of a raw array, and 1/(n − correction), infinite for too few elements."""
    count = math.prod(x.shape[i] for i in dims)
    if count:
        # Relative to the slice's first element, the variance of equal elements is exactly 0.
        first = tuple(slice(0, 1) if i in dims else slice(None) for i in range(x.ndim))
        x = x - x[first]
        x = x - total(x, dims, True) / count
    scale = 1 / (count - correction) if count > correction and count else math.inf
    squares = x * x if x.dtype.kind != "c" else (x * x.conj()).real
    return total(squares, dims, keepdim) * scale, scale


class Var(Op):
    """y = Σ |x − x̄|² / (n − c);  dx = g·2(x − x̄) / (n − c)"""

    saves = ("x",)

    def forward(self, x: Array, dims: tuple, correction: float, keepdim: bool) -> Array:
        self.dims = dims
        y, self.scale = variance(x, dims, correction, keepdim)
        return y

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        g = g.reshape(keep_dims(x.shape, self.dims))
        return g * (2 * self.scale) * (x - mean(x, self.dims, True))


class Std(Op):
    """y = √(Σ |x − x̄|² / (n − c));  dx = g·(x − x̄) / ((n − c)·y), and 0 where y is"""

    saves = ("x", "out")

    def forward(self, x: Array, dims: tuple, correction: float, keepdim: bool) -> Array:
        self.dims = dims
        y, self.scale = variance(x, dims, correction, keepdim)
        return xp(x).sqrt(y)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        g = g * self.scale / not_zero(y) * (y != 0)
        g = g.reshape(keep_dims(x.shape, self.dims))
        return g * (x - mean(x, self.dims, True))


class VarMean(Op):
    """y, m = the variance of x, the mean of x;  dx = g·2(x − m) / (n − c) + h / n, for g and h"""

    saves = ("x",)

    def forward(self, x: Array, dims: tuple, correction: float, keepdim: bool) -> tuple:
        self.dims, self.count = dims, math.prod(x.shape[i] for i in dims)
        y, self.scale = variance(x, dims, correction, keepdim)
        return y, mean(x, dims, keepdim)

    def fill_missing(self, grads: list) -> list:
        return grads  # zeros would become NaN where the variance has an infinite scale

    def backward(self, g: Any, h: Any) -> Any:
        (x,) = self.saved
        shape = keep_dims(x.shape, self.dims)
        of_mean = None if h is None else h.reshape(shape) / max(self.count, 1)
        if g is None:
            return spread(of_mean, x.shape, self.dims)
        dx = g.reshape(shape) * (2 * self.scale) * (x - mean(x, self.dims, True))
        return dx if of_mean is None else dx + of_mean


def _variance_arguments(name: str, input: Any, dim: Any, unbiased: Any, correction: Any) -> tuple:
    """(dims, correction) from either form: var(x, dim, unbiased) or var(x, correction=c)."""
    if isinstance(dim, bool):  # var(x, False)
        dim, unbiased = None, dim
    if unbiased is not None and type(unbiased) is not bool:
        check_flags(name, unbiased=unbiased)
    if isinstance(dim, (tuple, list)) and any(isinstance(d, bool) for d in dim):
        raise TypeError(f"{name}: got dim = {dim!r}, expected ints")
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}: got both unbiased and correction, expected only one of them")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    require_float(name, input)
    return normalize_dims(name, dim, input.ndim), correction


@takes_out("cast")
@accepts_axis
def var(
    input: Tensor,
    dim: int | tuple | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance over `dim` (an int, a tuple, or all).

    correction: subtracted from the number of elements in the divisor, 1 by default;
    unbiased=True is correction=1, unbiased=False is correction=0.
    """
    if type(keepdim) is not bool:
        check_flags("var", keepdim=keepdim)
    dims, correction = _variance_arguments("var", input, dim, unbiased, correction)
    return Var.apply(input, dims, correction, keepdim)


@takes_out("cast")
@accepts_axis
def std(
    input: Tensor,
    dim: int | tuple | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation over `dim`, the root of the variance; arguments as for `var`."""
    if type(keepdim) is not bool:
        check_flags("std", keepdim=keepdim)
    dims, correction = _variance_arguments("std", input, dim, unbiased, correction)
    return Std.apply(input, dims, correction, keepdim)


@accepts_axis
def var_mean(
    input: Tensor,
    dim: int | tuple | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(variance, mean) over `dim`; arguments as for `var`."""
    if type(keepdim) is not bool:
        check_flags("var_mean", keepdim=keepdim)
    dims, correction = _variance_arguments("var_mean", input, dim, unbiased, correction)
    if array_of("var_mean", input).dtype.kind == "c":
        return Var.apply(input, dims, correction, keepdim), mean(input, dims, keepdim)
    return VarMean.apply(input, dims, correction, keepdim)


@accepts_axis
def std_mean(
    input: Tensor,
    dim: int | tuple | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean) over `dim`; arguments as for `var`."""
    if type(keepdim) is not bool:
        check_flags("std_mean", keepdim=keepdim)
    dims, correction = _variance_arguments("std_mean", input, dim, unbiased, correction)
    return Std.apply(input, dims, correction, keepdim), mean(input, dims, keepdim)


# ------------------------------------------------------------------------------------------
# Norms
# ------------------------------------------------------------------------------------------


class Norm(Op):
    """y = (Σ |x|ᵖ)^(1/p);  dx = g·(x/y)·(|x|/y)^(p − 2), and 0 where x or y is

    p = 0 counts the nonzero elements; its gradient is 0.
    """

    saves = ("x", "out")

    def forward(self, x: Array, p: float, dims: tuple, keepdim: bool) -> Array:
        self.p, self.dims = p, dims
        if p == 2:
            return xp(x).sqrt(total(x * x, dims, keepdim))
        if p == 0:
            return total((x != 0).astype(x.dtype), dims, keepdim)
        return total(abs(x) ** p, dims, keepdim) ** (1 / p)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        if self.p == 0:
            return spread(g * 0, x.shape, self.dims)
        kept = keep_dims(x.shape, self.dims)
        divisor = not_zero(y).reshape(kept)
        dx = g.reshape(kept) * (x / divisor)
        if self.p != 2:
            dx = dx * (not_zero(abs(x)) / divisor) ** (self.p - 2)
        if self.p < 0:  # then y is 0 if any x is 0
            dx = dx * (y != 0).reshape(kept)
        return dx


@takes_out("same dtype")
@accepts_axis
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | tuple | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The p-norm (Σ |x|ᵖ)^(1/p) over `dim` (an int, a tuple, or all).

    p: "fro" (as 2), any number, inf (the largest |x|), -inf (the smallest), 0 (counts x ≠ 0),
    "nuc" (of matrices: the sum of the singular values).
    Where the norm is 0, so is its gradient.
    """
    if type(keepdim) is not bool:
        check_flags("norm", keepdim=keepdim)
    if p == "nuc":
        if dim is None and array_of("norm", input).ndim != 2:
            raise RuntimeError(f"norm: got shape {tuple(input.shape)}, expected a matrix for 'nuc'")
        # linalg is built on ops, so it is found when called.
        linalg = importlib.import_module("tinytensor.linalg")
        return linalg.matrix_norm(
            input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype
        )
    if p == "fro" or p is None:
        p = 2
    if isinstance(p, str):
        raise ValueError(f"norm: got p = {p!r}, expected 'fro', 'nuc', a number, inf or -inf")
    if dtype is not None:
        input = cast(input, to_numpy_dtype(dtype))
    require_float("norm", input)
    if input.array.dtype.kind == "c":
        input = abs(input)
    dims = normalize_dims("norm", dim, input.ndim)
    if (p < 0 or p == math.inf) and not math.prod(input.shape[i] for i in dims):
        raise RuntimeError(
            f"norm: got a tensor of shape {tuple(input.shape)}, which has no elements for a "
            f"norm with p = {p} over dims {dims}, expected at least one"
        )
    if math.isinf(p):
        return (amax if p > 0 else amin)(abs(input), dims, keepdim)
    if p == 1:
        return sum(abs(input), dims, keepdim)
    return Norm.apply(input, float(p), dims, keepdim)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input − other."""
    check_given("dist", other=other)
    require_tensor("dist", input)
    check_numbers("dist", p=p)
    return norm(input - other, p)


__all__ = ["dist", "norm", "std", "std_mean", "var", "var_mean"]
