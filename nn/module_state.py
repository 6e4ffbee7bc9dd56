"""Operations on a whole module: train/eval mode, device and dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tinytensor as tt
from tinytensor.sparse.tensor import SparseTensor
from tinytensor.tensor import Tensor

from .state_dict import StateDict


class ModuleState(StateDict):
    """The part of Module that works on all its parameters and buffers at once."""

    training: bool
    _hooks: Any
    named_modules: Callable[..., Iterator]
    named_parameters: Callable[..., Iterator]
    modules: Callable[..., Iterator]
    parameters: Callable[..., Iterator]
    children: Callable[..., Iterator]

    # --------------------------------------------------------------------------------------
    # Mode and gradients
    # --------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Any:
        """Set training mode: dropout is active, batch norm uses the batch's own statistics."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: got mode={mode!r}, expected True or False")
        self.training = mode
        for module in self.children():
            module.train(mode)  # a module may override it, to stay frozen
        return self

    def eval(self) -> Any:
        """Set evaluation mode: the opposite of train()."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Start or stop tracking all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad.detach_().zero_()

    def apply(self, fn: Callable[[Any], None]) -> Any:
        """Call fn on every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # --------------------------------------------------------------------------------------
    # Device and dtype
    # --------------------------------------------------------------------------------------

    def _apply(self, change: Callable[[Tensor], Tensor]) -> Any:
        """Replace the array of each parameter and buffer by that of change(tensor)."""
        changed: dict[int, Any] = {}  # a shared tensor is changed once
        for module in self.modules():
            for registry in (module._parameters, module._buffers):
                for name, tensor in registry.items():
                    if isinstance(tensor, SparseTensor):  # it cannot be given other contents
                        registry[name] = tensor.map(change)
                        continue
                    if tensor is None or id(tensor) in changed:
                        continue
                    changed[id(tensor)] = tensor
                    with tt.no_grad():
                        tensor.data = change(tensor.data)
                        if tensor.grad is not None:
                            gradient = change(tensor.grad)
                            tensor._grad = gradient
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move to a device and/or convert floating point parameters and buffers to a dtype."""
        kwargs.pop("non_blocking", None)
        if kwargs.pop("copy", False):
            raise RuntimeError("to: a module is always changed itself; leave copy=True out")
        kwargs.pop("memory_format", None)  # no effect, and only of images, (N, C, H, W)
        for value in (*args, *kwargs.values()):
            if isinstance(value, tt.dtype) and not (value.is_floating_point or value.is_complex):
                raise TypeError(
                    f"to: got {value}, expected a floating point or complex dtype; integer buffers "
                    "keep their dtype"
                )

        def change(tensor: Tensor) -> Tensor:
            if tensor.is_complex():  # real numbers become complex, but complex ones never real
                real = tensor.real.to(*args, **kwargs)
                is_complex = real.is_complex()
                return tensor.to(real.device, real.dtype if is_complex else tensor.dtype)
            moved = tensor.to(*args, **kwargs)
            if tensor.is_floating_point() or moved.dtype == tensor.dtype:
                return moved
            return tensor.to(moved.device)  # integers keep their dtype

        return self._apply(change)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Give parameters and buffers new memory on a device, with whatever it contains."""
        modules = self.modules() if recurse else [self]
        for module in modules:
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is not None:
                    with tt.no_grad():
                        where = tensor.device if device is None else device
                        tensor.data = tt.empty_like(tensor.data, device=where)
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """No effect: there is one way to run a module."""

    def cpu(self) -> Any:
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Any:
        return self.to("cuda" if device is None else tt.device(device))

    def float(self) -> Any:
        return self.to(tt.float32)

    def double(self) -> Any:
        return self.to(tt.float64)

    def half(self) -> Any:
        return self.to(tt.float16)

    def bfloat16(self) -> Any:
        return self.to(tt.bfloat16)

    def type(self, dst_type: Any) -> Any:
        return self._apply(lambda tensor: tensor.to(dst_type))

    def share_memory(self) -> Any:
        """`Tensor.share_memory_` for all parameters and buffers."""
        module: Any = self
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.share_memory_()
        return self
