"""What updates are made of: in-place steps, each in PyTorch's order of operations.

The order decides what underflows and overflows: (c·g)·g is finite where c·(g·g) is not, and
(c·m)/d is 0/0 where c·(m/d) is m/0.

All of it runs on raw arrays, and on tensors for differentiable=True.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..autograd.variable import Variable, own_copy
from ..backend import xp


class _OnTensors:
    """The functions of NumPy that updates use, for tensors."""

    abs = staticmethod(ops.abs)
    clip = staticmethod(ops.clamp)
    maximum = staticmethod(ops.maximum)
    sqrt = staticmethod(ops.sqrt)
    where = staticmethod(ops.where)


def library_of(parameter: Any) -> Any:
    """NumPy or CuPy for an array; the same functions for a tensor."""
    return _OnTensors if isinstance(parameter, Variable) else xp(parameter)


def number(value: Any, group: dict[str, Any]) -> Any:
    """A setting as a Python number; with differentiable=True a tensor stays part of the graph."""
    if type(value) is float:
        return value
    if isinstance(value, Variable) and group.get("differentiable"):
        return value.squeeze()
    return float(value)


def copy_of(x: Any) -> Any:
    """A copy of an array or a tensor, outside the graph as PyTorch's first momentum is."""
    return x.detach().clone() if isinstance(x, Variable) else own_copy(x)


def zeros_like(parameter: Any, *names: str) -> dict[str, Any]:
    """{name: zeros in the shape and dtype of the parameter}, for `new_state`."""
    return {name: full_like(parameter, 0) for name in names}


def full_like(parameter: Any, value: float) -> Any:
    """`value` in the shape and dtype of the parameter."""
    if isinstance(parameter, Variable):
        return parameter.new_full(parameter.shape, value)
    return xp(parameter).full_like(parameter, value)


def descent(parameter: Any, gradient: Any, group: dict[str, Any]) -> Any:
    """The gradient to descend: −g to maximize, plus weight_decay·p.

    decoupled_weight_decay subtracts lr·weight_decay·p from the parameter itself instead.
    """
    if group["maximize"]:
        gradient = -gradient
    decay = group["weight_decay"]
    if decay:
        decay = number(decay, group)
    if decay and group.get("decoupled_weight_decay"):
        parameter *= 1 - number(group["lr"], group) * decay
    elif decay:
        if isinstance(decay, Variable):  # backward needs the old parameter
            parameter = parameter.clone()
        gradient = gradient + parameter * decay
    return gradient


def raise_to_(state: dict[str, Any], name: str, other: Any) -> Any:
    """state[name] ← max(state[name], other), elementwise; returns it."""
    largest = state[name]
    if isinstance(largest, Variable):  # backward needs the old one
        state[name] = _OnTensors.maximum(largest, other)  # type: ignore[arg-type]
    else:
        xp(largest).maximum(largest, other, out=largest)
    return state[name]


def lerp_(x: Any, end: Any, weight: float) -> None:
    """x ← x + weight·(end − x), from the nearer end, so that weight 1 gives exactly `end`."""
    if abs(weight) < 0.5:
        x += (end - x) * weight
    else:
        x[...] = end - (end - x) * (1 - weight)


def add_product_(x: Any, a: Any, b: Any, factor: float) -> None:
    """x ← x + (factor·a)·b"""
    x += a * factor * b


def add_ratio_(x: Any, a: Any, b: Any, factor: float) -> None:
    """x ← x + (factor·a)/b"""
    x += a * factor / b
