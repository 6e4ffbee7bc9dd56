"""tinytensor's version of a case: the function of its name, or a kernel that is no op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nn
import tinytensor as tt
from nn.generation.fast_decode import fast_decode
from nn.generation.kv_cache import LayerCache


def decode(x: Any, keys: Any, values: Any, *layers: Any) -> tuple:
    """One more token through a block: the kernel, or the block itself where that declines."""
    (samples, heads, length, depth), width = keys.shape, x.shape[1]
    config = nn.GPTConfig(1, length + 1, 1, heads, width)
    block = nn.GPT(config).blocks[0].eval().to(x.dtype)
    attn, mlp = block.attn, block.mlp
    order = block.norm1, attn.qkv, attn.proj, block.norm2, mlp.fc, mlp.proj
    for module, weight, bias in zip(order, layers[::2], layers[1::2]):
        module.weight = nn.Parameter(weight.contiguous())
        module.bias = None if bias is None else nn.Parameter(bias.contiguous())
    cache = LayerCache((samples, heads, length + 1, depth), dtype=x.dtype)
    with tt.no_grad():
        cache.extend(keys, values)
        y = fast_decode(block, x[:, None].contiguous(), cache)
        if y is None:
            y = block(x[:, None], cache=cache)
    return y[:, 0], cache.keys[:, :, -1], cache.values[:, :, -1]


def clip_grad_norm(most: float, *gradients: Any) -> list:
    parameters = [nn.Parameter(tt.zeros_like(g)) for g in gradients]
    for parameter, g in zip(parameters, gradients):
        parameter.grad = g.clone()
    norm = nn.utils.clip_grad_norm_(parameters, most)
    return [norm, *(p.grad for p in parameters)]


def adam(decoupled: bool, start: Any, *gradients: Any) -> Any:
    parameter = nn.Parameter(start.clone())
    kind = tt.optim.AdamW if decoupled else tt.optim.Adam
    optimizer = kind([parameter], lr=0.01, weight_decay=0.1)
    for g in gradients:
        parameter.grad = g.clone()
        optimizer.step()
    return parameter.detach()


def ours(name: str) -> Callable:
    return globals()[name] if name in ("decode", "clip_grad_norm", "adam") else getattr(tt, name)
