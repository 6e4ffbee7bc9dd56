"""PyTorch's version of an op: its own function, or what the op stands for in PyTorch's words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def masked_scale(x: Any, mask: Any, scale: float) -> Any:
    return x * mask * scale


def lstm_sequence(x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b: Any = None) -> tuple:
    biases = [] if b is None else [b, torch.zeros_like(b)]
    y, _, last = torch.lstm(
        x, (h[None], c[None]), [w_ih, w_hh, *biases], b is not None, 1, 0.0, True, False, False
    )
    return y, last[0]


def gru_sequence(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    none = b_ih is None and b_hh is None
    zeros = torch.zeros(w_ih.shape[0], dtype=x.dtype)
    biases = [] if none else [zeros if b is None else b for b in (b_ih, b_hh)]
    return torch.gru(x, h[None], [w_ih, w_hh, *biases], not none, 1, 0.0, True, False, False)[0]


def rnn_sequence(x: Any, h: Any, w_ih: Any, w_hh: Any, b: Any = None, nonlinearity: str = "tanh"
                 ) -> Any:  # fmt: skip
    biases = [] if b is None else [b, torch.zeros_like(b)]
    run = torch.rnn_tanh if nonlinearity == "tanh" else torch.rnn_relu
    return run(x, h[None], [w_ih, w_hh, *biases], b is not None, 1, 0.0, True, False, False)[0]


def selective_scan(u: Any, delta: Any, A: Any, B: Any, C: Any, return_last_state: bool) -> tuple:
    """hₜ = exp(Δₜ·A)·hₜ₋₁ + Δₜ·Bₜ·uₜ,  yₜ = Cₜ·hₜ, one step after the other."""
    h, outputs = torch.zeros((*u.shape[:2], A.shape[1]), dtype=u.dtype), []
    for t in range(u.shape[2]):
        d = delta[:, :, t, None]
        h = torch.exp(d * A) * h + d * u[:, :, t, None] * B[:, None, :, t]
        outputs.append((h * C[:, None, :, t]).sum(-1))
    return torch.stack(outputs, 2), h


def decode(x: Any, keys: Any, values: Any, *layers: Any) -> tuple:
    """One more token through a block of a GPT: x + attention(norm x), x + mlp(norm x)."""
    norm1, b1, qkv, b_qkv, proj, b_proj, norm2, b2, fc, b_fc, out, b_out = layers
    samples, heads, _, depth = keys.shape
    three = F.linear(F.layer_norm(x, x.shape[1:], norm1, b1), qkv, b_qkv)
    q, k, v = three.reshape(samples, 3, heads, 1, depth).unbind(1)
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    weights = torch.softmax(q @ keys.mT / math.sqrt(depth), -1)
    x = x + F.linear((weights @ values).reshape(x.shape), proj, b_proj)
    inner = F.gelu(F.linear(F.layer_norm(x, x.shape[1:], norm2, b2), fc, b_fc), approximate="tanh")
    return x + F.linear(inner, out, b_out), k[:, :, 0], v[:, :, 0]


def clip_grad_norm(most: float, *gradients: Any) -> list:
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, g in zip(parameters, gradients):
        parameter.grad = g.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, most)
    return [norm, *(p.grad for p in parameters)]


def adam(decoupled: bool, start: Any, *gradients: Any) -> Any:
    parameter = torch.nn.Parameter(start.clone())
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    optimizer = kind([parameter], lr=0.01, weight_decay=0.1, foreach=False)
    for g in gradients:
        parameter.grad = g.clone()
        optimizer.step()
    return parameter.detach()


def theirs(name: str) -> Callable:
    """PyTorch's version of the op."""
    if name in globals() and not hasattr(F, name):
        return globals()[name]
    return getattr(F, name) if hasattr(F, name) else getattr(torch, name)


def exact_gelu(x: Any, approximate: str) -> Any:
    """PyTorch's own is 0 far below 0, also in float64, where 1 + erf x and 1 + tanh x are 0."""
    if approximate == "tanh":
        return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    return x * 0.5 * torch.erfc(-x * math.sqrt(0.5))


def exact_scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
    """PyTorch's own takes exp(score − logarithm of the sum) in backward, also in float64.

    For large scores that overflows.
    """
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return F.scaled_dot_product_attention(*args, **kwargs)


def exact_layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """PyTorch's own takes a variance above 0 for equal numbers beyond 1e15, also in float64."""
    axes = tuple(range(-len(shape), 0))
    centered = x - x.mean(axes, keepdim=True)
    y = centered * (centered.square().mean(axes, keepdim=True) + eps).rsqrt()
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def exact_group_norm(x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
    """As exact_layer_norm, over the channels of each group and their positions."""
    lines = x.reshape(x.shape[0], groups, -1)  # (N, C, …) → (N, G, C/G·positions)
    y = exact_layer_norm(lines, lines.shape[2:], None, None, eps).reshape(x.shape)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def exact_instance_norm(x: Any, mean: Any, variance: Any, weight: Any, bias: Any, own: bool,
                        momentum: float, eps: float) -> Any:  # fmt: skip
    return exact_group_norm(x, x.shape[1], weight, bias, eps)


def exact(name: str) -> Callable:
    """The version taken for the truth, in float64."""
    return globals().get(f"exact_{name}") or theirs(name)
