"""Flags for products and attention on a GPU, which always run in full precision here.

The flags are stored, so that code which reads them back finds what it set; no op asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="ieee",
)

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    return True


def flash_sdp_enabled() -> bool:
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    _attention["cudnn"] = bool(enabled)


def is_flash_attention_available() -> bool:
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, Any]]:
    """Set the four flags inside the block; attention is computed the same way."""
    before = dict(_attention)
    _attention.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield {}
    finally:
        _attention.update(before)
