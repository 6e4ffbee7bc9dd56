"""Random numbers: generators, and the tensors drawn from them.

Every draw goes through a Generator: the one passed in, or the default one of the device, which
`manual_seed` sets. The numbers differ from PyTorch's for the same seed; the distributions do not.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .autograd.inplace import assign
from .autograd.variable import Variable, unwrap, wrap
from .backend import Array, device, device_of, module_for, xp
from .create import shape_of
from .dtype import default_float, int64, to_numpy_dtype
from .errors import ShapeError

if TYPE_CHECKING:
    from .tensor import Tensor


class Generator:
    """A stream of random numbers on one device, with a state that can be kept and restored."""

    def __init__(self, device: Any = "cpu"):
        self.device = _device(device)
        self.manual_seed(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to `seed`."""
        self._seed = int(seed) % 2**64
        self._restart(self._seed)
        return self

    def _restart(self, seed: int) -> None:
        library = module_for(self.device)
        bits = library.random.PCG64 if library is np else library.random.Philox4x3210
        self.stream = library.random.Generator(bits(seed))

    def seed(self) -> int:
        """Start a stream of the machine's own choice; returns its seed."""
        self.manual_seed(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def get_state(self) -> Tensor:
        """The stream's position, as a tensor of bytes.

        CuPy's streams cannot tell theirs: there, the stream is started anew from a number that it
        drew, and that number is the state.
        """
        state: Any
        if self.device.type == "cpu":
            state = self.stream.bit_generator.state
        else:
            state = int(self.stream.integers(0, 2**62, 1)[0])
            self._restart(state)
        text = json.dumps([self._seed, state]).encode()
        return wrap(np.frombuffer(text, dtype=np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go back to a position that `get_state` gave."""
        try:
            self._seed, state = json.loads(bytes(unwrap(new_state).astype(np.uint8)))
            if self.device.type == "cpu":
                self.stream.bit_generator.state = state
            else:
                self._restart(state)
        except (ValueError, TypeError, KeyError) as error:
            raise RuntimeError(
                f"set_state: the tensor does not hold a state made by get_state ({error})"
            ) from None
        return self

    def clone_state(self) -> Generator:
        """A second generator at the same position."""
        return Generator(self.device).set_state(self.get_state())

    # The three draws that everything else is made of. CuPy draws float32 and float64 only.

    def uniform(self, shape: tuple, dtype: np.dtype) -> Array:
        """Numbers in [0, 1)."""
        draw = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
        return self.stream.random(shape, dtype=draw).astype(dtype, copy=False)

    def normal(self, shape: tuple, dtype: np.dtype) -> Array:
        """Numbers of mean 0 and variance 1."""
        draw = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
        return self.stream.standard_normal(shape, dtype=draw).astype(dtype, copy=False)

    def integers(self, low: int, high: int, shape: tuple) -> Array:
        """Integers in [low, high)."""
        return self.stream.integers(low, high, shape)


_defaults: dict[device, Generator] = {}


def _device(where: Any) -> device:
    return device("cpu" if where is None else where)


def default_generator_of(where: Any = "cpu") -> Generator:
    """The generator of a device, made on first use."""
    where = _device(where)
    if where not in _defaults:
        generator = Generator(where)
        if where.type != "cpu":  # a seed given before the device's first use holds for it too
            generator.manual_seed(default_generator_of("cpu").initial_seed())
        _defaults[where] = generator
    return _defaults[where]


def generator_for(array: Array, generator: Generator | None = None) -> Generator:
    """The generator to draw numbers from that go with `array`."""
    if generator is None:
        return default_generator_of(device_of(array))
    if generator.device.type != device_of(array).type:
        raise RuntimeError(
            f"generator: it is on {generator.device}, the tensor on {device_of(array)}; "
            f"make it with Generator({str(device_of(array))!r})"
        )
    return generator


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices; returns the CPU's."""
    default_generator_of("cpu")
    for generator in _defaults.values():
        generator.manual_seed(seed)
    return _defaults[device("cpu")]


def seed() -> int:
    """Seed the default generators with a number of the machine's own choice, and return it."""
    chosen = default_generator_of("cpu").seed()
    manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """The seed of the CPU's default generator."""
    return default_generator_of("cpu").initial_seed()


def get_rng_state() -> Tensor:
    """The position of the CPU's default generator."""
    return default_generator_of("cpu").get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the CPU's default generator back to a position."""
    default_generator_of("cpu").set_state(new_state)


# ------------------------------------------------------------------------------------------
# New tensors
# ------------------------------------------------------------------------------------------


def _prepare(generator: Generator | None, dtype: Any, where: Any) -> tuple[Generator, np.dtype]:
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    if where is None and generator is not None:
        where = generator.device
    if generator is not None and generator.device.type != _device(where).type:
        raise RuntimeError(
            f"generator: it is on {generator.device}, the tensor is to be on {_device(where)}"
        )
    return generator or default_generator_of(where), numpy_dtype


def _float_only(name: str, dtype: np.dtype) -> None:
    if dtype.kind != "f":
        raise RuntimeError(f"{name}: got dtype {dtype}, expected a floating point dtype")


def rand(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """Numbers uniform in [0, 1)."""
    source, numpy_dtype = _prepare(generator, dtype, device)
    _float_only("rand", numpy_dtype)
    array = source.uniform(shape_of("rand", size), numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def randn(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """Numbers from the standard normal distribution."""
    source, numpy_dtype = _prepare(generator, dtype, device)
    _float_only("randn", numpy_dtype)
    array = source.normal(shape_of("randn", size), numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def randint(low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None,
            dtype: Any = int64, device: Any = None, requires_grad: bool = False,
            **ignored: Any) -> Tensor:  # fmt: skip
    """Integers in [low, high); `randint(high, size)` starts at 0."""
    if size is None:
        if high is None:
            raise TypeError(
                "randint: size is missing; call randint(high, size) or (low, high, size)"
            )
        low, high, size = 0, low, high
    source, numpy_dtype = _prepare(generator, dtype, device)
    if low >= high:
        raise RuntimeError(f"randint: low={low} must be below high={high}")
    array = source.integers(low, high, shape_of("randint", (size,))).astype(numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = int64, device: Any = None,
             requires_grad: bool = False, **ignored: Any) -> Tensor:  # fmt: skip
    """The numbers 0 … n−1 in random order."""
    if n < 0:
        raise RuntimeError(f"randperm: n must be non-negative, got {n}")
    source, numpy_dtype = _prepare(generator, dtype, device)
    # Sorting random keys works alike on NumPy and CuPy, whose generator has no permutation.
    order = source.uniform((n,), np.dtype(np.float64)).argsort()
    return wrap(order.astype(numpy_dtype)).requires_grad_(requires_grad)


def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform numbers in [0, 1), in the shape, dtype and device of input."""
    return rand(input.shape, **_like(input, options))


def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Standard normal numbers, in the shape, dtype and device of input."""
    return randn(input.shape, **_like(input, options))


def randint_like(input: Tensor, low: int, high: int | None = None, **options: Any) -> Tensor:
    """Integers in [low, high), in the shape, dtype and device of input."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input.shape, **_like(input, options))


def _like(input: Tensor, options: dict) -> dict:
    given = {name: value for name, value in options.items() if value is not None}
    given.pop("memory_format", None)
    return {"dtype": input.dtype, "device": input.device, **given}


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
           dtype: Any = None, device: Any = None, requires_grad: bool = False,
           **ignored: Any) -> Tensor:  # fmt: skip
    """Normal numbers: mean and std are tensors, one for each number, or numbers with a size."""
    if isinstance(mean, Variable) or isinstance(std, Variable):
        if bool((unwrap(std) < 0).any() if isinstance(std, Variable) else std < 0):
            raise RuntimeError("normal: std has a negative element, expected std >= 0")
        tensor = mean if isinstance(mean, Variable) else std
        broadcast = xp(tensor.array).broadcast_arrays
        shape = broadcast(*(unwrap(v) for v in (mean, std) if isinstance(v, Variable)))[0].shape
        noise = generator_for(tensor.array, generator).normal(shape, tensor.array.dtype)
        return wrap(unwrap(mean) + unwrap(std) * noise)
    if size is None:
        raise TypeError("normal: size is missing; it is needed when mean and std are numbers")
    if std < 0:
        raise RuntimeError(f"normal: std={std}, expected std >= 0")
    options = {"generator": generator, "dtype": dtype, "device": device}
    noise = randn(shape_of("normal", (size,)), **options).array
    return wrap(noise * float(std) + float(mean)).requires_grad_(requires_grad)


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with probability input (or p), else 0."""
    array = input.array
    if p is None and array.size and not bool(((array >= 0) & (array <= 1)).all()):
        raise RuntimeError("bernoulli: input has elements outside [0, 1], expected probabilities")
    if p is None and array.dtype.kind != "f":
        raise RuntimeError(f"bernoulli: input is {array.dtype}, expected floating point")
    draw = generator_for(array, generator).uniform(array.shape, np.dtype(np.float32))
    return wrap((draw < (array if p is None else p)).astype(array.dtype))


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:  # fmt: skip
    """num_samples indices from each row of weights: (C) → (S), (N, C) → (N, S)."""
    weights = input.array
    if weights.ndim not in (1, 2):
        raise ShapeError(f"multinomial: input has shape {weights.shape}, expected (C) or (N, C)")
    if weights.dtype.kind != "f":
        raise RuntimeError(f"multinomial: input is {weights.dtype}, expected floating point")
    library = xp(weights)
    if not bool((library.isfinite(weights) & (weights >= 0)).all()):
        raise RuntimeError("multinomial: the weights contain inf, nan or an element < 0")
    if not bool((weights.sum(axis=-1) > 0).all()):
        raise RuntimeError("multinomial: a row of weights sums to 0, expected a positive sum")
    categories = weights.shape[-1]
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: cannot draw {num_samples} samples, expected at least 1")
    source = generator_for(weights, generator)
    double = np.dtype(np.float64)
    if replacement:
        # Inverse CDF: the first category whose cumulated share exceeds a uniform number.
        shares = weights.astype(double).cumsum(axis=-1)
        draw = source.uniform((*weights.shape[:-1], num_samples), double) * shares[..., -1:]
        picked = (draw[..., None] >= shares[..., None, :]).sum(axis=-1)  # (…, S, C) → (…, S)
        last = categories - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
        return wrap(library.minimum(picked, last[..., None]).astype(np.int64))
    if num_samples > categories:
        raise RuntimeError(
            f"multinomial: cannot draw {num_samples} of {categories} categories without replacement"
        )
    # The categories with the smallest arrival times are a draw without replacement.
    wait = -library.log1p(-source.uniform(weights.shape, double))
    rate = library.where(weights > 0, weights, 1.0).astype(double)
    arrival = library.where(weights > 0, wait / rate, math.inf)
    return wrap(arrival.argsort(axis=-1)[..., :num_samples].astype(np.int64))


# ------------------------------------------------------------------------------------------
# In place: methods of Tensor
# ------------------------------------------------------------------------------------------


def normal_(self: Tensor, mean: float = 0, std: float = 1, *,
            generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Fill with normal numbers."""
    source = generator_for(self.array, generator)
    noise = source.normal(self.array.shape, self.array.dtype)
    return assign(self, ..., noise * float(std) + float(mean), "normal_")


def uniform_(self: Tensor, a: float = 0, b: float = 1, *, generator: Generator | None = None,
             **bounds: float) -> Tensor:  # fmt: skip
    """Fill with numbers uniform in [a, b); `from` and `to` are accepted through **."""
    low, high = bounds.get("from", a), bounds.get("to", b)
    source = generator_for(self.array, generator)
    draw = source.uniform(self.array.shape, self.array.dtype)
    return assign(self, ..., draw * float(high - low) + float(low), "uniform_")


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 with probability p, else 0."""
    draw = generator_for(self.array, generator).uniform(self.array.shape, np.dtype(np.float32))
    return assign(self, ..., (draw < unwrap(p)).astype(self.array.dtype), "bernoulli_")


def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the exponential distribution."""
    draw = generator_for(self.array, generator).uniform(self.array.shape, self.array.dtype)
    return assign(self, ..., -xp(draw).log1p(-draw) / float(lambd), "exponential_")


def random_(self: Tensor, *bounds: int, generator: Generator | None = None) -> Tensor:
    """Fill with integers in [from, to): random_(), random_(to) or random_(from, to)."""
    dtype = self.array.dtype
    top = 2 ** np.finfo(dtype).nmant + 1 if dtype.kind == "f" else int(np.iinfo(dtype).max)
    low, high = bounds if len(bounds) == 2 else (0, *(bounds or (top,)))
    draw = generator_for(self.array, generator).integers(low, high, self.array.shape)
    return assign(self, ..., draw.astype(dtype), "random_")


__all__ = [
    "Generator",
    "bernoulli",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_rng_state",
]
