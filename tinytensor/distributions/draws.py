"""Draws that NumPy's generator makes: gamma, Poisson and binomial numbers, without gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.variable import wrap
from ..backend import Array, xp
from ..create.generator import generator_for
from ..create.memory_errors import named_if_out_of_memory
from ..tensor import Tensor


def _made(like: Array, values: Any) -> Tensor:
    return wrap(xp(like).asarray(values, dtype=like.dtype))


@named_if_out_of_memory("gamma draws")
def draw_gamma(concentration: Tensor) -> Tensor:
    """One draw from Gamma(concentration, 1) for each element."""
    a = concentration.array
    return _made(a, generator_for(a, None).stream.standard_gamma(a.astype(np.float64)))


@named_if_out_of_memory("gamma draws")
def draw_log_gamma(concentration: Tensor) -> Tensor:
    """The logarithm of a gamma draw, which is finite also for tiny concentrations.

    A draw of Gamma(a) is a draw of Gamma(a + 1) times u^(1/a) with u uniform in (0, 1].
    """
    a = concentration.array.astype(np.float64)
    library, generator = xp(a), generator_for(a, None)
    boosted = generator.stream.standard_gamma(a + 1)
    share = 1 - generator.uniform(a.shape, np.dtype(np.float64))
    logarithm = library.log(boosted) + library.log(share) / a
    return wrap(library.asarray(logarithm))


@named_if_out_of_memory("Poisson draws")
def draw_poisson(rate: Tensor) -> Tensor:
    """One draw from Poisson(rate) for each element."""
    a = rate.array
    return _made(a, generator_for(a, None).stream.poisson(a.astype(np.float64)))


@named_if_out_of_memory("binomial draws")
def draw_binomial(total_count: Tensor, probs: Tensor) -> Tensor:
    """One draw from Binomial(total_count, probs) for each element."""
    n, p = total_count.array, probs.array
    return _made(
        p, generator_for(p, None).stream.binomial(n.astype(np.int64), p.astype(np.float64))
    )
