"""torch.distributed for one process: rank 0 of 1.

group.py         the process group: init_process_group with world_size=1, ReduceOp, Work
collectives.py   all_reduce, all_gather, broadcast …: with one process, copies or nothing

Training code for several processes runs unchanged as one. With world_size > 1 it is refused.
"""

from __future__ import annotations

import sys
from typing import Any

from .. import sharding
from .. import sharding as device_mesh  # noqa: F401
from .collectives import *
from .collectives import __all__ as _collectives
from .group import *
from .group import __all__ as _group

_PRIVATE = {
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_op": "ReduceOp",
}


def __getattr__(name: str) -> Any:
    """`distributed.nn` and `distributed.distributed_c10d`: the same functions."""
    if name in ("distributed_c10d", "nn"):
        return sys.modules[__name__]
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(sharding, name)
    if name in _PRIVATE:
        return globals()[_PRIVATE[name]]
    raise AttributeError(f"module 'tinytensor.distributed' has no attribute {name!r}")


__all__ = [*_collectives, *_group]
