"""Steps of complex parameters: their two parts are updated as real numbers, as in PyTorch."""

from __future__ import annotations

from typing import Any

from ..backend import is_array
from ..ops.complex_numbers import view_as_complex, view_as_real
from ..ops.convert import contiguous


def update_complex(optimizer: Any, p: Any, state: dict, group: dict, is_new: bool) -> None:
    """optimizer.update on views (…, 2) of p, its gradient and its state.

    Between steps the state is complex too. is_new: make the state first.
    """
    parameter, gradient = view_as_real(p.array), view_as_real(p._grad.array)
    for key, value in state.items():
        if is_array(value) and value.dtype.kind == "c":
            state[key] = view_as_real(value)
    try:
        if is_new:
            state.update(optimizer.new_state(parameter, group))
        optimizer.update(parameter, gradient, state, group)
    finally:
        for key, value in state.items():
            if is_array(value) and value.shape == parameter.shape:
                state[key] = view_as_complex(contiguous(value))


def refuse_complex_parameters(optimizer: Any, parameters: list) -> None:
    """Refuse complex parameters if the optimiser does not support them, as in PyTorch."""
    differentiable = optimizer.defaults.get("differentiable")
    if optimizer.takes_complex and not differentiable:
        return
    for p in parameters:
        if p.is_complex():
            how = " with differentiable=True" if optimizer.takes_complex else ""
            raise RuntimeError(
                f"{type(optimizer).__name__}: got a complex parameter of shape {tuple(p.shape)}, "
                f"expected real ones{how}; optimise view_as_real() of it"
            )
