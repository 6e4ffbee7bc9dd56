"""The part of cupy.random that is modelled: Generator and what it is made from.

cupy's Generator has fewer methods than NumPy's (no `normal`, `permutation`, `shuffle`, `choice`),
and draws arrays, never scalars.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .names import NAMES, check_call
from .ndarray import wrap


class BitGenerator:
    def __init__(self, seed: int | None = None, *, size: int = -1):
        self._bits = np.random.PCG64(seed)


class Generator:
    def __init__(self, bit_generator: BitGenerator):
        if not isinstance(bit_generator, BitGenerator):
            raise TypeError(f"got {type(bit_generator)}, expected one of cupy's bit generators")
        self.bit_generator = bit_generator
        self._stream = np.random.Generator(bit_generator._bits)


FLOATS = ("random", "standard_normal", "standard_exponential", "standard_gamma", "uniform", "beta")


def _method(name: str, parameters: str) -> Callable:
    def method(self: Generator, *args: Any, **kwargs: Any) -> Any:
        check_call(f"Generator.{name}", parameters, args, kwargs)
        dtype = kwargs.get("dtype")
        if name in FLOATS and dtype is not None and np.dtype(dtype).itemsize not in (4, 8):
            raise TypeError(f"cupy.random: {name} supports float32 and float64, got {dtype}")
        if name in ("uniform", "beta"):
            kwargs.pop("dtype", None)
        plain = [a.get() if hasattr(a, "get") else a for a in args]  # parameters may be arrays
        drawn = np.asarray(getattr(self._stream, name)(*plain, **kwargs))
        return wrap(drawn if dtype is None else drawn.astype(dtype))

    return method


for _name, _parameters in NAMES["random.Generator"].items():
    if hasattr(np.random.Generator, _name):
        setattr(Generator, _name, _method(_name, _parameters))

random = SimpleNamespace(
    BitGenerator=BitGenerator,
    Generator=Generator,
    MRG32k3a=type("MRG32k3a", (BitGenerator,), {}),
    Philox4x3210=type("Philox4x3210", (BitGenerator,), {}),
    XORWOW=type("XORWOW", (BitGenerator,), {}),
    default_rng=lambda seed=None: Generator(random.XORWOW(seed)),
)
