"""Random numbers: new tensors, and methods that fill a tensor in place.

Every draw uses a Generator: the one passed in, or the device's default one, which `manual_seed`
seeds. For the same seed the numbers differ from PyTorch's; the distributions are the same.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import check_flags, check_numbers, require_tensor
from ..autograd.inplace import assign
from ..autograd.variable import Variable, unwrap, wrap
from ..backend import Array, xp
from ..devices import module_for
from ..dtype import default_float, finfo, int64, real_dtype, to_numpy_dtype
from ..errors import ShapeError
from ..out import takes_out
from .generator import (
    Generator,
    default_generator_of,
    device_or_default,
    generator_for,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .generator import fork_rng as fork_rng
from .memory_errors import named_if_out_of_memory
from .size_arguments import shape_of, size_from

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# New tensors
# ------------------------------------------------------------------------------------------


def _prepare(generator: Generator | None, dtype: Any, where: Any) -> tuple[Generator, np.dtype]:
    numpy_dtype = default_float() if dtype is None else to_numpy_dtype(dtype)
    if where is None and generator is not None:
        where = generator.device
    if generator is not None and generator.device.type != device_or_default(where).type:
        raise RuntimeError(
            f"generator: it is on {generator.device}, the new tensor on {device_or_default(where)}"
        )
    return generator or default_generator_of(where), numpy_dtype


def _new(library: Any, values: Any, dtype: np.dtype, requires_grad: bool = False) -> Tensor:
    """A tensor of computed values; asarray turns NumPy's 0-d scalars back into arrays."""
    return wrap(library.asarray(values, dtype=dtype)).requires_grad_(requires_grad)


def _draw(draw: Any, shape: tuple, dtype: np.dtype) -> Array:
    """Numbers drawn by a generator's method; the two parts of complex ones each."""
    if dtype.kind != "c":
        return draw(shape, dtype)
    return draw((*shape, 2), real_dtype(dtype)).view(dtype)[..., 0]


def _normal(source: Generator, shape: tuple, dtype: np.dtype) -> Array:
    """Normal numbers of variance 1; that of a complex number is shared by its two parts."""
    noise = _draw(source.normal, shape, dtype)
    return noise * math.sqrt(0.5) if dtype.kind == "c" else noise


def _float_only(name: str, dtype: np.dtype, also: str = "") -> None:
    if dtype.kind not in ("f", "V", also):
        raise NotImplementedError(f"{name}: got dtype {dtype}, expected a floating point dtype")


@takes_out("dtype of out")
@named_if_out_of_memory("rand")
def rand(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Numbers uniform in [0, 1)."""
    source, numpy_dtype = _prepare(generator, dtype, device)
    _float_only("rand", numpy_dtype, "c")
    array = _draw(source.uniform, shape_of("rand", size_from("rand", size, others)), numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


@takes_out("dtype of out")
@named_if_out_of_memory("randn")
def randn(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Numbers from the standard normal distribution."""
    source, numpy_dtype = _prepare(generator, dtype, device)
    _float_only("randn", numpy_dtype, "c")
    array = _normal(source, shape_of("randn", size_from("randn", size, others)), numpy_dtype)
    return wrap(array).requires_grad_(requires_grad)


@takes_out("dtype of out")
@named_if_out_of_memory("randint")
def randint(low: Any = None, high: Any = None, size: Any = None, *,
            generator: Generator | None = None, dtype: Any = int64, device: Any = None,
            requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """Integers in [low, high); `randint(high, size)` starts at 0."""
    if size is None:
        low, high, size = None, low, high
    elif high is None:
        low, high = None, low
    if high is None or not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint: size is missing, got low={low}, high={high}, size={size}; "
            "call randint(high, (2, 3)) or randint(low, high, (2, 3))"
        )
    size_from("randint", (size,), others)
    source, numpy_dtype = _prepare(generator, dtype, device)
    low, high = _bounds("randint", 0 if low is None else low, high, numpy_dtype)
    draw = source.integers(low, high, shape_of("randint", (size,)))
    return _new(module_for(source.device), draw, numpy_dtype, requires_grad)


def _bounds(name: str, low: Any, high: Any, dtype: np.dtype) -> tuple[int, int]:
    """[low, high) as ints, checked to fit the dtype."""
    try:
        low, high = operator.index(low), operator.index(high)
    except TypeError:
        raise TypeError(f"{name}: got the range [{low}, {high}), expected integers") from None
    if low >= high:
        raise RuntimeError(f"{name}: low={low} must be below high={high}")
    smallest, largest = _integer_range(dtype) if dtype.kind not in "fV" else (-(2**63), 2**63 - 1)
    if low < smallest or high - 1 > largest:
        raise RuntimeError(f"{name}: the range [{low}, {high}) does not fit {dtype}")
    return low, high


def _integer_range(dtype: np.dtype) -> tuple[int, int]:
    """The smallest and the largest integer that can be drawn for a dtype."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind in "fV":
        largest = round(2 / finfo(dtype).eps)  # up to here it holds every integer
        return -largest, largest
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


@takes_out("dtype of out")
@named_if_out_of_memory("randperm")
def randperm(n: int, *, generator: Generator | None = None, dtype: Any = int64, device: Any = None,
             requires_grad: bool = False, **others: Any) -> Tensor:  # fmt: skip
    """The numbers 0 … n−1 in random order."""
    size_from("randperm", ((),), others)
    n = operator.index(n)
    if n < 0:
        raise RuntimeError(f"randperm: n must be non-negative, got {n}")
    source, numpy_dtype = _prepare(generator, dtype, device)
    if n - 1 > _integer_range(numpy_dtype)[1]:
        raise RuntimeError(f"randperm: the numbers up to {n - 1} do not fit {numpy_dtype}")
    # Sort random keys: CuPy's generator has no permutation.
    order = source.uniform((n,), np.dtype(np.float64)).argsort()
    return wrap(order.astype(numpy_dtype)).requires_grad_(requires_grad)


def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform numbers in [0, 1), in the shape, dtype and device of input."""
    require_tensor("rand_like", input)
    return rand(input.shape, **_like(input, options))


def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Standard normal numbers, in the shape, dtype and device of input."""
    require_tensor("randn_like", input)
    return randn(input.shape, **_like(input, options))


def randint_like(input: Tensor, low: Any = None, high: Any = None, **options: Any) -> Tensor:
    """Integers in [low, high), in the shape, dtype and device of input."""
    require_tensor("randint_like", input)
    return randint(low, high, input.shape, **_like(input, options))


def _like(input: Tensor, options: dict) -> dict:
    given = {name: value for name, value in options.items() if value is not None}
    given.pop("memory_format", None)
    return {"dtype": input.dtype, "device": input.device, **given}


@takes_out("cast")
@named_if_out_of_memory("normal")
@np.errstate(all="ignore")  # overflow is inf, without a warning
def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
           dtype: Any = None, device: Any = None, requires_grad: bool = False,
           **others: Any) -> Tensor:  # fmt: skip
    """Normal numbers: mean and std are tensors (one entry per number), or numbers with a size."""
    for what, value in (("mean", mean), ("std", std)):
        if not isinstance(value, Variable) or size is not None:
            check_numbers("normal", **{what: value})
    if isinstance(mean, Variable) or isinstance(std, Variable):
        tensor = mean if isinstance(mean, Variable) else std
        library, numpy_dtype = xp(tensor.array), tensor.array.dtype
        _float_only("normal", numpy_dtype)
        if bool(library.any(library.asarray(unwrap(std)) < 0)):
            raise RuntimeError("normal: std has a negative element, expected std >= 0")
        shapes = [v.array.shape for v in (mean, std) if isinstance(v, Variable)]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            raise ShapeError(
                f"normal: mean has shape {shapes[0]}, std {shapes[1]}, which do not broadcast"
            ) from None
        noise = generator_for(tensor.array, generator).normal(shape, numpy_dtype)
        return _new(library, unwrap(mean) + unwrap(std) * noise, numpy_dtype)
    if size is None:
        raise TypeError("normal: size is missing; it is needed when mean and std are numbers")
    if std < 0:
        raise RuntimeError(f"normal: std={std}, expected std >= 0")
    options = {"generator": generator, "dtype": dtype, "device": device}
    size_from("normal", (size,), others)
    noise = randn(shape_of("normal", (size,)), **options).array
    return _new(xp(noise), noise * float(std) + float(mean), noise.dtype, requires_grad)


@takes_out("cast")
@named_if_out_of_memory("bernoulli")
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with probability input (or p), else 0."""
    require_tensor("bernoulli", input)
    array = input.array
    if p is None:
        _float_only("bernoulli", array.dtype)
    draw = _coin("bernoulli", array, array if p is None else p, generator)
    return _new(xp(array), draw, array.dtype)


def _coin(name: str, like: Array, p: Any, generator: Generator | None) -> Array:
    """True with probability p (a number or an array) for each element of `like`."""
    if not bool(xp(like).all((xp(like).asarray(p) >= 0) & (xp(like).asarray(p) <= 1))):
        raise RuntimeError(f"{name}: got a probability outside [0, 1]")
    return generator_for(like, generator).uniform(like.shape, np.dtype(np.float64)) < p


@takes_out("same dtype")
@named_if_out_of_memory("multinomial")
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:  # fmt: skip
    """num_samples indices from each row of weights: (C) → (S), (N, C) → (N, S)."""
    require_tensor("multinomial", input)
    if type(replacement) is not bool:
        check_flags("multinomial", replacement=replacement)
    weights = input.array
    if weights.dtype.kind == "V":
        weights = weights.astype(np.float32)
    if weights.ndim not in (1, 2):
        raise ShapeError(f"multinomial: input has shape {weights.shape}, expected (C) or (N, C)")
    if weights.dtype.kind not in "fV":
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
        last = categories - 1 - (weights[..., ::-1] > 0).argmax(axis=-1)
        picked = library.empty(draw.shape, np.int64)
        for row in np.ndindex(*weights.shape[:-1]):  # a vector has one row, ()
            found = library.searchsorted(shares[row], draw[row], side="right")
            picked[row] = library.minimum(found, last[row])
        return wrap(picked)
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


@named_if_out_of_memory("normal_")
@np.errstate(all="ignore")
def normal_(self: Tensor, mean: float = 0, std: float = 1, *,
            generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Fill with normal numbers."""
    _float_only("normal_", self.array.dtype, "c")
    if not std >= 0:
        raise RuntimeError(f"normal_: std={std}, expected std >= 0")
    source = generator_for(self.array, generator)
    noise = _normal(source, self.array.shape, self.array.dtype)
    return assign(self, ..., noise * float(std) + float(mean), "normal_")


@named_if_out_of_memory("uniform_")
@np.errstate(all="ignore")
def uniform_(self: Tensor, a: float = 0, b: float = 1, *, generator: Generator | None = None,
             **bounds: float) -> Tensor:  # fmt: skip
    """Fill with numbers uniform in [a, b); `from` and `to` are accepted through **."""
    _float_only("uniform_", self.array.dtype, "c")
    low, high = _from_and_to("uniform_", a, b, bounds)
    largest = finfo(self.array.dtype).max
    if not 0 <= high - low <= largest or max(abs(low), abs(high)) > largest:
        raise RuntimeError(
            f"uniform_: got the range [{low}, {high}), expected from <= to, both and their "
            f"difference at most {largest}"
        )
    source = generator_for(self.array, generator)
    draw = _draw(source.uniform, self.array.shape, self.array.dtype)
    start = float(low) * (1 + 1j) if self.array.dtype.kind == "c" else float(low)
    return assign(self, ..., draw * float(high - low) + start, "uniform_")


def _from_and_to(name: str, low: Any, high: Any, given: dict) -> tuple[Any, Any]:
    """The bounds, also by PyTorch's names `from` and `to`: `from` is a Python keyword."""
    unknown = given.keys() - {"from", "to"}
    if unknown:
        raise TypeError(f"{name}: got an unexpected keyword argument {sorted(unknown)[0]!r}")
    return given.get("from", low), given.get("to", high)


@named_if_out_of_memory("bernoulli_")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 with probability p, else 0."""
    if isinstance(p, Variable):
        try:
            p = xp(p.array).broadcast_to(p.array, self.array.shape)
        except ValueError:
            raise ShapeError(
                f"bernoulli_: p has shape {p._shape}, which does not broadcast to {self._shape}"
            ) from None
    draw = _coin("bernoulli_", self.array, p, generator)
    return assign(self, ..., draw.astype(self.array.dtype), "bernoulli_")


@named_if_out_of_memory("exponential_")
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the exponential distribution."""
    _float_only("exponential_", self.array.dtype)
    if not lambd > 0:
        raise RuntimeError(f"exponential_: lambd={lambd}, expected lambd > 0")
    draw = generator_for(self.array, generator).uniform(self.array.shape, self.array.dtype)
    return assign(self, ..., -xp(draw).log1p(-draw) / float(lambd), "exponential_")


@named_if_out_of_memory("random_")
def random_(self: Tensor, *range: Any, generator: Generator | None = None,
            **bounds: Any) -> Tensor:  # fmt: skip
    """Fill with integers in [from, to): random_(), random_(to) or random_(from, to).

    If `to` is left out, the largest integer of the dtype is the upper bound.
    """
    dtype = self.array.dtype
    low, high = range if len(range) == 2 else (0, *(range or (None,)))
    low, high = _from_and_to("random_", low, high, bounds)
    if high is None:
        high = _integer_range(dtype)[1] + 1
    low, high = _bounds("random_", low, high, dtype)
    draw = generator_for(self.array, generator).integers(low, high, self.array.shape)
    return assign(self, ..., draw.astype(dtype), "random_")


# fmt: off
__all__ = [
    "Generator", "bernoulli", "get_rng_state", "initial_seed", "manual_seed", "multinomial",
    "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
    "seed", "set_rng_state",
]
# fmt: on
