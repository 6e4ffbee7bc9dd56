"""Derivatives of functions: Jacobians, Hessians and products with them.

transforms.py   functions that return functions, as in torch.func: grad(f), jacrev(f) …
functional.py   functions that return tensors, as in torch.autograd.functional: jacobian(f, x) …
"""

from . import functional as functional
from . import transforms
from .transforms import *

__all__: list[str] = []
__all__ += transforms.__all__
