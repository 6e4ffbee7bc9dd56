"""Masks for attention: which keys may not be attended to.

Boolean masks are PyTorch's module masks: True means "may not be attended to". (The function
`F.scaled_dot_product_attention` uses the opposite convention, as in PyTorch.)
"""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor


def padding_mask(x: Tensor, pad: int | None = None, max_length: int | None = None) -> Tensor:
    """True where there is padding, (N, S): the `key_padding_mask` of attention modules.

    With pad, x holds token ids of any shape, and the mask is x == pad. Without it, x (N,) holds
    the length of each sequence, and S is max_length, by default the longest.
    """
    if pad is not None:
        return x == pad
    if x.ndim != 1:
        raise ShapeError(
            f"padding_mask: x has shape {tuple(x.shape)}, expected the lengths (N,) of N "
            "sequences; for token ids give pad= as well"
        )
    longest = int(x.max()) if max_length is None else max_length
    return tt.arange(longest, device=x.device) >= x[:, None]


def look_ahead_mask(size: int, device: Any = None) -> Tensor:
    """True above the diagonal, (size, size): position i may not attend to those after it."""
    return tt.ones(size, size, dtype=tt.bool, device=device).triu(1)


def combined_mask(padding: Tensor, look_ahead: Tensor, num_heads: int | None = None) -> Tensor:
    """True where padding (N, S) or look_ahead (L, S) is True: (N, L, S).

    With num_heads, repeated for each head, (N·num_heads, L, S): a 3-D `attn_mask`.
    """
    combined = padding[:, None, :] | look_ahead  # (N, 1, S) | (L, S) → (N, L, S)
    if num_heads is None:
        return combined
    return combined.repeat_interleave(num_heads, dim=0)


def as_bias(mask: Tensor, name: str, like: Tensor) -> Tensor:
    """A mask as numbers to add to the scores: a boolean one becomes −inf where True, else 0."""
    if mask.is_floating_point():
        return mask
    if mask.dtype != tt.bool:
        raise AssertionError(
            f"{name}: got a mask of {mask.dtype}, expected bool (True: may not be attended to) or "
            "floating point (added to the scores)"
        )
    return tt.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(mask, -math.inf)


__all__ = ["combined_mask", "look_ahead_mask", "padding_mask"]
