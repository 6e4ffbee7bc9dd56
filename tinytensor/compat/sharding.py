"""Models and tensors split among processes (FSDP, DTensor …), in name only: there is one process.

Model files that offer it can be imported, and no tensor is a DTensor. Splitting one raises
NotImplementedError.
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it

CLASSES = [
    "CPUOffload", "CPUOffloadPolicy", "CheckpointWrapper", "ColwiseParallel", "DTensor",
    "DeviceMesh", "FSDPModule", "FileSystemReader", "FileSystemWriter", "FullOptimStateDictConfig",
    "FullStateDictConfig", "FullyShardedDataParallel",
    "MixedPrecision", "MixedPrecisionPolicy", "ModuleWrapPolicy", "OffloadPolicy", "Partial",
    "ParallelStyle", "Placement", "PrepareModuleInput", "PrepareModuleOutput", "Replicate",
    "RowwiseParallel", "SequenceParallel", "Shard", "ShardedStateDictConfig", "StateDictOptions",
]  # fmt: skip
FUNCTIONS = [
    "distribute_module", "distribute_tensor", "enable_wrap", "fully_shard", "get_model_state_dict",
    "get_optimizer_state_dict", "get_state_dict", "init_device_mesh", "load", "loss_parallel",
    "parallelize_module", "save",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy",
]  # fmt: skip
SETTINGS = {
    "BackwardPrefetch": "BACKWARD_PRE BACKWARD_POST",
    "CheckpointImpl": "REENTRANT NO_REENTRANT",
    "ShardingStrategy": "FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD _HYBRID_SHARD_ZERO2",
    "StateDictType": "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT",
}


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"distributed.{name}: there is one process, which holds the whole model"
    )


def _class(name: str) -> type:
    """A class without instances: isinstance(x, DTensor) is False for every x."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        _missing(name)

    doc = "Raise NotImplementedError: there is one process."
    return type(name, (), {"__init__": refuse, "__doc__": doc, "__module__": __name__})


def _function(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        _missing(name)

    return function


globals().update({name: enum.Enum(name, values) for name, values in SETTINGS.items()})
globals().update({name: _class(name) for name in CLASSES})
globals().update({name: _function(name) for name in FUNCTIONS})

__all__ = [*SETTINGS, *CLASSES, *FUNCTIONS]
