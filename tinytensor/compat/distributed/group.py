"""The process group of a single process."""

from __future__ import annotations

import datetime
import enum
import os
from typing import Any

default_pg_timeout = datetime.timedelta(minutes=30)


class ReduceOp(enum.Enum):
    """How all_reduce combines the processes' tensors; with one process, all are the identity."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class Backend(str):
    """The name of a backend, such as Backend.GLOO."""

    UNDEFINED, GLOO, NCCL, MPI, UCC = "undefined", "gloo", "nccl", "mpi", "ucc"


class ProcessGroup:
    """A group of one process."""

    def __init__(self, backend: str):
        self.backend = backend

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 1

    def name(self) -> str:
        return self.backend


class GroupMember:
    """NON_GROUP_MEMBER stands for a group that this process is not in."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return GroupMember.WORLD


class group(metaclass=_World):
    """group.WORLD: the default group, None before init_process_group."""


class Work:
    """What an asynchronous collective returns: it is done."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True


def is_available() -> bool:
    """True: a group of one process can be made."""
    return True


def is_initialized() -> bool:
    """Whether init_process_group was called."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> bool:
    return True


def is_nccl_available() -> bool:
    return False


def is_mpi_available() -> bool:
    return False


def is_ucc_available() -> bool:
    return False


def is_backend_available(backend: str) -> bool:
    """True for "gloo", the name of the CPU's backend."""
    return backend.lower() == "gloo"


def is_torchelastic_launched() -> bool:
    return False


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None,
    world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
    pg_options: Any = None, device_id: Any = None, **options: Any,
) -> None:  # fmt: skip
    """Make the group of this one process.

    world_size and rank are taken from WORLD_SIZE and RANK in the environment if they are not given;
    they must be 1 and 0.
    """
    if is_initialized():
        raise ValueError("init_process_group: the process group is already initialised")
    world_size = int(os.environ.get("WORLD_SIZE", 1)) if world_size < 0 else world_size
    rank = int(os.environ.get("RANK", 0)) if rank < 0 else rank
    if world_size != 1 or rank != 0:
        raise RuntimeError(
            f"init_process_group: got world_size={world_size} and rank={rank}, expected one "
            "process, world_size=1 and rank=0; run without the launcher"
        )
    GroupMember.WORLD = ProcessGroup((backend or "gloo").lower())


def destroy_process_group(group: Any = None) -> None:
    """Forget the default group; no effect without one."""
    if group is None or group is GroupMember.WORLD:
        GroupMember.WORLD = None


def get_rank(group: Any = None) -> int:
    """0, also before init_process_group."""
    return 0


def get_world_size(group: Any = None) -> int:
    """1, also before init_process_group."""
    return 1


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """0: the rank among the processes of this machine."""
    return 0


def get_backend(group: Any = None) -> str:
    """The name given to init_process_group; "gloo" by default."""
    return default_group("get_backend").backend if group is None else group.backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    return [0]


def get_global_rank(group: Any, group_rank: int) -> int:
    return group_rank


def get_group_rank(group: Any, global_rank: int) -> int:
    return global_rank


def new_group(ranks: Any = None, *args: Any, **options: Any) -> ProcessGroup:
    """A group of this process; ranks must be [0] or None."""
    backend = default_group("new_group").backend
    check_ranks("new_group", ranks or [0])
    return ProcessGroup(backend)


def new_subgroups(group_size: int | None = None, *args: Any, **options: Any) -> tuple:
    """(group, [group]): all subgroups are that of this process."""
    only = new_group()
    return only, [only]


def check_ranks(name: str, ranks: Any) -> None:
    """Refuse ranks of processes that do not exist."""
    if any(rank != 0 for rank in ranks):
        raise RuntimeError(f"distributed.{name}: got ranks {list(ranks)}, expected 0: one process")


def default_group(name: str) -> ProcessGroup:
    """The default group; ValueError before init_process_group, as in PyTorch."""
    if GroupMember.WORLD is None:
        raise ValueError(
            f"distributed.{name}: the process group is not initialised; call init_process_group, "
            "or ask is_initialized() first"
        )
    return GroupMember.WORLD


__all__ = [
    "Backend", "GroupMember", "ProcessGroup", "ReduceOp", "Work", "default_pg_timeout",
    "destroy_process_group", "get_backend", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "is_ucc_available", "new_group", "new_subgroups",
]  # fmt: skip
