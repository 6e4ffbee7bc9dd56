"""The GPT of gpt.py in bare NumPy: forward, every gradient by hand, clipping and AdamW.

It shows what the arithmetic costs without a framework. Parameters have the names of gpt.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from gpt import VOCABULARY, Setting

Arrays = dict[str, np.ndarray]

EPSILON = 1e-5
GELU_SCALE, GELU_CUBIC = math.sqrt(2 / math.pi), 0.044715


def parameters_for(setting: Setting) -> Arrays:
    """Weights from a fixed seed: normal, smaller in layers that feed the skip connection."""
    rng = np.random.default_rng(0)
    width, residual = setting.width, 0.02 / math.sqrt(2 * setting.layers)

    def normal(*shape: int, std: float = 0.02) -> np.ndarray:
        return rng.normal(0, std, shape).astype(np.float32)

    ones = np.ones(width, dtype=np.float32)
    made = {
        "tokens.weight": normal(VOCABULARY, width),
        "positions.weight": normal(setting.context, width),
        "norm.weight": ones.copy(),
    }
    for i in range(setting.layers):
        made |= {
            f"blocks.{i}.norm1.weight": ones.copy(),
            f"blocks.{i}.attention.qkv.weight": normal(3 * width, width),
            f"blocks.{i}.attention.proj.weight": normal(width, width, std=residual),
            f"blocks.{i}.norm2.weight": ones.copy(),
            f"blocks.{i}.fc.weight": normal(4 * width, width),
            f"blocks.{i}.proj.weight": normal(width, 4 * width, std=residual),
        }
    return made


def batch_for(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and the tokens that follow them, both (N, T)."""
    rng = np.random.default_rng(1)
    shape = (setting.batch, setting.context)
    return rng.integers(0, VOCABULARY, shape), rng.integers(0, VOCABULARY, shape)


# ------------------------------------------------------------------------------------------
# The layers: each forward also returns what its backward needs
# ------------------------------------------------------------------------------------------


def norm(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, tuple]:
    """y = w·n,  n = (x − mean) / √(variance + ε)"""
    n = x - x.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.square(n).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
    n *= scale
    return n * weight, (n, scale, weight)


def norm_backward(g: np.ndarray, kept: tuple) -> tuple[np.ndarray, np.ndarray]:
    """dx = s·(dn − mean dn − n·mean(dn·n)),  dn = g·w,  dw = Σ g·n"""
    n, scale, weight = kept
    dw = np.einsum("mc,mc->c", g, n)
    dn = g * weight
    along = np.einsum("mc,mc->m", dn, n)[:, None] / np.float32(n.shape[1])
    dn -= dn.mean(axis=-1, keepdims=True)
    dn -= n * along
    dn *= scale
    return dn, dw


def gelu(x: np.ndarray) -> tuple[np.ndarray, tuple]:
    """y = ½·x·(1 + t),  t = tanh(√(2/π)·(x + 0.044715·x³))"""
    t = x * x
    t *= GELU_CUBIC * GELU_SCALE
    t += GELU_SCALE
    t *= x
    np.tanh(t, out=t)
    y = t + 1
    y *= x
    y *= 0.5
    return y, (x, t)


def gelu_backward(g: np.ndarray, kept: tuple) -> np.ndarray:
    """dx = g·½·(1 + t + x·(1 − t²)·√(2/π)·(1 + 3·0.044715·x²))"""
    x, t = kept
    inner = x * x
    inner *= 3 * GELU_CUBIC * GELU_SCALE
    inner += GELU_SCALE
    inner *= x
    inner *= 1 - t * t
    inner += t
    inner += 1
    inner *= 0.5
    inner *= g
    return inner


def attention(x: np.ndarray, qkv_weight: np.ndarray, setting: Setting) -> tuple[np.ndarray, tuple]:
    """y = softmax(Q·Kᵀ/√D + mask)·V, heads joined; x (N·T, C)."""
    n, t, h = setting.batch, setting.context, setting.heads
    # (N·T, 3·C) → (N, T, 3, H, D) → (3, N, H, T, D)
    q, k, v = (x @ qkv_weight.T).reshape(n, t, 3, h, -1).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2)  # (N, H, T, T)
    scores *= np.float32(1 / math.sqrt(q.shape[-1]))
    scores += np.triu(np.full((t, t), -np.inf, dtype=np.float32), 1)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    y = (weights @ v).transpose(0, 2, 1, 3)  # (N, H, T, D) → (N, T, H, D)
    return y.reshape(x.shape), (q, k, v, weights)  # (N, T, H, D) → (N·T, C)


def attention_backward(g: np.ndarray, kept: tuple, setting: Setting) -> np.ndarray:
    """The gradient of the joined q, k, v, (N·T, 3·C):

    dV = Aᵀ·g,  dA = g·Vᵀ,  dS = A·(dA − Σ dA·A)/√D,  dQ = dS·K,  dK = dSᵀ·Q
    """
    q, k, v, weights = kept
    n, t, h = setting.batch, setting.context, setting.heads
    g = g.reshape(n, t, h, -1).swapaxes(1, 2)  # (N·T, C) → (N, T, H, D) → (N, H, T, D)
    joined = np.empty((n, t, 3, h, q.shape[-1]), dtype=np.float32)
    dq, dk, dv = joined.transpose(2, 0, 3, 1, 4)  # (N, T, 3, H, D) → (3, N, H, T, D)
    np.matmul(weights.swapaxes(-1, -2), g, out=dv)
    ds = g @ v.swapaxes(-1, -2)
    ds -= np.einsum("nhqk,nhqk->nhq", ds, weights)[..., None]
    ds *= weights
    ds *= np.float32(1 / math.sqrt(q.shape[-1]))
    np.matmul(ds, k, out=dq)
    np.matmul(ds.swapaxes(-1, -2), q, out=dk)
    return joined.reshape(g.shape[0] * t, -1)  # (N, T, 3, H, D) → (N·T, 3·C)


# ------------------------------------------------------------------------------------------
# The model
# ------------------------------------------------------------------------------------------


def loss_and_gradients(
    p: Arrays, idx: np.ndarray, targets: np.ndarray, setting: Setting
) -> tuple[float, Arrays]:
    """The mean cross entropy and its gradient for each parameter."""
    rows, width = idx.size, setting.width
    x = p["tokens.weight"][idx] + p["positions.weight"]  # (N, T, C)
    x = x.reshape(rows, width)  # (N, T, C) → (N·T, C)
    kept: list[Any] = []
    for i in range(setting.layers):
        block = f"blocks.{i}."
        n1, norm1 = norm(x, p[block + "norm1.weight"])
        y, heads = attention(n1, p[block + "attention.qkv.weight"], setting)
        x = x + y @ p[block + "attention.proj.weight"].T
        n2, norm2 = norm(x, p[block + "norm2.weight"])
        a, curve = gelu(n2 @ p[block + "fc.weight"].T)
        x = x + a @ p[block + "proj.weight"].T
        kept.append((n1, norm1, y, heads, n2, norm2, a, curve))
    last, final = norm(x, p["norm.weight"])
    logits = last @ p["tokens.weight"].T
    logits -= logits.max(axis=-1, keepdims=True)
    chosen = np.arange(rows), targets.reshape(-1)  # (N, T) → (N·T)
    picked = logits[chosen]
    shares = np.exp(logits, out=logits)
    total = shares.sum(axis=-1, keepdims=True)
    loss = float((np.log(total[:, 0]) - picked).mean())

    shares /= total
    shares[chosen] -= 1
    shares /= np.float32(rows)
    d: Arrays = {"tokens.weight": shares.T @ last}
    g, d["norm.weight"] = norm_backward(shares @ p["tokens.weight"], final)
    for i in reversed(range(setting.layers)):
        block = f"blocks.{i}."
        n1, norm1, y, heads, n2, norm2, a, curve = kept.pop()
        d[block + "proj.weight"] = g.T @ a
        inner = gelu_backward(g @ p[block + "proj.weight"], curve)
        d[block + "fc.weight"] = inner.T @ n2
        dx, d[block + "norm2.weight"] = norm_backward(inner @ p[block + "fc.weight"], norm2)
        g = g + dx
        d[block + "attention.proj.weight"] = g.T @ y
        inner = attention_backward(g @ p[block + "attention.proj.weight"], heads, setting)
        d[block + "attention.qkv.weight"] = inner.T @ n1
        dx, d[block + "norm1.weight"] = norm_backward(
            inner @ p[block + "attention.qkv.weight"], norm1
        )
        g = g + dx
    np.add.at(d["tokens.weight"], idx.reshape(-1), g)  # (N, T) → (N·T)
    d["positions.weight"] = g.reshape(setting.batch, -1, width).sum(axis=0)  # (N·T, C) → (N, T, C)
    return loss, d


class Optimizer:
    """Gradients clipped to norm 1, then AdamW as in gpt.py: weight decay for matrices only."""

    def __init__(self, parameters: Arrays, rate: float = 1e-3, decay: float = 0.1):
        self.parameters, self.rate, self.decay = parameters, rate, decay
        self.m = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.v = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.steps = 0

    def step(self, gradients: Arrays, beta1: float = 0.9, beta2: float = 0.99) -> None:
        norm = math.sqrt(sum(float(np.vdot(g, g)) for g in gradients.values()))
        clip = min(1.0, 1.0 / (norm + 1e-6))
        self.steps += 1
        rate = self.rate / (1 - beta1**self.steps)
        correction = math.sqrt(1 - beta2**self.steps)
        for name, p in self.parameters.items():
            g, m, v = gradients[name] * clip, self.m[name], self.v[name]
            m *= beta1
            m += (1 - beta1) * g
            v *= beta2
            g *= g
            g *= 1 - beta2
            v += g
            if p.ndim > 1:
                p *= 1 - self.rate * self.decay
            np.sqrt(v, out=g)
            g /= correction
            g += 1e-8
            np.divide(m, g, out=g)
            g *= rate
            p -= g


def training_step(setting: Setting) -> Callable[[], float]:
    """The same as training_step of gpt.py."""
    parameters = parameters_for(setting)
    optimizer = Optimizer(parameters)
    idx, targets = batch_for(setting)

    def step() -> float:
        loss, gradients = loss_and_gradients(parameters, idx, targets, setting)
        optimizer.step(gradients)
        return loss

    return step
