"""Recurrent layers through all their steps; equations as in ops/recurrent.py.

Each thread takes some of the sequences through all steps, so that threads never wait for each
other. A step is one product with the state, added to what came from the inputs, and one pass over
the gates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import parallel, part
from .layout import as_rows, contiguous, flat
from .linear import linear, linear_gradient
from .memory import copy, empty
from .product import empty_panels, multiply, pack
from .threads import get_num_threads
from .vector_math import f32, sigmoid, tanh

ONE = f32(1.0)
NO_MATRIX = np.empty((0, 0), dtype=np.float32)  # stands for what is not asked for
NO_NUMBERS = np.empty(0, dtype=np.float32)


@parallel
def lstm(start, stop, w, gates, cells, states):
    """gates ← σ or tanh of gates + hₜ₋₁·w;  cₜ = f·cₜ₋₁ + i·g,  hₜ = o·tanh cₜ

    gates (T, N, 4, H) starts as the inputs' share. states (T + 1, N, H) holds h, of the start
    first; cells (T + 1, N, H) all c.
    """
    z = gates.reshape(gates.shape[0], gates.shape[1], w.shape[1])  # (T, N, 4, H) → (T, N, 4H)
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(z.shape[0]):
        multiply(states[t, start:stop], panels, z[t, start:stop], 1.0, 1.0)
        for n in range(start, stop):
            lstm_gates(gates, cells, states, t, n)


@part
def lstm_gates(z, cells, states, t, n):
    """i, f, g, o = σ, σ, tanh, σ of the four rows of z, in place;  cₜ₊₁ = f·cₜ + i·g,
    hₜ₊₁ = o·tanh cₜ₊₁
    """
    size = z.shape[3]
    for j in range(size):
        z[t, n, 0, j] = sigmoid(z[t, n, 0, j])
    for j in range(size):
        z[t, n, 1, j] = sigmoid(z[t, n, 1, j])
    for j in range(size):
        z[t, n, 2, j] = tanh(z[t, n, 2, j])
    for j in range(size):
        z[t, n, 3, j] = sigmoid(z[t, n, 3, j])
    for j in range(size):
        cells[t + 1, n, j] = z[t, n, 1, j] * cells[t, n, j] + z[t, n, 0, j] * z[t, n, 2, j]
    for j in range(size):
        states[t + 1, n, j] = z[t, n, 3, j] * tanh(cells[t + 1, n, j])


@parallel
def lstm_gradient(start, stop, w, gates, cells, gy, d_gates, dh, dc):
    """dzₜ from gₕ = gyₜ + dh and dc, which then are dh ← dzₜ·w, dc ← s·f, for the step before."""
    dz = d_gates.reshape(gates.shape[0], gates.shape[1], w.shape[0])  # (T, N, 4, H) → (T, N, 4H)
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(dz.shape[0] - 1, -1, -1):
        for n in range(start, stop):
            lstm_gates_gradient(gates, cells, gy, t, n, dh, d_gates, dc)
        multiply(dz[t, start:stop], panels, dh[start:stop], 1.0, 0.0)


@part
def lstm_gates_gradient(z, cells, gy, t, n, dh, dz, dc):
    """dz, and dc ← s·f, of one step; s = dc + gₕ·o·(1 − tanh² cₜ₊₁), gₕ = gy + dh."""
    size = z.shape[3]
    for j in range(size):
        squashed, gh, o = tanh(cells[t + 1, n, j]), gy[t, n, j] + dh[n, j], z[t, n, 3, j]
        dz[t, n, 3, j] = gh * squashed * o * (ONE - o)
        dc[n, j] += gh * o * (ONE - squashed * squashed)
    for j in range(size):
        i = z[t, n, 0, j]
        dz[t, n, 0, j] = dc[n, j] * z[t, n, 2, j] * i * (ONE - i)
    for j in range(size):
        f = z[t, n, 1, j]
        dz[t, n, 1, j] = dc[n, j] * cells[t, n, j] * f * (ONE - f)
    for j in range(size):
        g = z[t, n, 2, j]
        dz[t, n, 2, j] = dc[n, j] * z[t, n, 0, j] * (ONE - g * g)
    for j in range(size):
        dc[n, j] *= z[t, n, 1, j]


def lstm_sequence_forward(op: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b: Any) -> Any:
    (steps, samples), size = x.shape[:2], h.shape[1]
    z = empty((steps, samples, 4 * size))
    cells = empty((steps + 1, samples, size))
    states = empty((steps + 1, samples, size))
    cells[0], states[0] = c, h
    bias = NO_NUMBERS if b is None else flat(b)
    inputs = as_rows(x)
    linear(steps * samples, inputs, contiguous(w_ih), bias, as_rows(z))
    gates = z.reshape(steps, samples, 4, size)  # (T, N, 4H) → (T, N, 4, H)
    lstm(samples, contiguous(w_hh).T, gates, cells, states)
    op.remember(lstm, (inputs, z, cells, states))
    return copy(states[1:]), copy(cells[-1])


def lstm_sequence_backward(op: Any, gy: Any, gk: Any) -> Any:
    kept = op.kept(lstm)
    if kept is None:
        return NotImplemented
    inputs, z, cells, states = kept
    x, h, _, w_ih, w_hh, _ = op.saved
    w_ih, w_hh, parts = contiguous(w_ih), contiguous(w_hh), get_num_threads()
    dz, dh, dc = empty(z.shape), np.zeros(h.shape, h.dtype), copy(gk)
    gates = *z.shape[:2], 4, h.shape[1]  # (T, N, 4H) → (T, N, 4, H)
    lstm_gradient(
        h.shape[0], w_hh, z.reshape(gates), cells, contiguous(gy), dz.reshape(gates), dh, dc
    )
    # dx = dz·w_ih,  dw_ih = Σ dzₜᵀ·xₜ,  dw_hh = Σ dzₜᵀ·hₜ₋₁,  db = Σ dzₜ
    g, dx = as_rows(dz), empty(x.shape) if op.needs(0) else None
    dw_ih, dw_hh, db = empty(w_ih.shape), empty(w_hh.shape), empty(w_ih.shape[:1])
    dx_rows = NO_MATRIX if dx is None else as_rows(dx)
    linear_gradient(parts, parts, inputs, w_ih, g, dx_rows, dw_ih, db)
    linear_gradient(parts, parts, as_rows(states[:-1]), w_hh, g, NO_MATRIX, dw_hh, NO_NUMBERS)
    return dx, dh, dc, dw_ih, dw_hh, db
