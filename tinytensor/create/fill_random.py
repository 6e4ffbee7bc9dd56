"""Methods that fill a tensor with numbers from less common distributions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_numbers
from ..autograd.inplace import assign
from ..backend import Array, xp
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


__all__: list[str] = []
