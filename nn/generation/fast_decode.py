"""Fast path for decoding one token in a GPT block; `Block.forward` is the readable version."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinytensor.autograd.mode import state
from tinytensor.autograd.variable import wrap
from tinytensor.kernels.machinery.route import fast_version, fits_kernel
from tinytensor.tensor import Tensor
from tinytensor.utils.attention_capture import capturing

from ..linear import Linear
from ..module import Module
from ..module_hooks import everywhere
from ..norm import LayerNorm
from .kv_cache import LayerCache

MOST_ROWS = 8  # with more sequences, the products are large enough for the ordinary ops
_NONE = np.empty(0, dtype=np.float32)  # stands for no bias


def fast_decode(block: Any, x: Tensor, cache: LayerCache) -> Tensor | None:
    """The block's output for one more token x (N, 1, C), whose key and value go into the cache.

    Returns None, and changes nothing, without a suitable kernel or where the result could differ:
    with gradients, hooks, dropout or recordings on, or with other modules in the block.
    """
    rows, tokens, width = x.shape
    attn, mlp = block.attn, block.mlp
    layers = [block.norm1, attn.qkv, attn.proj, block.norm2, mlp.fc, mlp.proj]
    keys, values = cache.keys.array, cache.values.array
    if (
        tokens != 1
        or not 0 < rows <= MOST_ROWS
        or not cache.length < keys.shape[2]
        or rows != keys.shape[0]
        or attn.rotary is not None
        or state.mode.grad
        or state.mode.watched
        or capturing()
        or block.training
        or everywhere.active
        or any(type(m) not in (LayerNorm, Linear) or m._hooks is not None for m in layers)
        or any(m._hooks is not None for m in (attn, attn.drop, mlp, mlp.drop))
    ):
        return None
    parameters = [_parameters(layer) for layer in layers]
    weights = [weight for weight, _ in parameters]
    if not fits_kernel(x.array, keys, values, *weights, written=False):
        return None
    kernel = fast_version("decode_block", "decode_block", weights[1:2], written=False)
    if kernel is None:
        return None
    y = x.array.reshape(rows, width).copy()  # (N, 1, C) → (N, C)
    eps = np.float32(block.norm1.eps), np.float32(block.norm2.eps)
    kernel(y, *parameters, eps, keys, values, cache.length)
    cache.length += 1
    return wrap(y.reshape(rows, 1, width))  # (N, C) → (N, 1, C)


def _parameters(layer: Module) -> tuple[Any, Any]:
    """Return (weight, bias); the bias is an empty array if there is none."""
    weight, bias = layer._parameters.get("weight"), layer._parameters.get("bias")
    return getattr(weight, "array", None), _NONE if bias is None else bias.array


__all__ = ["fast_decode"]
