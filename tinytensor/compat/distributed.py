"""Training in several processes, in name only: there is one process, of rank 0.

Code that asks first (`if dist.is_available() and dist.is_initialized(): …`) runs unchanged.
"""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return False


def get_rank(group: Any = None) -> int:
    return 0


def get_world_size(group: Any = None) -> int:
    return 1


def barrier(*args: Any, **kwargs: Any) -> None:
    """Return at once: there is one process."""


def destroy_process_group(group: Any = None) -> None:
    """No effect: there is no group."""


def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
    raise RuntimeError(
        f"init_process_group: got backend={backend!r}, expected to run in one process; "
        "run without the launcher"
    )
