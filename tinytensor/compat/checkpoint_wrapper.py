"""torch.distributed.algorithms._checkpoint.checkpoint_wrapper, in name only: see sharding.py.

`tinytensor.utils.checkpoint.checkpoint` recomputes a module's activations in one process.
"""

from .sharding import CheckpointImpl, CheckpointWrapper, _function  # type: ignore[attr-defined]

apply_activation_checkpointing = _function("apply_activation_checkpointing")
checkpoint_wrapper = _function("checkpoint_wrapper")

__all__ = [
    "CheckpointImpl",
    "CheckpointWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
]
