"""Training in several processes, in name only: there is one process, of rank 0.

Code that asks first (`if dist.is_available() and dist.is_initialized(): …`) runs unchanged.
"""

from __future__ import annotations

import enum
import sys
from typing import Any, NoReturn

from . import sharding
from . import sharding as device_mesh  # noqa: F401

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_available


class ReduceOp(enum.Enum):
    """What `all_reduce` would do with the values of the processes."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


reduce_op = ReduceOp


class ProcessGroup:
    """For annotations: there is no group of processes."""

    def __init__(self, *args: Any):
        raise RuntimeError("distributed.ProcessGroup: there is one process and no process group")


class GroupMember:
    """WORLD, the group of all processes, is None: there is none."""

    WORLD: ProcessGroup | None = None


group = GroupMember


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
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "broadcast", "broadcast_object_list", "gather", "gather_object",
    "get_backend", "get_global_rank", "get_process_group_ranks", "irecv", "isend",
    "monitored_barrier", "new_group", "new_subgroups", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "_all_gather_base",
    "_reduce_scatter_base",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The collectives raise RuntimeError when called, as PyTorch's do before init_process_group."""
    if name in ("nn", "distributed_c10d"):
        return sys.modules[__name__]
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(sharding, name)
    if name not in COLLECTIVES:
        raise AttributeError(f"module 'tinytensor.distributed' has no attribute {name!r}")

    def collective(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"distributed.{name}: there is one process and no process group; "
            "ask is_initialized() first"
        )

    return collective
