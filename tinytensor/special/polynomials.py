"""Orthogonal polynomials of degree n at x, elementwise: by their recurrences, in float64.

    p₀ = 1,  p₁ = …,  pₖ₊₁ = (aₖ·x + bₖ)·pₖ − cₖ·pₖ₋₁

n is a tensor or a number, rounded towards 0; degrees below 0 give 0. Without gradients, as in
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import Array, xp
from ..out import takes_out
from .scipy_functions import NoGradient, float_operands

if TYPE_CHECKING:
    from ..ops.promote import Operand
    from ..tensor import Tensor


def _by_recurrence(x: Array, n: Array, first: Callable, following: Callable) -> Array:
    """pₙ(x), from p₁ = first(x) and pₖ₊₁ = following(k, x, pₖ, pₖ₋₁)."""
    library = xp(x)
    x, n = library.broadcast_arrays(x.astype(np.float64), library.trunc(n))
    y = library.where(n == 0, 1.0, 0.0)
    highest = library.where(library.isfinite(n), n, 0).max() if n.size else 0
    if highest >= 1:
        before, now = library.ones_like(x), first(x)
        y = library.where(n == 1, now, y)
        for k in range(1, int(highest)):
            before, now = now, following(k, x, now, before)
            y = library.where(n == k + 1, now, y)
    return library.where(library.isfinite(n), y, library.nan)


def _polynomial(
    name: str, input: Any, n: Any, first: Callable, following: Callable, limit: Any = None
) -> Any:
    """The public function `name`; NaN for degrees above `limit` (in float32, in float64)."""

    def compute(x: Array, degree: Array) -> Array:
        y = _by_recurrence(x, degree, first, following)
        if limit is not None:
            highest = limit[0 if x.dtype.itemsize < 8 else 1]
            y = xp(x).where(degree > highest, xp(x).nan, y)
        return y.astype(x.dtype)

    x, degree = float_operands(name, input, n, half=False)
    return NoGradient.apply(x, name, compute, degree)


def _chebyshev(k: int, x: Array, now: Array, before: Array) -> Array:
    return 2 * x * now - before


@takes_out("cast", elementwise=True)
def chebyshev_polynomial_t(x: Operand, n: Operand) -> Tensor:
    """Tₙ, with p₁ = x and pₖ₊₁ = 2·x·pₖ − pₖ₋₁: cos(n·arccos x). Without a gradient."""
    return _polynomial("chebyshev_polynomial_t", x, n, lambda x: x, _chebyshev)


@takes_out("cast", elementwise=True)
def chebyshev_polynomial_u(x: Operand, n: Operand) -> Tensor:
    """Uₙ, with p₁ = 2·x and the recurrence of T. Without a gradient."""
    return _polynomial("chebyshev_polynomial_u", x, n, lambda x: 2 * x, _chebyshev)


@takes_out("cast", elementwise=True)
def chebyshev_polynomial_v(x: Operand, n: Operand) -> Tensor:
    """Vₙ, with p₁ = 2·x − 1 and the recurrence of T. Without a gradient."""
    return _polynomial("chebyshev_polynomial_v", x, n, lambda x: 2 * x - 1, _chebyshev)


@takes_out("cast", elementwise=True)
def chebyshev_polynomial_w(x: Operand, n: Operand) -> Tensor:
    """Wₙ, with p₁ = 2·x + 1 and the recurrence of T. Without a gradient."""
    return _polynomial("chebyshev_polynomial_w", x, n, lambda x: 2 * x + 1, _chebyshev)


def _shifted(k: int, x: Array, now: Array, before: Array) -> Array:
    return (4 * x - 2) * now - before


@takes_out("cast", elementwise=True)
def shifted_chebyshev_polynomial_t(x: Operand, n: Operand) -> Tensor:
    """Tₙ(2·x − 1), for x from 0 to 1. Without a gradient."""
    name = "shifted_chebyshev_polynomial_t"
    return _polynomial(name, x, n, lambda x: 2 * x - 1, _shifted)


@takes_out("cast", elementwise=True)
def shifted_chebyshev_polynomial_u(x: Operand, n: Operand) -> Tensor:
    """Uₙ(2·x − 1), for x from 0 to 1. Without a gradient."""
    name = "shifted_chebyshev_polynomial_u"
    return _polynomial(name, x, n, lambda x: 4 * x - 2, _shifted)


@takes_out("cast", elementwise=True)
def shifted_chebyshev_polynomial_v(x: Operand, n: Operand) -> Tensor:
    """Vₙ(2·x − 1), for x from 0 to 1. Without a gradient."""
    name = "shifted_chebyshev_polynomial_v"
    return _polynomial(name, x, n, lambda x: 4 * x - 3, _shifted)


@takes_out("cast", elementwise=True)
def shifted_chebyshev_polynomial_w(x: Operand, n: Operand) -> Tensor:
    """Wₙ(2·x − 1), for x from 0 to 1. Without a gradient."""
    name = "shifted_chebyshev_polynomial_w"
    return _polynomial(name, x, n, lambda x: 4 * x - 1, _shifted)


@takes_out("cast", elementwise=True)
def hermite_polynomial_h(x: Operand, n: Operand) -> Tensor:
    """The physicists' Hₙ, with p₁ = 2·x and pₖ₊₁ = 2·x·pₖ − 2·k·pₖ₋₁. Without a gradient.

    NaN for degrees above 128 in float32 and 512 in float64, as in PyTorch.
    """

    def following(k: int, x: Array, now: Array, before: Array) -> Array:
        return 2 * (x * now - k * before)

    return _polynomial("hermite_polynomial_h", x, n, lambda x: 2 * x, following, (128, 512))


@takes_out("cast", elementwise=True)
def hermite_polynomial_he(x: Operand, n: Operand) -> Tensor:
    """The probabilists' Heₙ, with p₁ = x and pₖ₊₁ = x·pₖ − k·pₖ₋₁. Without a gradient.

    NaN for degrees above 128 in float32 and 512 in float64, as in PyTorch.
    """

    def following(k: int, x: Array, now: Array, before: Array) -> Array:
        return x * now - k * before

    return _polynomial("hermite_polynomial_he", x, n, lambda x: x, following, (128, 512))


@takes_out("cast", elementwise=True)
def laguerre_polynomial_l(x: Operand, n: Operand) -> Tensor:
    """Lₙ, with p₁ = 1 − x and pₖ₊₁ = ((2·k + 1 − x)·pₖ − k·pₖ₋₁)/(k + 1). Without a gradient."""

    def following(k: int, x: Array, now: Array, before: Array) -> Array:
        return ((2 * k + 1 - x) * now - k * before) / (k + 1)

    return _polynomial("laguerre_polynomial_l", x, n, lambda x: 1 - x, following)


@takes_out("cast", elementwise=True)
def legendre_polynomial_p(x: Operand, n: Operand) -> Tensor:
    """Pₙ, with p₁ = x and pₖ₊₁ = ((2·k + 1)·x·pₖ − k·pₖ₋₁)/(k + 1). Without a gradient."""

    def following(k: int, x: Array, now: Array, before: Array) -> Array:
        return ((2 * k + 1) * x * now - k * before) / (k + 1)

    return _polynomial("legendre_polynomial_p", x, n, lambda x: x, following)


__all__ = [
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
    "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]  # fmt: skip
