"""Numbers from less common distributions: methods that fill a tensor, and poisson, binomial."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_numbers, require_tensor
from ..autograd.inplace import assign
from ..autograd.variable import wrap
from ..backend import Array, xp
from ..out import takes_out
from .generator import generator_for

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .generator import Generator


FLOAT64 = np.dtype(np.float64)


def _positive(name: str, what: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{name}: got {what} = {value}, expected a number above 0")


def _uniform(name: str, self: Any, generator: Generator | None, integers: bool = False) -> Array:
    """Numbers from 0 to 1, without 0: for the inverse of a distribution function."""
    dtype = self.array.dtype
    if dtype.kind == "b" or (dtype.kind not in "fV" and not integers):
        raise NotImplementedError(f"{name}: got dtype {dtype}, expected floating point")
    return 1 - generator_for(self.array, generator).uniform(self.array.shape, FLOAT64)


def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers from the Cauchy distribution: density ∝ 1/(1 + ((x − median)/σ)²)."""
    _positive("cauchy_", "sigma", sigma)
    u = _uniform("cauchy_", self, generator)
    return assign(self, ..., median + sigma * xp(u).tan(math.pi * (u - 0.5)), "cauchy_")


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success, each with probability p."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_: got p = {p}, expected a number between 0 and 1")
    u = _uniform("geometric_", self, generator, integers=True)
    trials = xp(u).ceil(xp(u).log(u) / math.log1p(-p))
    return assign(self, ..., xp(u).maximum(trials, 1).astype(self.array.dtype), "geometric_")


def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fill with eᶻ, z normal with this mean and standard deviation."""
    check_numbers("log_normal_", mean=mean, std=std)
    _positive("log_normal_", "std", std)
    if self.array.dtype.kind not in "fV":
        raise NotImplementedError(f"log_normal_: got {self.array.dtype}, expected floating point")
    z = generator_for(self.array, generator).normal(self.array.shape, self.array.dtype)
    return assign(self, ..., xp(z).exp(mean + std * z), "log_normal_")


@takes_out("same dtype")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers from Poisson distributions with the rates in `input`, in its dtype."""
    require_tensor("poisson", input)
    rates = input.array
    if rates.dtype.kind not in "fV":
        raise NotImplementedError(f"poisson: got dtype {rates.dtype}, expected floating point")
    if bool((rates < 0).any()):
        raise RuntimeError("poisson: got a negative rate, expected numbers of at least 0")
    drawn = generator_for(rates, generator).stream.poisson(rates.astype(FLOAT64))
    return wrap(xp(rates).asarray(drawn).astype(rates.dtype))


@takes_out("same dtype")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability prob; the two broadcast."""
    require_tensor("binomial", count)
    require_tensor("binomial", prob)
    n, p = count.array, prob.array
    for what, array in (("count", n), ("prob", p)):
        if array.dtype.kind not in "fV":
            raise ValueError(f"binomial: {what} has dtype {array.dtype}, expected floating point")
    if n.dtype != p.dtype:
        raise RuntimeError(f"binomial: got dtypes {n.dtype} and {p.dtype}, expected the same one")
    trials = xp(n).maximum(n.astype(FLOAT64), 0).astype(np.int64)
    chance = xp(p).clip(p.astype(FLOAT64), 0, 1)
    drawn = generator_for(p, generator).stream.binomial(trials, chance)
    return wrap(xp(p).asarray(drawn).astype(p.dtype))


__all__ = ["binomial", "poisson"]
