"""Wrappers for several GPUs, in one process on one device: they call the module they hold."""

from __future__ import annotations

from typing import Any

from .module import Module


class DataParallel(Module):
    """module(*inputs), with the module under `.module` and in the keys of state_dict.

    There is nothing to divide among: device_ids, output_device and dim are kept and not used.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None,
                 dim: int = 0):  # fmt: skip
        super().__init__()
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids or [], output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """DataParallel for one process among several, of which there is one."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None,
                 dim: int = 0, **options: Any):  # fmt: skip
        super().__init__(module, device_ids, output_device, dim)
        self.require_backward_grad_sync = True


__all__ = ["DataParallel", "DistributedDataParallel"]
