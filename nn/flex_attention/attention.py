"""flex_attention: softmax(score_mod(q·kᵀ·scale))·v, written out with ordinary ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

import tinytensor as tt
from tinytensor import Tensor

from .block_mask import BlockMask, index_tensors


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's kernels for GPUs, which have no effect."""

    BLOCK_M: int
    BLOCK_N: int
    num_warps: int
    num_stages: int
    BACKEND: str


class AuxRequest(NamedTuple):
    """What flex_attention returns beside its output: lse, max_scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """lse, max_scores: (B, H, L), or None if not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: Any = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """softmax(score_mod(q·kᵀ·scale))·v over the pairs that the block mask keeps.

    query (B, H, L, E), key (B, H, S, E), value (B, H, S, D) → (B, H, L, D)

    score_mod(score, b, h, q_idx, kv_idx) is called once with all scores, (B, H, L, S), and index
    tensors that broadcast with them. Gradients flow through it, also to tensors that it uses.
    scale: 1/√E by default. enable_gqa: key and value have fewer heads, each for several of the
    query's. A row of which the mask keeps nothing gives zeros.

    return_aux: also an AuxOutput with the logarithm of the softmax's denominator (lse) and the
    largest score of each row. return_lse=True, which is older: (output, lse).
    """
    _check(query, key, value, enable_gqa)
    batch, heads, length, width = query.shape
    if enable_gqa and key.shape[1] != heads:
        repeats = heads // key.shape[1]
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    scores = query @ key.transpose(-2, -1)
    if scores.dtype != tt.float64:
        scores = scores.to(tt.float32)
    scores = scores * (1 / math.sqrt(width) if scale is None else scale)
    if score_mod is not None:
        scores = score_mod(scores, *index_tensors(tuple(scores.shape), scores.device))
    if block_mask is not None:
        _check_lengths(block_mask, length, key.shape[-2])
        kept = block_mask.kept(batch, heads).to(scores.device)
        scores = scores.masked_fill(~kept, -math.inf)
    nothing = (scores.detach() == -math.inf).all(-1, keepdim=True)  # (B, H, L, 1)
    weights = tt.softmax(scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)
    output = weights.to(query.dtype) @ value
    if return_aux is None and not return_lse:
        return output
    lse = tt.logsumexp(scores.masked_fill(nothing, 0.0), -1)
    lse = lse.masked_fill(nothing.squeeze(-1), -math.inf)
    if return_aux is None:
        return output, lse
    return output, AuxOutput(
        lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None
    )


def _check(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    shapes = [tuple(x.shape) for x in (query, key, value)]
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            f"flex_attention: got dtypes {query.dtype}, {key.dtype} and {value.dtype}, expected "
            "one dtype"
        )
    if any(len(shape) != 4 for shape in shapes):
        raise NotImplementedError(
            f"flex_attention: got query, key and value of shapes {shapes}, expected (B, H, L, E)"
        )
    if query.shape[-1] != key.shape[-1] or key.shape[:3] != value.shape[:3]:
        raise ValueError(
            f"flex_attention: got query, key and value of shapes {shapes}, expected (B, H, L, E), "
            "(B, H, S, E) and (B, H, S, D)"
        )
    heads, key_heads = query.shape[1], key.shape[1]
    if heads != key_heads and not enable_gqa:
        raise ValueError(
            f"flex_attention: got {heads} heads of queries and {key_heads} of keys; pass "
            "enable_gqa=True to share keys"
        )
    if heads % key_heads:
        raise ValueError(
            f"flex_attention: got {heads} heads of queries and {key_heads} of keys, expected a "
            "multiple"
        )
    if query.shape[0] != key.shape[0] and key.shape[0] != 1:
        raise ValueError(
            f"flex_attention: got batches of {query.shape[0]} queries and {key.shape[0]} keys"
        )


def _check_lengths(block_mask: BlockMask, length: int, keys: int) -> None:
    if block_mask.seq_lengths != (length, keys):
        raise ValueError(
            f"flex_attention: the block_mask was created for lengths {block_mask.seq_lengths}, "
            f"but there are {length} queries and {keys} keys; create one for these"
        )


__all__ = ["AuxOutput", "AuxRequest", "FlexKernelOptions", "flex_attention"]
