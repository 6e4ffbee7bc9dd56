"""Operations on a whole module: train/eval mode, device and dtype, state_dict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import tinytensor as tt
from tinytensor.tensor import Tensor

from .parameter import is_lazy


class IncompatibleKeys(NamedTuple):
    """What load_state_dict(strict=False) could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class ModuleState:
    """The part of Module that works on all its parameters and buffers at once."""

    training: bool
    _parameters: dict
    _buffers: dict
    _modules: dict
    _transient: set
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
                for tensor in registry.values():
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
        return self

    # --------------------------------------------------------------------------------------
    # State
    # --------------------------------------------------------------------------------------

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        """Every parameter and saved buffer with its path, shared ones under each of their names."""
        for path, module in self.named_modules(remove_duplicate=False):
            start = f"{path}." if path else ""
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    yield start + name, parameter
            for name, buffer in module._buffers.items():
                if buffer is not None and name not in module._transient:
                    yield start + name, buffer

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Tensor]:
        """{path: tensor} of all parameters and saved buffers; the tensors share memory."""
        state = OrderedDict() if destination is None else destination
        for path, tensor in self._state():
            whole = keep_vars or is_lazy(tensor)
            state[prefix + path] = tensor if whole else tensor.detach()
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values in by path; they may be tensors, NumPy arrays or another library's tensors.

        strict: the paths must match exactly. One error lists all mismatches, and then nothing is
        changed. assign: use the given tensors themselves, not copies. Parameters of lazy modules
        take the shapes of the values.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: got {type(state_dict).__name__}, expected a dict of tensors"
            )
        own = OrderedDict(self._state())
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        values = {key: _as_array(state_dict[key]) for key in own if key in state_dict}
        misshapen = [
            f"{key}: got {_shape(value)}, expected {_shape(own[key])}"
            for key, value in values.items()
            if not is_lazy(own[key]) and _shape(value) != _shape(own[key])
        ]
        problems = [f"misshapen: {', '.join(misshapen)}"] if misshapen else []
        if strict:
            problems += [f"missing: {', '.join(missing)}"] if missing else []
            problems += [f"unexpected: {', '.join(unexpected)}"] if unexpected else []
        if problems:
            text = "; ".join(problems)
            raise RuntimeError(f"load_state_dict: does not fit {type(self).__name__}; {text}")
        with tt.no_grad():
            for key, value in values.items():
                if is_lazy(value):  # and so is own[key]: both stay without a shape
                    continue
                if is_lazy(own[key]):
                    own[key].materialize(tuple(value.shape))
                if assign:
                    own[key].data = tt.as_tensor(value)
                else:
                    own[key].copy_(tt.as_tensor(value))
        return IncompatibleKeys(missing, unexpected)


def _shape(value: Any) -> Any:
    return "an uninitialized value" if is_lazy(value) else tuple(value.shape)


def _as_array(value: Any) -> Any:
    """Detach our own tensors; convert anything else, such as a PyTorch tensor, to NumPy."""
    if isinstance(value, Tensor):
        return value if is_lazy(value) else value.detach()
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":  # NumPy has no such dtype
            value = value.float()
    return np.asarray(value)
