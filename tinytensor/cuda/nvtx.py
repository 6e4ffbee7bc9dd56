"""torch.cuda.nvtx: marks for NVIDIA's profiler, without effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def range_push(msg: str) -> int:
    """No effect."""
    return 0


def range_pop() -> int:
    """No effect."""
    return 0


def range_start(msg: str) -> int:
    """No effect."""
    return 0


def range_end(range_id: int) -> None:
    """No effect."""


def mark(msg: str) -> None:
    """No effect."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context manager and decorator without effect."""
    yield


__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
