"""Recurrent layers through all their steps; equations as in ops/recurrent.py.

Each thread takes some of the sequences through all steps, so that threads never wait for each
other. A step is one product with the state, added to what came from the inputs, and one pass over
the gates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from .blas import share
from .compile import parallel, part
from .layout import as_rows, contiguous, flat
from .linear import linear, linear_gradient
from .memory import empty
from .small_product import add_product
from .threads import get_num_threads
from .vector_math import f32, sigmoid, tanh

ONE = f32(1.0)
NO_MATRIX = np.empty((0, 0), dtype=np.float32)  # stands for what is not asked for
NO_NUMBERS = np.empty(0, dtype=np.float32)


@part
def quarters(z):
    """The parts of the four gates. Loops vectorise along arrays that they run through from 0 on."""
    size = z.size // 4
    return z[:size], z[size : 2 * size], z[2 * size : 3 * size], z[3 * size :]


@part
def apply_sigmoid(x):
    for j in range(x.size):
        x[j] = sigmoid(x[j])


@part
def apply_tanh(x):
    for j in range(x.size):
        x[j] = tanh(x[j])


@parallel
def lstm(c, w, z, cells, states, threads):
    """zₜ ← gates of zₜ + hₜ₋₁·w;  cₜ = f·cₜ₋₁ + i·g,  hₜ = o·tanh cₜ

    z (T, N, 4H) starts as the inputs' share. states (T + 1, N, H) holds h, of the start first;
    cells (T, N, H) all c.
    """
    for i in prange(threads):
        start, stop = share(z.shape[1], threads, i)
        for t in range(z.shape[0]):
            add_product(states[t, start:stop], w, z[t, start:stop])
            for n in range(start, stop):
                before = c[n] if t == 0 else cells[t - 1, n]
                lstm_gates(z[t, n], before, cells[t, n], states[t + 1, n])


@part
def lstm_gates(z, c, cell, h):
    """i, f, g, o = σ, σ, tanh, σ of the four parts of z, in place;  cell = f·c + i·g,
    h = o·tanh cell
    """
    i, f, g, o = quarters(z)
    apply_sigmoid(i)
    apply_sigmoid(f)
    apply_tanh(g)
    apply_sigmoid(o)
    for j in range(c.size):
        cell[j] = f[j] * c[j] + i[j] * g[j]
    for j in range(c.size):
        h[j] = o[j] * tanh(cell[j])


@parallel
def lstm_gradient(c, w, z, cells, gy, dz, dh, dc, threads):
    """dzₜ from gₕ = gyₜ + dh and dc, which then are dh ← dzₜ·w, dc ← s·f, for the step before."""
    for i in prange(threads):
        start, stop = share(z.shape[1], threads, i)
        for t in range(z.shape[0] - 1, -1, -1):
            for n in range(start, stop):
                before = c[n] if t == 0 else cells[t - 1, n]
                lstm_gates_gradient(z[t, n], before, cells[t, n], gy[t, n], dh[n], dz[t, n], dc[n])
            dh[start:stop] = 0
            add_product(dz[t, start:stop], w, dh[start:stop])


@part
def lstm_gates_gradient(z, c, cell, gy, dh, dz, dc):
    """dz, and dc ← s·f, of one step; s = dc + gₕ·o·(1 − tanh² cell), gₕ = gy + dh."""
    i, f, g, o = quarters(z)
    di, df, dg, do = quarters(dz)
    for j in range(c.size):
        squashed, gh = tanh(cell[j]), gy[j] + dh[j]
        do[j] = gh * squashed * o[j] * (ONE - o[j])
        dc[j] += gh * o[j] * (ONE - squashed * squashed)
    for j in range(c.size):
        di[j] = dc[j] * g[j] * i[j] * (ONE - i[j])
    for j in range(c.size):
        df[j] = dc[j] * c[j] * f[j] * (ONE - f[j])
    for j in range(c.size):
        dg[j] = dc[j] * i[j] * (ONE - g[j] * g[j])
    for j in range(c.size):
        dc[j] *= f[j]


def lstm_sequence_forward(op: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b: Any) -> Any:
    (steps, samples), size, threads = x.shape[:2], h.shape[1], get_num_threads()
    z = empty((steps, samples, 4 * size))
    cells = empty((steps, samples, size))
    states = empty((steps + 1, samples, size))
    states[0] = h
    bias = NO_NUMBERS if b is None else flat(b)
    linear(as_rows(x), contiguous(w_ih), bias, as_rows(z), threads)
    lstm(contiguous(c), contiguous(w_hh.T), z, cells, states, threads)
    op.remember(lstm, (z, cells, states))
    return states[1:].copy(), cells[-1].copy()


def lstm_sequence_backward(op: Any, gy: Any, gk: Any) -> Any:
    kept = op.kept(lstm)
    if kept is None:
        return NotImplemented
    z, cells, states = kept
    x, h, c, w_ih, w_hh, _ = op.saved
    w_hh = contiguous(w_hh)
    dz, dh, dc = empty(z.shape), np.zeros(h.shape, h.dtype), gk.copy()
    lstm_gradient(contiguous(c), w_hh, z, cells, contiguous(gy), dz, dh, dc, get_num_threads())
    return input_gradient(op, dz, x, w_ih), dh, dc, *weight_gradients(dz, x, w_ih, states, w_hh)


def weight_gradients(dz: Any, x: Any, w_ih: Any, states: Any, w_hh: Any) -> tuple:
    """dw_ih = Σ dzₜᵀ·xₜ,  dw_hh = Σ dzₜᵀ·hₜ₋₁,  db = Σ dzₜ"""
    dw_ih, dw_hh, db = empty(w_ih.shape), empty(w_hh.shape), empty(w_ih.shape[:1])
    g, threads = as_rows(dz), get_num_threads()
    linear_gradient(as_rows(x), NO_MATRIX, g, NO_MATRIX, dw_ih, db, threads)
    linear_gradient(as_rows(states[:-1]), NO_MATRIX, g, NO_MATRIX, dw_hh, NO_NUMBERS, threads)
    return dw_ih, dw_hh, db


def input_gradient(op: Any, dz: Any, x: Any, w_ih: Any) -> Any:
    """dx = dz·w_ih, if it is asked for"""
    if not op.needs(0):
        return None
    dx = empty(x.shape)
    linear_gradient(
        NO_MATRIX, contiguous(w_ih), as_rows(dz), as_rows(dx), NO_MATRIX, NO_NUMBERS,
        get_num_threads(),
    )  # fmt: skip
    return dx
