"""Flags of cuDNN, which is not used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = False
benchmark = False
benchmark_limit = 10
deterministic = True
allow_tf32 = False


def is_available() -> bool:
    return False


def version() -> None:
    return None


def is_acceptable(tensor: Any) -> bool:
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Set the flags inside the block; they have no effect."""
    module = globals()
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    before = {name: module[name] for name in names}
    values = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    module.update(zip(names, values))
    try:
        yield
    finally:
        module.update(before)
