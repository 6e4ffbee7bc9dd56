"""Functions of functions: derivatives, and maps over a batch (torch.func).

transforms.py   functions that return functions: grad(f), jacrev(f) …
batch_map.py    vmap(f): a function of one sample, mapped over a batch
stateless.py    modules as functions of their parameters: functional_call
functional.py   functions that return tensors, as in torch.autograd.functional: jacobian(f, x) …
batched.py      the engine's is_grads_batched
"""

from . import batch_map, batched, stateless, transforms  # noqa: F401
from . import functional as functional
from .batch_map import *
from .stateless import *
from .transforms import *

__all__: list[str] = []
__all__ += batch_map.__all__
__all__ += stateless.__all__
__all__ += transforms.__all__
