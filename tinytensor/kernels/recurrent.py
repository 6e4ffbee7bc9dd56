"""LSTM, GRU and RNN over all steps of a sequence; equations as in ops/recurrent_cell.py.

Each thread computes all steps of its own sequences, so threads never wait for each other. A step
multiplies the state by its weights, adds the product to the inputs' share, and makes one pass over
the gates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .linear import linear, linear_gradient
from .machinery.compile import parallel, part
from .machinery.contiguous import as_rows, contiguous, flat
from .machinery.memory import copy, empty
from .machinery.packed_product import empty_panels, multiply, pack
from .machinery.threads import get_num_threads
from .machinery.vector_math import f32, sigmoid, tanh, times

ZERO, ONE = f32(0.0), f32(1.0)
NO_MATRIX = np.empty((0, 0), dtype=np.float32)  # an argument or result that is not needed
NO_NUMBERS = np.empty(0, dtype=np.float32)


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


# ------------------------------------------------------------------------------------------
# LSTM
# ------------------------------------------------------------------------------------------


@parallel
def lstm(start, stop, w, gates, cells, states):
    """gates ← σ or tanh of gates + hₜ₋₁·w;  cₜ = f·cₜ₋₁ + i·g,  hₜ = o·tanh cₜ

    gates (T, N, 4, H) starts as the inputs' share. states (T + 1, N, H) holds all h, the initial
    one first; cells (T + 1, N, H) all c.
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
    """dzₜ from gₕ = gyₜ + dh and dc; then dh ← dzₜ·w, dc ← s·f, for the previous step."""
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
        dz[t, n, 1, j] = times(times(f * (ONE - f), dc[n, j]), cells[t, n, j])
    for j in range(size):
        g = z[t, n, 2, j]
        dz[t, n, 2, j] = dc[n, j] * z[t, n, 0, j] * (ONE - g * g)
    for j in range(size):
        dc[n, j] *= z[t, n, 1, j]


def lstm_sequence_forward(
    op: Any, x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b: Array | None
) -> tuple:
    (steps, samples), size = x.shape[:2], h.shape[1]
    z = empty((steps, samples, 4 * size))
    cells = empty((steps + 1, samples, size))
    states = empty((steps + 1, samples, size))
    cells[0], states[0] = c, h
    inputs = share_of_inputs(x, w_ih, NO_NUMBERS if b is None else flat(b), z)
    gates = z.reshape(steps, samples, 4, size)  # (T, N, 4H) → (T, N, 4, H)
    lstm(samples, contiguous(w_hh).T, gates, cells, states)
    op.remember("lstm", (inputs, z, cells, states))
    return copy(states[1:]), copy(cells[-1])


def lstm_sequence_backward(op: Any, gy: Array, gk: Array) -> tuple:
    kept = op.kept("lstm")
    if kept is None:
        return NotImplemented
    inputs, z, cells, states = kept
    _, h, _, w_ih, w_hh, _ = op.saved
    dz, dh, dc = empty(z.shape), np.zeros(h.shape, h.dtype), copy(gk)
    gates = *z.shape[:2], 4, h.shape[1]  # (T, N, 4H) → (T, N, 4, H)
    lstm_gradient(
        h.shape[0], contiguous(w_hh), z.reshape(gates), cells, contiguous(gy), dz.reshape(gates),
        dh, dc,
    )  # fmt: skip
    dx, dw_ih, dw_hh, db, _ = weight_gradients(op, inputs, states, w_ih, dz, dz)
    return dx, dh, dc, dw_ih, dw_hh, db


# ------------------------------------------------------------------------------------------
# GRU
# ------------------------------------------------------------------------------------------


@parallel
def gru(start, stop, w, bias, gates, shares, states):
    """gates ← r, u, n;  hₜ = n + u·(hₜ₋₁ − n)

    gates (T, N, 3, H) starts as the inputs' share. shares (T, N, H) ← sₙ = hₜ₋₁·wₙ + bias, the
    factor of r. states (T + 1, N, H) holds all h, the initial one first.
    """
    size = w.shape[0]
    z = gates.reshape(gates.shape[0], gates.shape[1], 3 * size)  # (T, N, 3, H) → (T, N, 3H)
    for_r_and_u, for_n = empty_panels(size, 2 * size), empty_panels(size, size)
    pack(w[:, : 2 * size], for_r_and_u)
    pack(w[:, 2 * size :], for_n)
    for t in range(z.shape[0]):
        h = states[t, start:stop]
        multiply(h, for_r_and_u, z[t, start:stop, : 2 * size], 1.0, 1.0)
        multiply(h, for_n, shares[t, start:stop], 1.0, 0.0)
        for n in range(start, stop):
            gru_gates(gates, bias, shares, states, t, n)


@part
def gru_gates(z, bias, shares, states, t, n):
    """r, u, n = σ, σ, tanh of the three rows of z, in place, after adding r·(s + bias) to the last;
    hₜ₊₁ = n + u·(hₜ − n)
    """
    size = z.shape[3]
    for j in range(size):
        z[t, n, 0, j] = sigmoid(z[t, n, 0, j])
    for j in range(size):
        z[t, n, 1, j] = sigmoid(z[t, n, 1, j])
    for j in range(size):
        shares[t, n, j] += bias[j]
    for j in range(size):
        z[t, n, 2, j] = tanh(z[t, n, 2, j] + z[t, n, 0, j] * shares[t, n, j])
    for j in range(size):
        proposed = z[t, n, 2, j]
        states[t + 1, n, j] = proposed + z[t, n, 1, j] * (states[t, n, j] - proposed)


@parallel
def gru_gradient(start, stop, w, gates, shares, states, gy, d_gates, d_shares, dh):
    """dzₜ and dsₜ from g = gyₜ + dh; then dh ← g·u + dsₜ·w, for the previous step."""
    # (T, N, 3, H) → (T, N, 3H)
    ds = d_shares.reshape(gates.shape[0], gates.shape[1], w.shape[0])
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(ds.shape[0] - 1, -1, -1):
        for n in range(start, stop):
            gru_gates_gradient(gates, shares, states, gy, t, n, dh, d_gates, d_shares)
        multiply(ds[t, start:stop], panels, dh[start:stop], 1.0, 1.0)


@part
def gru_gates_gradient(z, shares, states, gy, t, n, dh, dz, ds):
    """dz = r̄, ū, n̄ and ds = r̄, ū, n̄·r, and dh ← g·u, of one step; g = gy + dh."""
    size = z.shape[3]
    for j in range(size):
        dh[n, j] += gy[t, n, j]
    for j in range(size):
        u, proposed = z[t, n, 1, j], z[t, n, 2, j]
        dz[t, n, 2, j] = dh[n, j] * (ONE - u) * (ONE - proposed * proposed)
    for j in range(size):
        u = z[t, n, 1, j]
        dz[t, n, 1, j] = times(times(u * (ONE - u), dh[n, j]), states[t, n, j] - z[t, n, 2, j])
    for j in range(size):
        r = z[t, n, 0, j]
        dz[t, n, 0, j] = times(times(r * (ONE - r), dz[t, n, 2, j]), shares[t, n, j])
    for j in range(size):
        ds[t, n, 0, j] = dz[t, n, 0, j]
    for j in range(size):
        ds[t, n, 1, j] = dz[t, n, 1, j]
    for j in range(size):
        ds[t, n, 2, j] = dz[t, n, 2, j] * z[t, n, 0, j]
    for j in range(size):
        dh[n, j] *= z[t, n, 1, j]


def gru_sequence_forward(
    op: Any, x: Array, h: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None
) -> Array:
    (steps, samples), size = x.shape[:2], h.shape[1]
    z = empty((steps, samples, 3 * size))
    shares, states = empty((steps, samples, size)), empty((steps + 1, samples, size))
    states[0] = h
    # b_hh of r and u is added to the inputs' share; that of n is multiplied by r
    bias = np.zeros(3 * size, h.dtype) if b_ih is None else b_ih.copy()
    bias_n = np.zeros(size, h.dtype)
    if b_hh is not None:
        bias[: 2 * size] += b_hh[: 2 * size]
        bias_n[:] = b_hh[2 * size :]
    inputs = share_of_inputs(x, w_ih, bias, z)
    gates = z.reshape(steps, samples, 3, size)  # (T, N, 3H) → (T, N, 3, H)
    gru(samples, contiguous(w_hh).T, bias_n, gates, shares, states)
    op.remember("gru", (inputs, z, shares, states))
    return copy(states[1:])


def gru_sequence_backward(op: Any, gy: Array) -> tuple:
    kept = op.kept("gru")
    if kept is None:
        return NotImplemented
    inputs, z, shares, states = kept
    _, h, w_ih, w_hh, _, _ = op.saved
    dz, ds, dh = empty(z.shape), empty(z.shape), np.zeros(h.shape, h.dtype)
    gates = *z.shape[:2], 3, h.shape[1]  # (T, N, 3H) → (T, N, 3, H)
    gru_gradient(
        h.shape[0], contiguous(w_hh), z.reshape(gates), shares, states, contiguous(gy),
        dz.reshape(gates), ds.reshape(gates), dh,
    )  # fmt: skip
    dx, *rest = weight_gradients(op, inputs, states, w_ih, dz, ds)
    return dx, dh, *rest


# ------------------------------------------------------------------------------------------
# RNN
# ------------------------------------------------------------------------------------------


@parallel
def rnn(start, stop, w, rectified, states):
    """hₜ = tanh, or max(0, …), of hₜ + hₜ₋₁·w

    states (T + 1, N, H) starts as the initial h and the inputs' share of each step, and ends as all
    h.
    """
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(1, states.shape[0]):
        multiply(states[t - 1, start:stop], panels, states[t, start:stop], 1.0, 1.0)
        for n in range(start, stop):
            if rectified:
                for j in range(states.shape[2]):
                    z = states[t, n, j]
                    states[t, n, j] = ZERO if z < ZERO else z
            else:
                for j in range(states.shape[2]):
                    states[t, n, j] = tanh(states[t, n, j])


@parallel
def rnn_gradient(start, stop, w, rectified, states, gy, dz, dh):
    """dzₜ from g = gyₜ + dh; then dh ← dzₜ·w, for the previous step."""
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(dz.shape[0] - 1, -1, -1):
        for n in range(start, stop):
            if rectified:
                for j in range(dz.shape[2]):
                    g = gy[t, n, j] + dh[n, j]
                    dz[t, n, j] = ZERO if states[t + 1, n, j] <= ZERO else g
            else:
                for j in range(dz.shape[2]):
                    h = states[t + 1, n, j]
                    dz[t, n, j] = (gy[t, n, j] + dh[n, j]) * (ONE - h * h)
        multiply(dz[t, start:stop], panels, dh[start:stop], 1.0, 0.0)


def rnn_sequence_forward(
    op: Any, x: Array, h: Array, w_ih: Array, w_hh: Array, b: Array | None, nonlinearity: str
) -> Array:
    op.nonlinearity = nonlinearity
    states = empty((x.shape[0] + 1, *h.shape))
    states[0] = h
    inputs = share_of_inputs(x, w_ih, NO_NUMBERS if b is None else flat(b), states[1:])
    rnn(h.shape[0], contiguous(w_hh).T, nonlinearity == "relu", states)
    op.remember("rnn", (inputs, states))
    return copy(states[1:])


def rnn_sequence_backward(op: Any, gy: Array) -> tuple:
    kept = op.kept("rnn")
    if kept is None:
        return NotImplemented
    inputs, states = kept
    _, h, w_ih, w_hh, _ = op.saved
    dz, dh = empty(gy.shape), np.zeros(h.shape, h.dtype)
    rectified = op.nonlinearity == "relu"
    rnn_gradient(h.shape[0], contiguous(w_hh), rectified, states, contiguous(gy), dz, dh)
    dx, dw_ih, dw_hh, db, _ = weight_gradients(op, inputs, states, w_ih, dz, dz)
    return dx, dh, dw_ih, dw_hh, db
