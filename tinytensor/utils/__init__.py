"""Helpers around training: `data` makes batches, `checkpoint` recomputes values to save memory.

`tensorboard` writes logs that TensorBoard shows. `tree` flattens nested containers; PyTorch calls
it `_pytree`.
"""

from . import checkpoint, data
from . import tree as _pytree  # noqa: F401

__all__ = ["checkpoint", "data"]
