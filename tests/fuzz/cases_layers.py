"""Further ops: attention, convolution, pooling, recurrent layers, and kernels outside of ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import Arg, Case, case, floats, maybe
from .values import Draw

# ------------------------------------------------------------------------------------------
# Attention
# ------------------------------------------------------------------------------------------


@case
def scaled_dot_product_attention(draw: Draw) -> Case:
    width, queries = draw.size(65, empty=False), draw.size(300, empty=False)
    keys = queries if draw.chance(0.5) else draw.size(300, empty=False)
    lead = tuple(draw.size(5, empty=False) for _ in range(draw.integer(0, 2)))
    value = width if draw.chance(0.7) else draw.size(33, empty=False)
    q, k = floats(draw, *lead, queries, width), floats(draw, *lead, keys, width)
    v = floats(draw, *lead, keys, value)
    for x in (q, k, v):
        # PyTorch lets NaN in a key pass to queries that may not attend to it, as 0·NaN is NaN;
        # the kernel does not look at later keys. And where infinite queries make all scores of a
        # row −inf, it takes that for a mask, and gives 0. Both may differ, so they are not drawn.
        np.nan_to_num(x.array, copy=False, nan=1.0, posinf=2.0, neginf=-2.0)
        # Nor are scores beyond float32, which are infinite in the one and NaN in the other.
        np.clip(x.array, -1e17, 1e17, out=x.array)
    kwargs: dict[str, Any] = {}
    if draw.chance(0.4):
        kwargs["is_causal"] = True
    elif draw.chance(0.5):
        shape = (queries, keys) if draw.chance(0.5) else (*lead, queries, keys)
        if draw.chance(0.5):
            kwargs["attn_mask"] = Arg(draw.rng.random(shape) < 0.7, False, False)
        else:
            kwargs["attn_mask"] = floats(draw, *shape, kind="normal")
            kwargs["attn_mask"].grad = draw.chance(0.3)
    if draw.chance(0.2):
        kwargs["scale"] = float(draw.choice((0.1, 1.0, 3.0)))
    return Case("scaled_dot_product_attention", (q, k, v), kwargs, max(queries, keys), finite=True)


# ------------------------------------------------------------------------------------------
# Windows over lines and pictures
# ------------------------------------------------------------------------------------------


def _windows(draw: Draw, dims: int) -> tuple[tuple, tuple, tuple, tuple]:
    """kernel, stride, padding and dilation"""
    return (
        tuple(draw.integer(1, 4) for _ in range(dims)),
        tuple(draw.integer(1, 3) for _ in range(dims)),
        tuple(draw.integer(0, 2) for _ in range(dims)),
        tuple(draw.integer(1, 2) for _ in range(dims)),
    )


def _image(draw: Draw, least: tuple) -> tuple:
    """Sizes of an image, no smaller than `least`."""
    return tuple(max(n, draw.size(65, empty=False)) for n in least)


def _reach(kernel: tuple, padding: tuple, dilation: tuple) -> tuple:
    """The least sizes of an image that hold one window."""
    windows = zip(kernel, padding, dilation)
    return tuple(max(1, d * (k - 1) + 1 - 2 * p) for k, p, d in windows)


@case
def convolution(draw: Draw) -> Case:
    dims = draw.integer(1, 2)
    kernel, stride, padding, dilation = _windows(draw, dims)
    groups = draw.integer(1, 3) if draw.chance(0.3) else 1
    samples, inner, outer = draw.size(17), draw.size(33, empty=False), draw.size(33, empty=False)
    x = floats(draw, samples, inner * groups, *_image(draw, _reach(kernel, padding, dilation)))
    w = floats(draw, outer * groups, inner, *kernel)
    args = x, w, maybe(draw, outer * groups), stride, padding, dilation, groups
    return Case(f"conv{dims}d", args, depth=max(x.array.size // inner, inner * 16, outer * 16))


@case
def conv_transpose(draw: Draw) -> Case:
    dims = draw.integer(1, 2)
    kernel, stride, _, dilation = _windows(draw, dims)
    groups = draw.integer(1, 3) if draw.chance(0.3) else 1
    samples, inner, outer = draw.size(9), draw.size(33, empty=False), draw.size(17, empty=False)
    x = floats(draw, samples, inner * groups, *_image(draw, (1,) * dims))
    w = floats(draw, inner * groups, outer, *kernel)
    extra = tuple(draw.integer(0, max(s, d) - 1) for s, d in zip(stride, dilation))
    args = x, w, maybe(draw, outer * groups), stride, 0, extra, groups, dilation
    depth = max(9 * x.array.size // inner, inner * 16, outer * 16)
    return Case(f"conv_transpose{dims}d", args, depth=depth)


@case
def max_pool(draw: Draw) -> Case:
    dims = draw.integer(1, 2)
    kernel, stride, _, dilation = _windows(draw, dims)
    padding = tuple(draw.integer(0, k // 2) for k in kernel)
    shape = draw.size(17), draw.size(17, empty=False)
    # Of a window that lies in the padding as a whole, PyTorch's backward writes beyond its memory.
    image = _image(draw, _reach(kernel, (0,) * dims, dilation))
    x = floats(draw, *shape, *image, smooth=False)
    return Case(f"max_pool{dims}d", (x, kernel, stride, padding, dilation, draw.chance(0.2)))


@case
def avg_pool(draw: Draw) -> Case:
    dims = draw.integer(1, 2)
    kernel, stride, _, _ = _windows(draw, dims)
    padding = tuple(draw.integer(0, k // 2) for k in kernel)
    shape = draw.size(17), draw.size(17, empty=False)
    x = floats(draw, *shape, *_image(draw, _reach(kernel, padding, (1,) * dims)))
    return Case(
        f"avg_pool{dims}d", (x, kernel, stride, padding, draw.chance(0.2), draw.chance(0.5))
    )


def _adaptive(name: str, smooth: bool, draw: Draw) -> Case:
    dims = draw.integer(1, 2)
    shape = draw.size(17), draw.size(17, empty=False)
    image = _image(draw, (1,) * dims)
    output = tuple(draw.integer(1, max(2, n)) for n in image)
    x = floats(draw, *shape, *image, smooth=smooth)
    if not smooth:
        # Of several NaN in one window PyTorch takes the last, and here the first has the gradient.
        np.nan_to_num(x.array, copy=False, posinf=np.inf, neginf=-np.inf)
    return Case(f"{name}{dims}d", (x, output[0] if dims == 1 else output))


@case
def adaptive_avg_pool(draw: Draw) -> Case:
    return _adaptive("adaptive_avg_pool", True, draw)


@case
def adaptive_max_pool(draw: Draw) -> Case:
    return _adaptive("adaptive_max_pool", False, draw)


# ------------------------------------------------------------------------------------------
# Sequences
# ------------------------------------------------------------------------------------------


def _recurrent(draw: Draw, gates: int) -> tuple:
    """x (T, N, in), h (N, H), w_ih, w_hh and the number of gates times H"""
    size, inputs = draw.size(65, empty=False), draw.size(65, empty=False)
    samples, steps = draw.size(33, empty=False), draw.size(17, empty=False)
    x, h = floats(draw, steps, samples, inputs), floats(draw, samples, size)
    w_ih, w_hh = floats(draw, gates * size, inputs), floats(draw, gates * size, size)
    for tensor in (x, h):
        # Larger ones shut or open every gate, or overflow in an RNN with relu. Where they cancel,
        # the last digit decides which.
        tensor.array = np.clip(tensor.array, -1e4, 1e4)
    for w in (w_ih, w_hh):
        # Large weights make a chaotic system: the last digit of a state decides all later ones.
        w.array = np.clip(w.array, -4, 4) / np.sqrt(w.array.shape[1])
    return x, h, w_ih, w_hh, gates * size


def _depth(x: Arg, w_hh: Arg) -> int:
    return max(x.array.shape[0] * x.array.shape[1], *w_hh.array.shape)


@case
def lstm_sequence(draw: Draw) -> Case:
    x, h, w_ih, w_hh, size = _recurrent(draw, 4)
    return Case(
        "lstm_sequence", (x, h, floats(draw, *h.array.shape), w_ih, w_hh, maybe(draw, size))
    )


@case
def gru_sequence(draw: Draw) -> Case:
    x, h, w_ih, w_hh, size = _recurrent(draw, 3)
    return Case(
        "gru_sequence",
        (x, h, w_ih, w_hh, maybe(draw, size), maybe(draw, size)),
        depth=_depth(x, w_hh),
    )


@case
def rnn_sequence(draw: Draw) -> Case:
    x, h, w_ih, w_hh, size = _recurrent(draw, 1)
    nonlinearity = draw.choice(("tanh", "relu"))
    if nonlinearity == "relu":
        for arg in (x, h, w_ih, w_hh):
            arg.smooth = False
    bias = maybe(draw, size)
    if nonlinearity == "relu" and bias is not None:
        # As x and h: once a state overflows, the order of a sum decides which are NaN.
        bias.array = np.clip(bias.array, -1e4, 1e4)
    args = x, h, w_ih, w_hh, bias, nonlinearity
    return Case("rnn_sequence", args, depth=_depth(x, w_hh))


@case
def selective_scan(draw: Draw) -> Case:
    states, channels = draw.size(33, empty=False), draw.size(65, empty=False)
    samples, steps = draw.size(5, empty=False), draw.size(17, empty=False)
    u = floats(draw, samples, channels, steps)
    delta = Arg(draw.rng.uniform(0.01, 1, u.array.shape), True)
    A = Arg(draw.rng.uniform(-3, -0.01, (channels, states)), True)
    B, C = (floats(draw, samples, states, steps) for _ in range(2))
    for x in (u, B, C):
        # Of λ·B·u, with u near 0, the first product may overflow, and the result not.
        x.array = np.clip(x.array, -1e12, 1e12)
    return Case("selective_scan", (u, delta, A, B, C), {"return_last_state": True})


# ------------------------------------------------------------------------------------------
# Kernels outside of ops
# ------------------------------------------------------------------------------------------


@case
def decode(draw: Draw) -> Case:
    """One more token through a block of a GPT, with the keys and values of those before it."""
    heads, depth, samples = draw.integer(1, 4), draw.size(33, empty=False), draw.integer(1, 4)
    length, width = draw.size(65, empty=False), heads * depth
    cache = [floats(draw, samples, heads, length, depth, grad=False) for _ in range(2)]
    shapes = [(width,), (3 * width, width), (width, width), (width,)]
    shapes += [(4 * width, width), (width, 4 * width)]
    x = floats(draw, samples, width, grad=False)
    for tensor in (x, *cache):
        tensor.array = np.clip(tensor.array, -1e6, 1e6)  # squares are to stay within float32
    layers: list = []
    for shape in shapes:
        weight = floats(draw, *shape, grad=False)
        weight.array = np.clip(weight.array, -1e3, 1e3) / np.sqrt(width)
        bias = floats(draw, shape[0], grad=False) if draw.chance(0.5) else None
        if bias is not None:
            bias.array = np.clip(bias.array, -1e6, 1e6)
        layers += [weight, bias]
    return Case("decode", (x, *cache, *layers), depth=4 * width)


@case
def clip_grad_norm(draw: Draw) -> Case:
    count = draw.integer(1, 3)
    shapes = [(draw.size(), draw.size(129)) for _ in range(count)]
    gradients = [floats(draw, *shape, grad=False) for shape in shapes]
    return Case("clip_grad_norm", (float(draw.choice((0.1, 1.0, 100.0))), *gradients))


@case
def adam(draw: Draw) -> Case:
    """Three steps of Adam or AdamW; the optimisers' tests have its options and extremes."""
    shape = draw.size(), draw.size(129)
    tensors = [floats(draw, *shape, kind=str(draw.choice(("normal", "large", "tiny"))), grad=False)
               for _ in range(4)]  # fmt: skip
    return Case("adam", (draw.chance(0.5), *tensors))
