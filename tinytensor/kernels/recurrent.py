"""LSTM, GRU and RNN over all steps of a sequence; equations as in ops/recurrent_cell.py.

Each thread computes all steps of its own sequences, so threads never wait for each other. A step
multiplies the state by its weights, adds the product to the inputs' share, and makes one pass over
the gates. sizes[t] sequences run at step t, the first ones; the others keep their state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .machinery.compile import parallel, part
from .machinery.contiguous import contiguous, flat
from .machinery.memory import copy, empty
from .machinery.packed_product import empty_panels, multiply, pack
from .machinery.vector_math import f32, sigmoid, tanh, times
from .recurrent_shared import (
    NO_NUMBERS,
    hold,
    pass_on,
    running,
    share_of_inputs,
    sizes_of,
    weight_gradients,
)

ZERO, ONE = f32(0.0), f32(1.0)


# ------------------------------------------------------------------------------------------
# LSTM
# ------------------------------------------------------------------------------------------


@parallel
def lstm(start, stop, w, sizes, gates, cells, states):
    """gates ← σ or tanh of gates + hₜ₋₁·w;  cₜ = f·cₜ₋₁ + i·g,  hₜ = o·tanh cₜ

    gates (T, N, 4, H) starts as the inputs' share. states (T + 1, N, H) holds all h, the initial
    one first; cells (T + 1, N, H) all c.
    """
    z = gates.reshape(gates.shape[0], gates.shape[1], w.shape[1])  # (T, N, 4, H) → (T, N, 4H)
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(z.shape[0]):
        end = running(start, stop, sizes[t])
        if start < end:
            multiply(states[t, start:end], panels, z[t, start:end], 1.0, 1.0)
        for n in range(start, end):
            lstm_gates(gates, cells, states, t, n)
        hold(cells, t, end, stop)
        hold(states, t, end, stop)


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
def lstm_gradient(start, stop, w, sizes, gates, cells, gy, d_gates, dh, dc):
    """dzₜ from gₕ = gyₜ + dh and dc; then dh ← dzₜ·w, dc ← s·f, for the previous step."""
    dz = d_gates.reshape(gates.shape[0], gates.shape[1], w.shape[0])  # (T, N, 4, H) → (T, N, 4H)
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(dz.shape[0] - 1, -1, -1):
        end = running(start, stop, sizes[t])
        for n in range(start, end):
            lstm_gates_gradient(gates, cells, gy, t, n, dh, d_gates, dc)
        if start < end:
            multiply(dz[t, start:end], panels, dh[start:end], 1.0, 0.0)
        pass_on(gy, t, end, stop, dh, dz)


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
    op: Any, x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b: Array | None, sizes: Any
) -> tuple:
    op.sizes = sizes
    (steps, samples), size = x.shape[:2], h.shape[1]
    z = empty((steps, samples, 4 * size))
    cells = empty((steps + 1, samples, size))
    states = empty((steps + 1, samples, size))
    cells[0], states[0] = c, h
    inputs = share_of_inputs(x, w_ih, NO_NUMBERS if b is None else flat(b), z)
    gates = z.reshape(steps, samples, 4, size)  # (T, N, 4H) → (T, N, 4, H)
    lstm(samples, contiguous(w_hh).T, sizes_of(op.sizes, x), gates, cells, states)
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
        h.shape[0], contiguous(w_hh), sizes_of(op.sizes, gy), z.reshape(gates), cells,
        contiguous(gy), dz.reshape(gates), dh, dc,
    )  # fmt: skip
    dx, dw_ih, dw_hh, db, _ = weight_gradients(op, inputs, states, w_ih, dz, dz)
    return dx, dh, dc, dw_ih, dw_hh, db


# ------------------------------------------------------------------------------------------
# GRU
# ------------------------------------------------------------------------------------------


@parallel
def gru(start, stop, w, bias, sizes, gates, shares, states):
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
        end = running(start, stop, sizes[t])
        if start < end:
            h = states[t, start:end]
            multiply(h, for_r_and_u, z[t, start:end, : 2 * size], 1.0, 1.0)
            multiply(h, for_n, shares[t, start:end], 1.0, 0.0)
        for n in range(start, end):
            gru_gates(gates, bias, shares, states, t, n)
        hold(states, t, end, stop)


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
def gru_gradient(start, stop, w, sizes, gates, shares, states, gy, d_gates, d_shares, dh):
    """dzₜ and dsₜ from g = gyₜ + dh; then dh ← g·u + dsₜ·w, for the previous step."""
    # (T, N, 3, H) → (T, N, 3H)
    ds = d_shares.reshape(gates.shape[0], gates.shape[1], w.shape[0])
    dz = d_gates.reshape(gates.shape[0], gates.shape[1], w.shape[0])
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(ds.shape[0] - 1, -1, -1):
        end = running(start, stop, sizes[t])
        for n in range(start, end):
            gru_gates_gradient(gates, shares, states, gy, t, n, dh, d_gates, d_shares)
        if start < end:
            multiply(ds[t, start:end], panels, dh[start:end], 1.0, 1.0)
        pass_on(gy, t, end, stop, dh, ds)
        dz[t, end:stop] = ZERO


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
    op: Any, x: Array, h: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None,
    sizes: Any,
) -> Array:  # fmt: skip
    op.sizes = sizes
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
    gru(samples, contiguous(w_hh).T, bias_n, sizes_of(sizes, x), gates, shares, states)
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
        h.shape[0], contiguous(w_hh), sizes_of(op.sizes, gy), z.reshape(gates), shares, states,
        contiguous(gy), dz.reshape(gates), ds.reshape(gates), dh,
    )  # fmt: skip
    dx, *rest = weight_gradients(op, inputs, states, w_ih, dz, ds)
    return dx, dh, *rest


# ------------------------------------------------------------------------------------------
# RNN
# ------------------------------------------------------------------------------------------


@parallel
def rnn(start, stop, w, rectified, sizes, states):
    """hₜ = tanh, or max(0, …), of hₜ + hₜ₋₁·w

    states (T + 1, N, H) starts as the initial h and the inputs' share of each step, and ends as all
    h.
    """
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(1, states.shape[0]):
        end = running(start, stop, sizes[t - 1])
        if start < end:
            multiply(states[t - 1, start:end], panels, states[t, start:end], 1.0, 1.0)
        for n in range(start, end):
            if rectified:
                for j in range(states.shape[2]):
                    z = states[t, n, j]
                    states[t, n, j] = ZERO if z < ZERO else z
            else:
                for j in range(states.shape[2]):
                    states[t, n, j] = tanh(states[t, n, j])
        hold(states, t - 1, end, stop)


@parallel
def rnn_gradient(start, stop, w, rectified, sizes, states, gy, dz, dh):
    """dzₜ from g = gyₜ + dh; then dh ← dzₜ·w, for the previous step."""
    panels = empty_panels(w.shape[0], w.shape[1])
    pack(w, panels)
    for t in range(dz.shape[0] - 1, -1, -1):
        end = running(start, stop, sizes[t])
        for n in range(start, end):
            if rectified:
                for j in range(dz.shape[2]):
                    g = gy[t, n, j] + dh[n, j]
                    dz[t, n, j] = ZERO if states[t + 1, n, j] <= ZERO else g
            else:
                for j in range(dz.shape[2]):
                    h = states[t + 1, n, j]
                    dz[t, n, j] = (gy[t, n, j] + dh[n, j]) * (ONE - h * h)
        if start < end:
            multiply(dz[t, start:end], panels, dh[start:end], 1.0, 0.0)
        pass_on(gy, t, end, stop, dh, dz)


def rnn_sequence_forward(
    op: Any, x: Array, h: Array, w_ih: Array, w_hh: Array, b: Array | None, nonlinearity: str,
    sizes: Any,
) -> Array:  # fmt: skip
    op.settings = nonlinearity, sizes
    states = empty((x.shape[0] + 1, *h.shape))
    states[0] = h
    inputs = share_of_inputs(x, w_ih, NO_NUMBERS if b is None else flat(b), states[1:])
    rnn(h.shape[0], contiguous(w_hh).T, nonlinearity == "relu", sizes_of(sizes, x), states)
    op.remember("rnn", (inputs, states))
    return copy(states[1:])


def rnn_sequence_backward(op: Any, gy: Array) -> tuple:
    kept = op.kept("rnn")
    if kept is None:
        return NotImplemented
    inputs, states = kept
    _, h, w_ih, w_hh, _ = op.saved
    dz, dh = empty(gy.shape), np.zeros(h.shape, h.dtype)
    nonlinearity, sizes = op.settings
    rnn_gradient(
        h.shape[0], contiguous(w_hh), nonlinearity == "relu", sizes_of(sizes, gy), states,
        contiguous(gy), dz, dh,
    )  # fmt: skip
    dx, dw_ih, dw_hh, db, _ = weight_gradients(op, inputs, states, w_ih, dz, dz)
    return dx, dh, dw_ih, dw_hh, db
