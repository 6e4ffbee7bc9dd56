"""Flags for products and attention on a GPU, which always run in full precision here."""

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False)


def is_built() -> bool:
    return True


def enable_flash_sdp(enabled: bool) -> None:
    pass


def enable_mem_efficient_sdp(enabled: bool) -> None:
    pass


def enable_math_sdp(enabled: bool) -> None:
    pass
