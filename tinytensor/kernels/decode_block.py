"""Decodes one token in a GPT block with cached keys and values, in one kernel.

For one token, calling ops costs more than their work. The kernel uses one thread.
"""

from __future__ import annotations

import math

import numpy as np

from .activation import CUBIC, LINEAR
from .layer_norm import normalized, settled
from .machinery.compile import part, serial
from .machinery.vector_math import exp, f32, sigmoid


@serial
def decode_block(x, norm1, qkv, proj, norm2, fc, out, eps, keys, values, length):
    """x ← x + attn(norm1(x)),  x ← x + mlp(norm2(x)) for one token of each row of x (N, C)

    norm1 … out: (weight, bias), the bias empty if there is none; eps: of the two norms. keys and
    values (N, H, longest, D) hold `length` tokens; this one is appended.
    """
    width = x.shape[1]
    hidden, inner = np.empty(width, dtype=np.float32), np.empty(fc[0].shape[0], dtype=np.float32)
    three = np.empty(3 * width, dtype=np.float32)  # q, k and v, concatenated
    for n in range(x.shape[0]):
        normalize(x[n], norm1, eps[0], hidden)
        times(qkv, hidden, three, False)
        for h in range(keys.shape[1]):
            attend(three, keys[n, h], values[n, h], h, length, hidden)
        times(proj, hidden, x[n], True)
        normalize(x[n], norm2, eps[1], hidden)
        times(fc, hidden, inner, False)
        for j in range(inner.size):
            inner[j] *= sigmoid(inner[j] * (LINEAR + CUBIC * inner[j] * inner[j]))
        times(out, inner, x[n], True)


@part
def normalize(x, parameters, eps, y):
    """y = w·(x − mean x) / √(var x + eps) + b"""
    weight, bias = parameters
    center = f32(0.0)
    for j in range(x.size):
        center += x[j]
    center /= f32(x.size)
    variance = f32(0.0)
    for j in range(x.size):
        variance += (x[j] - center) * (x[j] - center)
    row = x.reshape(1, x.size)  # (N) → (1, N)
    center, rest, variance = settled(row, 0, center, variance / f32(x.size))
    scale = f32(1.0) / np.sqrt(variance + eps)
    for j in range(x.size):
        y[j] = normalized(x[j], center, rest, scale, weight[j])
    if bias.size:
        y += bias


@part
def times(parameters, x, y, added):
    """y ← W·x + b, or y + W·x + b"""
    weight, bias = parameters
    for i in range(weight.shape[0]):
        total = f32(0.0)
        for j in range(weight.shape[1]):
            total += weight[i, j] * x[j]
        y[i] = y[i] + total if added else total
    if bias.size:
        y += bias


@part
def attend(three, keys, values, h, length, y):
    """Head h of y ← softmax(q·Kᵀ/√D)·V, after appending this token's k and v to K and V."""
    width, depth = three.size // 3, keys.shape[1]
    first = h * depth
    q = three[first : first + depth]
    keys[length] = three[width + first : width + first + depth]
    values[length] = three[2 * width + first : 2 * width + first + depth]
    scale = f32(1.0 / math.sqrt(depth))
    scores = np.empty(length + 1, dtype=np.float32)
    top = f32(-np.inf)
    for t in range(length + 1):
        score = f32(0.0)
        for j in range(depth):
            score += q[j] * keys[t, j]
        scores[t] = score * scale
        top = max(top, scores[t])
    total = f32(0.0)
    for t in range(length + 1):
        scores[t] = exp(scores[t] - top)
        total += scores[t]
    mine = y[first : first + depth]
    mine[:] = f32(0.0)
    for t in range(length + 1):
        weight = scores[t] / total
        for j in range(depth):
            mine[j] += weight * values[t, j]
