"""The numbers of an array in another memory layout: views as users and other ops make them."""

from __future__ import annotations

import numpy as np

from .values import Draw


def contiguous(x: np.ndarray, draw: Draw) -> np.ndarray:
    return x.copy(order="C")


def transposed(x: np.ndarray, draw: Draw) -> np.ndarray:
    """The dimensions lie in memory in another order."""
    order = draw.rng.permutation(x.ndim)
    return x.transpose(order).copy(order="C").transpose(np.argsort(order))


def stepped(x: np.ndarray, draw: Draw) -> np.ndarray:
    """Every second or third element of a larger array, along some dimensions."""
    steps = [draw.integer(1, 3) for _ in x.shape]
    room = np.full([n * step for n, step in zip(x.shape, steps)], 7, dtype=x.dtype)
    view = room[tuple(slice(None, None, step) for step in steps)]
    view[...] = x
    return view


def flipped(x: np.ndarray, draw: Draw) -> np.ndarray:
    """Negative strides along some dimensions."""
    turn = tuple(slice(None, None, -1 if draw.chance(0.6) else 1) for _ in x.shape)
    return x[turn].copy()[turn]


def offset(x: np.ndarray, draw: Draw) -> np.ndarray:
    """A slice out of the middle of a larger array."""
    before = [draw.integer(0, 2) for _ in x.shape]
    room = np.full([n + b + draw.integer(0, 2) for n, b in zip(x.shape, before)], 7, dtype=x.dtype)
    view = room[tuple(slice(b, b + n) for n, b in zip(x.shape, before))]
    view[...] = x
    return view


def expanded(x: np.ndarray, draw: Draw) -> np.ndarray:
    """Stride 0 along some dimensions: their first element, again and again. Read-only."""
    kept = tuple(slice(None) if draw.chance(0.5) else slice(0, 1) for _ in x.shape)
    return np.broadcast_to(x[kept].copy(), x.shape)


LAYOUTS = (transposed, stepped, flipped, offset, expanded)


def laid_out(x: np.ndarray, draw: Draw) -> np.ndarray:
    """x in a random layout; the values of an expanded array are other ones, so use the result."""
    if not x.ndim or not x.size or draw.chance(0.5):
        return contiguous(x, draw)
    return draw.choice(LAYOUTS)(x, draw)  # type: ignore[operator]
