"""Random sizes around the tiles of kernels, and random numbers from harmless to hostile."""

from __future__ import annotations

import numpy as np

# Around vectors (8), panels (16), tiles (24, 96) and blocks; the small ones come more often.
SMALL = (1, 2, 3, 4, 5, 7, 8)
SIZES = (
    1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97,
    127, 128, 129, 192, 223, 224, 225, 256, 300, 513, 1000, 2538,
)  # fmt: skip
ORDINARY = "normal"
HOSTILE = (
    "large", "huge", "tiny", "denormal", "constant", "ties", "zeros", "offset", "mixed", "special",
)  # fmt: skip
SPECIAL = (np.inf, -np.inf, np.nan, -0.0, 0.0)


class Draw:
    """The random choices of one case, the same for the same seed and number.

    Half of the cases have ordinary numbers only; in the others each tensor has a kind of its own.
    """

    def __init__(self, seed: int, number: int):
        self.rng = np.random.default_rng((seed, number))
        self.hostile = self.chance(0.5)
        # How many products or elements a case may have: most are small, so that many can be run.
        self.room = int(10 ** self.rng.choice([2.5, 3.5, 4.5, 5.5], p=[0.4, 0.4, 0.17, 0.03]))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def choice(self, options: tuple | list) -> object:
        return options[self.rng.integers(len(options))]

    def integer(self, low: int, high: int) -> int:
        """A whole number in low … high, both included."""
        return int(self.rng.integers(low, high + 1))

    def size(self, most: int = 2538, empty: bool = True) -> int:
        """A length of a dimension; it takes its part of the room that the case has."""
        if empty and self.chance(0.004):
            return 0
        fitting = [n for n in SIZES if n <= min(most, max(1, self.room))]
        size = int(self.choice(SMALL if self.chance(0.4) else fitting))
        size = min(size, most, max(1, self.room))
        self.room //= size
        return size

    def numbers(self, shape: tuple, kind: str | None = None) -> np.ndarray:
        """float64 numbers of one kind: of a random one in a hostile case, else normal ones."""
        if kind is None:
            kind = str(self.choice(HOSTILE)) if self.hostile and self.chance(0.5) else ORDINARY
        x = self.rng.standard_normal(shape)
        return np.asarray(getattr(self, f"_{kind}")(x))

    def _normal(self, x: np.ndarray) -> np.ndarray:
        return x

    def _large(self, x: np.ndarray) -> np.ndarray:
        return x * 10.0 ** self.integer(1, 8)

    def _huge(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, -3, 3) * 10.0 ** self.integer(9, 38)

    def _tiny(self, x: np.ndarray) -> np.ndarray:
        return x * 10.0 ** -self.integer(2, 36)

    def _denormal(self, x: np.ndarray) -> np.ndarray:
        return x * 1e-40

    def _constant(self, x: np.ndarray) -> np.ndarray:
        return np.full_like(x, self.rng.standard_normal() * 10.0 ** self.integer(-2, 6))

    def _ties(self, x: np.ndarray) -> np.ndarray:
        return np.round(x) * 10.0 ** self.integer(0, 30)

    def _zeros(self, x: np.ndarray) -> np.ndarray:
        return np.where(x > 1, x, np.where(x > 0, 0.0, -0.0))

    def _offset(self, x: np.ndarray) -> np.ndarray:
        """Far from 0, near each other: what is left of them after a subtraction has few digits."""
        return x + 10.0 ** self.integer(1, 6)

    def _mixed(self, x: np.ndarray) -> np.ndarray:
        return x * 10.0 ** self.rng.integers(-8, 9, x.shape)

    def _special(self, x: np.ndarray) -> np.ndarray:
        places = self.rng.random(x.shape) < max(0.03, 1 / max(1, x.size))
        return np.where(places, self.rng.choice(SPECIAL, x.shape), x)
