"""Derivatives of functions: Jacobians, Hessians and products with them.

transforms.py   functions that return functions, as in torch.func: grad(f), jacrev(f) …
batched.py      the engine's is_grads_batched
functional.py   functions that return tensors, as in torch.autograd.functional: jacobian(f, x) …
"""

from . import batched, transforms  # noqa: F401
from . import functional as functional
from .transforms import *

__all__: list[str] = []
__all__ += transforms.__all__
