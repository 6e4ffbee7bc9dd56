"""The GPT of gpt.py for autograd and MyGrad, which have NumPy's functions but no layers.

`xp` is `autograd.numpy` or `mygrad`; parameters, clipping and AdamW are those of gpt_numpy.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from gpt import Setting
from gpt_numpy import EPSILON, Arrays, Optimizer, batch_for, parameters_for


def norm(xp: Any, x: Any, weight: Any) -> Any:
    """w·(x − mean) / √(variance + ε)"""
    centered = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centered * centered, axis=-1, keepdims=True)
    return centered / xp.sqrt(variance + EPSILON) * weight


def attention(xp: Any, x: Any, qkv_weight: Any, mask: np.ndarray, heads: int) -> Any:
    """softmax(Q·Kᵀ/√D + mask)·V of x (N, T, C), heads joined."""
    n, t, c = x.shape
    joined = xp.matmul(x, qkv_weight.T)  # (N, T, 3·C)
    q, k, v = (
        # (N, T, C) → (N, T, H, D) → (N, H, T, D)
        xp.swapaxes(xp.reshape(joined[:, :, i * c : (i + 1) * c], (n, t, heads, -1)), 1, 2)
        for i in range(3)
    )
    scores = xp.matmul(q, xp.swapaxes(k, 2, 3)) * (1 / math.sqrt(c // heads)) + mask
    weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    y = xp.matmul(weights, v)
    return xp.reshape(xp.swapaxes(y, 1, 2), (n, t, c))  # (N, H, T, D) → (N, T, H, D) → (N, T, C)


def gelu(xp: Any, x: Any) -> Any:
    """½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))"""
    return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def loss_of(xp: Any, p: Any, idx: np.ndarray, targets: np.ndarray, setting: Setting) -> Any:
    """The mean cross entropy."""
    length = setting.context
    mask = np.triu(np.full((length, length), -1e9, dtype=np.float32), 1)
    x = p["tokens.weight"][idx] + p["positions.weight"]  # (N, T, C)
    for i in range(setting.layers):
        block = f"blocks.{i}."
        n = norm(xp, x, p[block + "norm1.weight"])
        y = attention(xp, n, p[block + "attention.qkv.weight"], mask, setting.heads)
        x = x + xp.matmul(y, p[block + "attention.proj.weight"].T)
        a = gelu(xp, xp.matmul(norm(xp, x, p[block + "norm2.weight"]), p[block + "fc.weight"].T))
        x = x + xp.matmul(a, p[block + "proj.weight"].T)
    logits = xp.matmul(norm(xp, x, p["norm.weight"]), p["tokens.weight"].T)
    logits = xp.reshape(logits, (idx.size, -1))  # (N, T, V) → (N·T, V)
    logits = logits - xp.max(logits, axis=-1, keepdims=True)
    picked = logits[np.arange(idx.size), targets.reshape(-1)]
    return xp.mean(xp.log(xp.sum(xp.exp(logits), axis=-1)) - picked)


def with_autograd(p: Arrays, *batch: Any) -> tuple[float, Arrays]:
    """The loss and its gradients, by autograd."""
    import autograd
    import autograd.numpy as xp

    loss, gradients = autograd.value_and_grad(lambda p: loss_of(xp, p, *batch))(p)
    return float(loss), gradients


def with_mygrad(p: Arrays, *batch: Any) -> tuple[float, Arrays]:
    """The loss and its gradients, by MyGrad."""
    import mygrad

    tensors = {name: mygrad.tensor(array, copy=False) for name, array in p.items()}
    loss = loss_of(mygrad, tensors, *batch)
    loss.backward()
    return loss.item(), {name: tensor.grad for name, tensor in tensors.items()}


def training_step(gradients_of: Callable, setting: Setting) -> Callable[[], float]:
    """The same as training_step of gpt.py, with one of the two functions above."""
    parameters = parameters_for(setting)
    optimizer = Optimizer(parameters)
    idx, targets = batch_for(setting)

    def step() -> float:
        loss, gradients = gradients_of(parameters, idx, targets, setting)
        optimizer.step(gradients)
        return loss

    return step
