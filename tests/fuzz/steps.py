"""Ops step by step in float64, with a random rounding error after each step, in both directions.

They say how large an error has to be granted where terms of the rule cancel: a change of the
inputs does not show it if the result does not depend on them (the gradient of a layer norm over one
number is 0, whatever the number). Ops without such terms need no version here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class Rounding:
    """x ↦ x + unit·r·x + least·r, and its gradient likewise, with random r of standard deviation 1.

    (Normal numbers, as two random signs would often cancel.) The result is a number of `dtype`, of
    which two may be equal.

    least: the least normal number, as what is below may become 0.
    forward: whether values are changed, or gradients only. A row of equal numbers, for one, has a
    mean without an error; with one, its variance would not be 0, and its gradient far smaller.
    """

    forward = True

    def __init__(self, dtype: type, unit: float, least: float, rng: np.random.Generator):
        self.dtype, self.unit, self.least = dtype, unit, least
        self.generator = torch.Generator().manual_seed(int(rng.integers(2**31)))

    def noise(self, x: Any) -> Any:
        r = torch.randn(x.shape, generator=self.generator, dtype=x.dtype)
        y = x * (1 + self.unit * r) + self.least * r
        if self.dtype is np.float32:
            rounded = y.float().double()
            y = torch.where(rounded.isinf(), y, rounded)
        return y

    def __call__(self, x: Any) -> Any:
        return _Rounded.apply(x, self)

    def sigmoid(self, x: Any) -> Any:
        """σ(x), whose gradient g·y·(1 − y) is taken from the rounded y."""
        return _Squashed.apply(self(x), torch.sigmoid, lambda y: y * (1 - y), self)

    def tanh(self, x: Any) -> Any:
        """tanh x, whose gradient g·(1 − y²) is taken from the rounded y."""
        return _Squashed.apply(self(x), torch.tanh, lambda y: 1 - y * y, self)


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, rounding: Rounding) -> Any:
        ctx.rounding = rounding
        return rounding.noise(x) if rounding.forward else x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.rounding.noise(g), None


class _Squashed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, function: Callable, slope: Callable, rounding: Rounding) -> Any:
        y = rounding.noise(function(x)) if rounding.forward else function(x)
        ctx.slope, ctx.rounding = rounding.noise(slope(y)), rounding
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.rounding.noise(g * ctx.slope), None, None, None


class _Softmax(torch.autograd.Function):
    """y = softmax x;  dx = y·(g − Σ g·y), from the rounded y, which may have become 0."""

    @staticmethod
    def forward(ctx: Any, x: Any, dim: int, rounding: Rounding) -> Any:
        exact = torch.softmax(x, dim)
        ctx.y, ctx.dim, ctx.rounding = rounding.noise(exact), dim, rounding
        return ctx.y if rounding.forward else exact

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        y, r = ctx.y, ctx.rounding.noise
        return r(y * r(g - r(r(g * y).sum(ctx.dim, keepdim=True)))), None, None


class _LogSoftmax(torch.autograd.Function):
    """y = x − max x − log Σ exp(x − max x);  dx = g − eʸ·Σ g, from the rounded y and eʸ."""

    @staticmethod
    def forward(ctx: Any, x: Any, dim: int, rounding: Rounding) -> Any:
        r = rounding.noise if rounding.forward else lambda x: x
        shifted = r(x - x.amax(dim, keepdim=True))
        y = r(shifted - r(torch.log(r(r(torch.exp(shifted)).sum(dim, keepdim=True)))))
        ctx.p, ctx.dim, ctx.rounding = rounding.noise(torch.exp(y)), dim, rounding
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        r = ctx.rounding.noise
        return r(g - r(ctx.p * r(g.sum(ctx.dim, keepdim=True)))), None, None


# ------------------------------------------------------------------------------------------
# Softmax and losses
# ------------------------------------------------------------------------------------------


def softmax(r: Rounding, x: Any, dim: int) -> Any:
    return _Softmax.apply(r(x), dim, r)


def log_softmax(r: Rounding, x: Any, dim: int) -> Any:
    return _LogSoftmax.apply(r(x), dim, r)


def cross_entropy(r: Rounding, x: Any, target: Any, weight: Any = None, reduction: str = "mean",
                  ignore_index: int = -100, label_smoothing: float = 0.0) -> Any:  # fmt: skip
    p = log_softmax(r, x, 1)
    counts = (target != ignore_index).to(x.dtype)
    chosen = torch.where(target == ignore_index, 0, target)[:, None]
    w = torch.ones(x.shape[1], dtype=x.dtype) if weight is None else weight
    pull = w[chosen[:, 0]] * counts
    shape = (-1,) + (1,) * (x.ndim - 2)
    even = r(r(r(p) * w.reshape(shape)).sum(1)) * counts / x.shape[1]
    own = r(r(p).gather(1, chosen)[:, 0] * pull)
    loss = -r(r((1 - label_smoothing) * own) + r(label_smoothing * even))
    if reduction == "none":
        return loss
    return r(r(loss).sum()) / (pull.sum() if reduction == "mean" else 1)


# ------------------------------------------------------------------------------------------
# Norms
# ------------------------------------------------------------------------------------------


def _normalized(r: Rounding, c: Any, axes: tuple, eps: float) -> Any:
    """c / √(mean c² + eps)"""
    square = r(r(r(c) * r(c)).mean(axes, keepdim=True))
    return r(r(c) * r((square + eps).rsqrt()))


def _centered(r: Rounding, x: Any, axes: tuple) -> Any:
    return r(r(x) - r(r(x).mean(axes, keepdim=True)))


def _scaled(r: Rounding, n: Any, w: Any, b: Any) -> Any:
    y = n if w is None else r(r(n) * r(w))
    return y if b is None else r(r(y) + r(b))


def layer_norm(r: Rounding, x: Any, shape: tuple, w: Any, b: Any, eps: float) -> Any:
    axes = tuple(range(-len(shape), 0))
    return _scaled(r, _normalized(r, _centered(r, x, axes), axes, eps), w, b)


def rms_norm(r: Rounding, x: Any, shape: tuple, w: Any, eps: float) -> Any:
    return _scaled(r, _normalized(r, x, tuple(range(-len(shape), 0)), eps), w, None)


def batch_norm(r: Rounding, x: Any, mean: Any, variance: Any, w: Any, b: Any, training: bool,
               momentum: float, eps: float) -> Any:  # fmt: skip
    axes, shape = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    w, b = (None if p is None else p.reshape(shape) for p in (w, b))
    if training:
        return _scaled(r, _normalized(r, _centered(r, x, axes), axes, eps), w, b)
    scale = r((variance.reshape(shape) + eps).rsqrt())
    return _scaled(r, r(r(r(x) * scale) - r(mean.reshape(shape) * scale)), w, b)


def group_norm(r: Rounding, x: Any, groups: int, w: Any, b: Any, eps: float) -> Any:
    lines = x.reshape(x.shape[0], groups, -1)  # (N, C, …) → (N, G, C/G·positions)
    n = _normalized(r, _centered(r, lines, (2,)), (2,), eps).reshape(x.shape)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return _scaled(r, n, *(None if p is None else p.reshape(shape) for p in (w, b)))


def instance_norm(r: Rounding, x: Any, mean: Any, variance: Any, w: Any, b: Any, own: bool,
                  momentum: float, eps: float) -> Any:  # fmt: skip
    return group_norm(r, x, x.shape[1], w, b, eps)


# ------------------------------------------------------------------------------------------
# Activations
# ------------------------------------------------------------------------------------------


def gelu(r: Rounding, x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        cubic = r(r(x) * r(0.044715 * x * x))
        below = r.sigmoid(2 * math.sqrt(2 / math.pi) * (r(x) + cubic))
        return r(r(x) * below)
    return r(r(x) * r(0.5 * r(torch.erf(r(x * math.sqrt(0.5)))) + 0.5))


def silu(r: Rounding, x: Any) -> Any:
    return r(r(x) * r.sigmoid(x))


# ------------------------------------------------------------------------------------------
# Attention and recurrent layers
# ------------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    r: Rounding, q: Any, k: Any, v: Any, attn_mask: Any = None, is_causal: bool = False,
    scale: float | None = None,
) -> Any:  # fmt: skip
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    s = r(r(q) @ r(k).mT * scale)
    hidden = torch.zeros(s.shape[-2:], dtype=torch.bool)
    if is_causal:
        hidden = torch.ones_like(hidden).triu(1)
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        hidden = ~attn_mask
    elif attn_mask is not None:
        s = r(s + attn_mask)
    s = s.masked_fill(hidden, -math.inf)
    a = softmax(r, s, -1).masked_fill(hidden.all(-1, keepdim=True), 0)
    return r(r(a) @ r(v))


def _gates(r: Rounding, z: Any, count: int) -> list:
    return [r(part) for part in z.chunk(count, -1)]


def _product(r: Rounding, x: Any, w: Any, b: Any = None) -> Any:
    return r(torch.nn.functional.linear(r(x), r(w), None if b is None else r(b)))


def lstm_sequence(r: Rounding, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b: Any) -> tuple:
    outputs = []
    for xt in x:
        i, f, g, o = _gates(r, r(_product(r, xt, w_ih, b) + _product(r, h, w_hh)), 4)
        i, f, g, o = r.sigmoid(i), r.sigmoid(f), r.tanh(g), r.sigmoid(o)
        c = r(r(f * r(c)) + r(i * g))
        h = r(o * r.tanh(c))
        outputs.append(h)
    return torch.stack(outputs), c


def gru_sequence(r: Rounding, x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    outputs = []
    for xt in x:
        zr, zu, zn = _gates(r, _product(r, xt, w_ih, b_ih), 3)
        sr, su, sn = _gates(r, _product(r, h, w_hh, b_hh), 3)
        reset, update = r.sigmoid(zr + sr), r.sigmoid(zu + su)
        n = r.tanh(zn + r(reset * sn))
        h = r(r(r(1 - update) * n) + r(update * r(h)))
        outputs.append(h)
    return torch.stack(outputs)


def rnn_sequence(r: Rounding, x: Any, h: Any, w_ih: Any, w_hh: Any, b: Any, nonlinearity: str
                 ) -> Any:  # fmt: skip
    outputs = []
    for xt in x:
        z = r(_product(r, xt, w_ih, b) + _product(r, h, w_hh))
        h = r.tanh(z) if nonlinearity == "tanh" else z.relu()
        outputs.append(h)
    return torch.stack(outputs)


def selective_scan(r: Rounding, u: Any, delta: Any, A: Any, B: Any, C: Any, return_last_state: bool
                   ) -> tuple:  # fmt: skip
    h, outputs = torch.zeros((*u.shape[:2], A.shape[1]), dtype=u.dtype), []
    for t in range(u.shape[2]):
        d = r(delta[:, :, t, None])
        more = r(r(d * u[:, :, t, None]) * B[:, None, :, t])
        h = r(r(r(torch.exp(r(d * A))) * r(h)) + more)
        outputs.append(r(r(h * C[:, None, :, t]).sum(-1)))
    return torch.stack(outputs, 2), h


def adam(r: Rounding, decoupled: bool, p: Any, *gradients: Any) -> Any:
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    parameter = torch.nn.Parameter(p.clone())
    optimizer = kind([parameter], lr=0.01, weight_decay=0.1, foreach=False)
    for g in gradients:
        parameter.grad = r.noise(g)
        optimizer.step()
        parameter.data = r.noise(parameter.data)
    return parameter.detach()


def by_steps(name: str) -> Callable | None:
    """The version of an op in this file, if there is one."""
    found = globals().get(name)
    return found if getattr(found, "__module__", None) == __name__ else None
