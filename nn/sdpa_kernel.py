"""The choice between implementations of attention in PyTorch, which has no effect here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class SDPBackend(IntEnum):
    """PyTorch's implementations of attention. Here there is one for each kind of device."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict]:
    """A context manager and decorator without effect; the arguments are checked."""
    chosen = backends if isinstance(backends, list) else [backends]
    if not all(isinstance(backend, SDPBackend) for backend in chosen):
        raise AssertionError(
            f"sdpa_kernel: got {backends!r}, expected an SDPBackend or a list of them"
        )
    yield {}
