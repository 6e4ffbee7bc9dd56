"""Generator: a stream of random numbers; each device has a default one."""

from __future__ import annotations

import operator
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.nesting import per_thread
from ..autograd.variable import Variable, wrap
from ..backend import Array
from ..devices import device, device_of, get_default_device, module_for
from ..fork import PATIENCE, HeldLock, at_fork

if TYPE_CHECKING:
    from ..tensor import Tensor


_generators: weakref.WeakSet[Generator] = weakref.WeakSet()  # every live one
_generators_lock = threading.RLock()


class Generator:
    """A stream of random numbers on one device, with a state that can be saved and restored.

    After `os.fork` the child's generator continues from a copy of the state, as in PyTorch. But
    the child's default generators start new streams (see `default_generator_of`).
    """

    _forked_at: Any = None  # the state in which this process forked last
    _forks = 0  # the number of forks in that state

    def __new__(cls, *args: Any, **kwargs: Any) -> Generator:
        generator = super().__new__(cls)
        with _generators_lock:
            _generators.add(generator)
        return generator

    def __init__(self, device: Any = "cpu"):
        self.device = device_or_default(device)
        self.manual_seed(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to `seed`; a negative one counts down from 2**64."""
        try:
            number = operator.index(seed)
        except TypeError:
            raise RuntimeError(f"manual_seed: got {seed!r}, expected an integer") from None
        if not -(2**63) <= number < 2**64:
            raise ValueError(f"manual_seed: got {number}, expected -2**63 <= seed < 2**64")
        self._seed = number % 2**64
        self._restart(self._seed)
        return self

    def _restart(self, seed: int) -> None:
        library = module_for(self.device)
        bits = library.random.PCG64 if library is np else library.random.Philox4x3210
        self.stream = library.random.Generator(bits(seed))
        self._forked_at = None

    def seed(self) -> int:
        """Start the stream of a random seed, and return that seed."""
        self.manual_seed(np.random.SeedSequence().entropy % 2**63)  # type: ignore[operator]
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def get_state(self) -> Tensor:
        """The stream's position, as a tensor of bytes.

        CuPy's streams do not expose theirs. There, the stream draws a number and restarts from it;
        that number is the state.
        """
        import json  # lazily: most programs never call this

        state: Any
        if self.device.type == "cpu":
            state = self.stream.bit_generator.state
        else:
            state = int(self.stream.integers(0, 2**62, 1)[0])
            self._restart(state)
        text = json.dumps([self._seed, state]).encode()
        return wrap(np.frombuffer(text, dtype=np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go back to a position returned by `get_state`."""
        import json

        if not isinstance(new_state, Variable) or new_state.array.dtype != np.uint8:
            kind = getattr(new_state, "dtype", type(new_state).__name__)
            raise TypeError(f"set_state: got {kind}, expected the uint8 tensor of get_state")
        try:
            self._seed, state = json.loads(bytes(new_state.array))
            if self.device.type == "cpu":
                self.stream.bit_generator.state = state
                self._forked_at = None
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

    def _note_fork(self) -> None:
        """Count the children forked in the same state."""
        state = self.stream.bit_generator.state
        self._forks = self._forks + 1 if state == self._forked_at else 1
        self._forked_at = state

    def _copy_stream(self, bits: Any) -> None:
        """Continue with a copy of these bits, whose lock will never be released."""
        copy = type(bits)()
        copy.state = bits.state
        self.stream = np.random.Generator(copy)

    def _reseed_after_fork(self) -> None:
        """Start the child's stream, seeded from the parent's state and the child's number.

        The number counts the children forked in this state. So the stream is the same in every
        run, and differs from those of the parent and of the other children.
        """
        self._note_fork()
        state = self.stream.bit_generator.state
        entropy = [*state["state"].values(), state["has_uint32"], state["uinteger"]]
        sequence = np.random.SeedSequence(entropy, spawn_key=(self._forks,))
        self.manual_seed(int(sequence.generate_state(1, np.uint64)[0]))

    # The three draws behind all functions. CuPy draws float32 and float64 only.

    def uniform(self, shape: tuple, dtype: np.dtype) -> Array:
        """Numbers in [0, 1)."""
        if dtype.itemsize >= 4:
            return self.stream.random(shape, dtype=dtype)
        # Multiples of 2⁻¹¹ or 2⁻⁸, exact in 16 bits: rounding other numbers could give 1.
        steps = 2048 if dtype.kind == "f" else 256
        draw = self.stream.random(shape, dtype=np.float32) * steps
        return (draw.astype(np.int16) / steps).astype(dtype)

    def normal(self, shape: tuple, dtype: np.dtype) -> Array:
        """Normal numbers of mean 0 and variance 1."""
        draw = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
        return self.stream.standard_normal(shape, dtype=draw).astype(dtype, copy=False)

    def integers(self, low: int, high: int, shape: tuple) -> Array:
        """Integers in [low, high)."""
        return self.stream.integers(low, high, shape)


_defaults: dict[device, Generator] = {}


class _Here(threading.local):
    """A thread's default generators: shared by all threads, except inside `use_generator`."""

    generators = _defaults


_here = _Here()
per_thread.append(_here)


class use_generator:
    """Inside `with use_generator(g):`, and in this thread only, g is the default generator.

    So a worker thread draws numbers that do not depend on other threads. Devices other than g's
    get a generator of the same seed on first use.
    """

    def __init__(self, generator: Generator):
        self.generators = {generator.device: generator}

    def __enter__(self) -> None:
        self.outside = _here.generators
        _here.generators = self.generators

    def __exit__(self, *error: Any) -> None:
        _here.generators = self.outside


def device_or_default(where: Any) -> device:
    return get_default_device() if where is None else device(where)


def default_generator_of(where: Any = "cpu") -> Generator:
    """The default generator of a device, made on first use.

    In PyTorch a forked child repeats its parent's numbers. Here it draws others: its generator is
    seeded from the parent's state and the child's number (`initial_seed` returns that seed), so
    `manual_seed` before the fork determines both. A fork does not change the parent's numbers.
    """
    where = device_or_default(where)
    generators = _here.generators
    if where not in generators:
        generator = Generator(where)
        if where.type != "cpu":  # a seed set before the device's first use applies to it
            generator.manual_seed(default_generator_of("cpu").initial_seed())
        generators.setdefault(where, generator)  # another thread may have been first
    return generators[where]


def default_generators() -> dict[device, Generator]:
    """The default generators of the CPU and of all devices that have drawn numbers."""
    default_generator_of("cpu")
    return dict(_here.generators)


def generator_for(array: Array, generator: Generator | None = None) -> Generator:
    """The generator to draw from for `array`: the one passed in, or its device's default."""
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
    seed = int(seed)
    for generator in default_generators().values():
        generator.manual_seed(seed)
    return default_generator_of("cpu")


def seed() -> int:
    """Seed the default generators with a random number, and return it."""
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
    """Set the position of the CPU's default generator."""
    default_generator_of("cpu").set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, *args: Any, **kwargs: Any
) -> Iterator[None]:
    """Numbers drawn in the block are not missed after it: the default generators go back.

    devices is accepted and not used: the generators of all devices go back.
    """
    default_generator_of("cpu")  # made on first use
    generators = default_generators().values() if enabled else ()
    states = [(generator, generator.get_state()) for generator in generators]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


# ------------------------------------------------------------------------------------------
# Forks
# ------------------------------------------------------------------------------------------


class _GeneratorsAtFork(HeldLock):
    """Holds NumPy's streams during a fork: each has a lock, which a draw takes."""

    bits: list[tuple[Generator | None, Any, bool]] = []  # (generator, its stream's bits, held)

    def hold(self) -> bool:
        held = super().hold()
        found: list[tuple[Generator | None, Any]] = [
            (generator, generator.stream.bit_generator)
            for generator in list(_generators)
            if hasattr(generator, "stream") and generator.device.type == "cpu"
        ]
        if "numpy.random" in sys.modules:
            found.append((None, np.random.get_bit_generator()))  # type: ignore[attr-defined]
        self.bits = [(g, bits, bits.lock.acquire(timeout=PATIENCE)) for g, bits in found]
        return held

    def release(self) -> None:
        for _, bits, held in self.bits:
            if held:
                bits.lock.release()
        for generator in _defaults_on_cpu():
            generator._note_fork()
        self.bits = []
        super().release()

    def renew(self, held: bool) -> None:
        for generator, bits, bits_held in self.bits:
            if bits_held:
                bits.lock.release()
            elif generator is not None:
                generator._copy_stream(bits)
        for generator in _defaults_on_cpu():
            generator._reseed_after_fork()
        self.bits = []
        super().renew(held)


def _defaults_on_cpu() -> list[Generator]:
    """The CPU's default generators: the shared one, and this thread's."""
    found = (generators.get(device("cpu")) for generators in (_defaults, _here.generators))
    return list(dict.fromkeys(generator for generator in found if generator is not None))


at_fork([_GeneratorsAtFork(_generators_lock)])
