"""torch.autograd.Variable: the old form of a leaf, from the time before tensors had gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .nesting import callbacks
from .site import warn
from .variable import Variable as EngineVariable


class ExecutionEngine:
    """PyTorch's `Variable._execution_engine`: functions to call when the running backward ends."""

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        callbacks().append(callback)


class _VariableMeta(type):
    """A call returns a Tensor; isinstance(x, Variable) holds for every tensor."""

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if volatile is not None:
            if volatile and requires_grad:
                raise ValueError("Variable: got volatile=True and requires_grad=True, expected one")
            warn("Variable: volatile was removed and has no effect; use no_grad() instead")
        return EngineVariable(data, requires_grad)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, EngineVariable)


class Variable(metaclass=_VariableMeta):
    """Variable(data, requires_grad=False): a leaf that shares the memory of the tensor `data`.

    volatile has had no effect since PyTorch 0.4, and warns.
    """

    _execution_engine = ExecutionEngine


__all__ = ["Variable"]
