"""What the kernels of LSTM, GRU and RNN share: sequences that end, and the gradients of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array
from .linear import linear, linear_gradient
from .machinery.compile import part
from .machinery.contiguous import as_rows, contiguous
from .machinery.memory import empty
from .machinery.threads import get_num_threads
from .machinery.vector_math import f32

NO_MATRIX = np.empty((0, 0), dtype=np.float32)  # an argument or result that is not needed
NO_NUMBERS = np.empty(0, dtype=np.float32)

# ------------------------------------------------------------------------------------------
# Sequences of several lengths
# ------------------------------------------------------------------------------------------


def sizes_of(sizes: Sequence[int] | None, x: Array) -> Array:
    """The number of sequences that run at each step of x (T, N, …), as the kernels take it."""
    if sizes is None:
        return np.full(x.shape[0], x.shape[1], np.uintp)  # unsigned, as start and stop
    return np.array(sizes, np.uintp)


@part
def running(start, stop, size):
    """The end of those of start … stop that are among the first `size`; start if none is."""
    return max(start, min(stop, size))


@part
def hold(states, t, first, last):
    """statesₜ₊₁ ← statesₜ in rows first … last: sequences that have ended keep their state."""
    for n in range(first, last):
        for j in range(states.shape[2]):
            states[t + 1, n, j] = states[t, n, j]


@part
def pass_on(gy, t, first, last, dh, dz):
    """dh += gyₜ, dzₜ = 0 in rows first … last, those of sequences that have ended."""
    for n in range(first, last):
        for j in range(dh.shape[1]):
            dh[n, j] += gy[t, n, j]
        for j in range(dz.shape[2]):
            dz[t, n, j] = f32(0.0)


# ------------------------------------------------------------------------------------------
# Products of all steps at once
# ------------------------------------------------------------------------------------------


def share_of_inputs(x: Array, w_ih: Array, bias: Array, z: Array) -> Array:
    """z = w_ih·x + bias, for all steps at once; returns x as rows. bias may be empty."""
    rows = as_rows(x)
    linear(rows.shape[0], rows, contiguous(w_ih), bias, as_rows(z))
    return rows


def weight_gradients(
    op: Any, inputs: Array, states: Array, w_ih: Array, dz: Array, ds: Array
) -> tuple:
    """dx = dz·w_ih,  dw_ih = Σ dzₜᵀ·xₜ,  dw_hh = Σ dsₜᵀ·hₜ₋₁,  Σ dzₜ,  Σ dsₜ

    dz and ds (T, N, G·H) are the gradients of the gates' inputs from x and from the state. If they
    are the same array, the second sum is omitted.
    """
    parts, from_inputs, from_state = get_num_threads(), as_rows(dz), as_rows(ds)
    gates, size = from_inputs.shape[1], states.shape[2]
    dx = empty(inputs.shape) if op.needs(0) else NO_MATRIX
    dw_ih, db_ih = empty(w_ih.shape), empty((gates,))
    dw_hh, db_hh = empty((gates, size)), NO_NUMBERS if ds is dz else empty((gates,))
    linear_gradient(parts, parts, inputs, contiguous(w_ih), from_inputs, dx, dw_ih, db_ih)
    before = as_rows(states[:-1])
    linear_gradient(parts, parts, before, NO_MATRIX, from_state, NO_MATRIX, dw_hh, db_hh)
    shape = *dz.shape[:2], inputs.shape[1]  # (T·N, in) → (T, N, in)
    dx = dx.reshape(shape) if op.needs(0) else None
    return dx, dw_ih, dw_hh, db_ih, db_hh
