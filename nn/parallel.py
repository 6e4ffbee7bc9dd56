"""PyTorch's multi-GPU wrappers, for one process on one device: they just call their module."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .module import Module
from .parallel_parts import gather, parallel_apply, replicate, scatter
from .parameter import is_lazy

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


class _Package(ModuleType):
    """nn.parallel itself: `import nn.parallel.replicate` leaves the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and callable(vars(self).get(name))):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


class DataParallel(Module):
    """module(*inputs); the keys of state_dict start with "module.", as in PyTorch.

    With one device, nothing is split: device_ids, output_device and dim are stored but not used.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None,
                 dim: int = 0):  # fmt: skip
        super().__init__()
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids or [], output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """PyTorch's wrapper for several processes, here for one: the same as DataParallel."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None,
                 dim: int = 0, **options: Any):  # fmt: skip
        if any(map(is_lazy, module.parameters())):
            raise RuntimeError(
                "DistributedDataParallel: got a module with uninitialized parameters; first call "
                "it on a batch"
            )
        super().__init__(module, device_ids, output_device, dim)
        self.require_backward_grad_sync = True


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict | None = None,
) -> Any:  # fmt: skip
    """module(*inputs): with one device, nothing is split."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply",
    "replicate", "scatter",
]  # fmt: skip
