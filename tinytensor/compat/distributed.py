"""Training in several processes, in name only: there is one process, of rank 0.

Code that asks first (`if dist.is_available() and dist.is_initialized(): …`) runs unchanged.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


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


COLLECTIVES = [
    "all_gather", "all_gather_object", "all_reduce", "all_to_all", "broadcast",
    "broadcast_object_list", "gather", "new_group", "recv", "reduce", "reduce_scatter",
    "scatter", "send",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The collectives raise RuntimeError when called, as PyTorch's do before init_process_group."""
    if name == "nn":
        return sys.modules[__name__]
    if name not in COLLECTIVES:
        raise AttributeError(f"module 'tinytensor.distributed' has no attribute {name!r}")

    def collective(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"distributed.{name}: there is one process and no process group; "
            "ask is_initialized() first"
        )

    return collective
