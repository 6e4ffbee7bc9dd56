"""New tensors.

from_data.py       tensor, as_tensor, from_numpy: from numbers, lists and arrays
filled.py          zeros, ones, full, eye and their *_like forms
ranges.py          arange, linspace, logspace
random.py          rand, randn, randint, and methods such as `normal_`
generator.py       Generator: a stream of random numbers, and each device's default one
questions.py       is_tensor, numel: questions about a tensor
size_arguments.py  the size arguments that these functions share
"""

from .filled import (
    empty,
    empty_like,
    eye,
    full,
    full_like,
    ones,
    ones_like,
    scalar_tensor,
    zeros,
    zeros_like,
)
from .from_data import as_tensor, asarray, from_dlpack, from_numpy, tensor
from .generator import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .questions import is_complex, is_floating_point, is_nonzero, is_tensor, numel
from .random import (
    bernoulli,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from .ranges import arange, linspace, logspace

__all__ = [
    "Generator",
    "arange",
    "as_tensor",
    "asarray",
    "bernoulli",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_rng_state",
    "initial_seed",
    "is_complex",
    "is_floating_point",
    "is_nonzero",
    "is_tensor",
    "linspace",
    "logspace",
    "manual_seed",
    "multinomial",
    "normal",
    "numel",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "scalar_tensor",
    "seed",
    "set_rng_state",
    "tensor",
    "zeros",
    "zeros_like",
]
