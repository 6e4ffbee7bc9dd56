"""Mamba's scan, channel by channel: the state of a channel stays in registers between steps.

Equations and letters as in ops/selective_scan.py. Each thread handles some channels of all samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ..backend import Array
from .machinery.blas import share
from .machinery.compile import parallel_for
from .machinery.memory import empty
from .machinery.threads import get_num_threads
from .machinery.vector_math import exp, f32

_series = types.Array(types.float32, 3, "A", readonly=True)  # (N, E, L), in any layout
_result = types.Array(types.float32, 3, "C")
_matrix = types.Array(types.float32, 2, "C")
_sums = types.Array(types.float32, 4, "C")


@parallel_for(_series, _series, _matrix, _result, _result, _result, _result)
def scan(start, stop, u, delta, A, B, C, y, last):
    """yₜ = Cₜ·hₜ, hₜ = exp(Δₜ·A)·hₜ₋₁ + Δₜ·uₜ·Bₜ, and the last h; A (E, S), B, C (N, L, S)."""
    samples, _, steps = u.shape
    h = np.empty(A.shape[1], dtype=np.float32)
    for n in range(samples):
        for e in range(start, stop):
            h[:] = 0
            for t in range(steps):
                d = delta[n, e, t]
                x = d * u[n, e, t]
                total = f32(0.0)
                for s in range(h.size):
                    h[s] = exp(d * A[e, s]) * h[s] + x * B[n, t, s]
                    total += C[n, t, s] * h[s]
                y[n, e, t] = total
            last[n, e] = h


@parallel_for(_series, _series, _matrix, _result, _result, _series, _series,
              _result, _result, _matrix, _sums, _sums)  # fmt: skip
def scan_gradient(start, stop, u, delta, A, B, C, gy, gh, du, ddelta, dA, dB, dC):
    """du, dΔ (N, E, L), dA (E, S), and dB, dC (T, N, L, S), to be summed over T threads

    For each channel, first recompute the states of all steps; then λ, from last step to first.
    """
    samples, channels, steps = u.shape
    for i in range(start, stop):
        first, last = share(channels, dB.shape[0], i)
        decay, states = np.empty((2, steps + 1, A.shape[1]), dtype=np.float32)
        slope = np.empty(A.shape[1], dtype=np.float32)  # λ
        dB[i] = 0
        dC[i] = 0
        dA[first:last] = 0
        states[0] = 0
        for n in range(samples):
            for e in range(first, last):
                for t in range(steps):
                    d = delta[n, e, t]
                    x = d * u[n, e, t]
                    for s in range(slope.size):
                        decay[t, s] = exp(d * A[e, s])
                        states[t + 1, s] = decay[t, s] * states[t, s] + x * B[n, t, s]
                slope[:] = gh[n, e]
                for t in range(steps - 1, -1, -1):
                    d, x, g = delta[n, e, t], u[n, e, t], gy[n, e, t]
                    dinput = f32(0.0)  # of Δₜ·uₜ
                    for s in range(slope.size):
                        slope[s] += g * C[n, t, s]
                        dinput += slope[s] * B[n, t, s]
                    for s in range(slope.size):
                        dC[i, n, t, s] += g * states[t + 1, s]
                        dB[i, n, t, s] += d * x * slope[s]
                    along = f32(0.0)  # of Δₜ, through the exponent Δₜ·A
                    for s in range(slope.size):
                        slope[s] *= decay[t, s]
                        exponent = slope[s] * states[t, s]
                        dA[e, s] += d * exponent
                        along += exponent * A[e, s]
                    du[n, e, t] = dinput * d
                    ddelta[n, e, t] = along + dinput * x


def _steps_first(x: Array) -> Array:
    """(N, S, L) → (N, L, S), contiguous"""
    return np.array(x.swapaxes(1, 2), order="C")


def selective_scan_forward(op: Any, u: Array, delta: Array, A: Array, B: Array, C: Array) -> tuple:
    y, last = empty(u.shape), empty((*u.shape[:2], A.shape[1]))
    A = np.array(A, order="C")
    scan(u.shape[1], u, delta, A, _steps_first(B), _steps_first(C), y, last)
    return y, last


def selective_scan_backward(op: Any, gy: Array, gh: Array) -> tuple:
    u, delta, A, B, C = op.saved
    threads, samples, steps, size = get_num_threads(), u.shape[0], u.shape[2], A.shape[1]
    du, ddelta, dA = empty(u.shape), empty(u.shape), empty(A.shape)
    dB, dC = empty((threads, samples, steps, size)), empty((threads, samples, steps, size))
    A = np.array(A, order="C")
    scan_gradient(
        threads, u, delta, A, _steps_first(B), _steps_first(C), gy, gh, du, ddelta, dA, dB, dC
    )
    # (T, N, L, S) → (N, L, S) → (N, S, L)
    return du, ddelta, dA, dB.sum(axis=0).swapaxes(1, 2), dC.sum(axis=0).swapaxes(1, 2)
