"""Optimizer: parameters in groups, each with its own settings, and state for each parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..autograd.mode import run_in_mode
from ..autograd.settings import enable_grad
from ..autograd.site import warn
from ..autograd.variable import Variable, wrap, writes_of
from ..backend import is_array, xp


class Optimizer:
    """Base class. A subclass defines `update(parameter, gradient, state, group)` on raw arrays, and
    `new_state`, which returns the initial state; or, as in PyTorch, its own `step` on tensors.

    params    tensors, or dicts {"params": tensors, setting: value, …}, one for each group
    defaults  settings of groups that do not give their own
    """

    def __init__(self, params: Iterable, defaults: dict[str, Any]):
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params) if not isinstance(params, Variable) else None
        if groups is None:
            raise TypeError(
                f"{type(self).__name__}: got a single Tensor, expected an iterable of them; "
                "put it in a list"
            )
        if not groups:
            raise ValueError(f"{type(self).__name__}: got an empty list of parameters")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with their own settings: {"params": tensors, "lr": 0.1}."""
        group = {**self.defaults, **param_group}
        params = group["params"]
        group["params"] = [params] if isinstance(params, Variable) else list(params)
        if len(set(group["params"])) < len(group["params"]):
            warn(f"{type(self).__name__}: a group has the same parameter more than once")
        known = {p for existing in self.param_groups for p in existing["params"]}
        for p in group["params"]:
            if not isinstance(p, Variable):
                raise TypeError(
                    f"{type(self).__name__}: got a parameter of type {type(p).__name__}, "
                    "expected Tensors"
                )
            if p._node is not None:
                raise ValueError(
                    f"{type(self).__name__}: can't optimise a non-leaf tensor of shape "
                    f"{tuple(p._shape)}; give the leaf that it is computed from"
                )
            if p in known:
                raise ValueError(
                    f"{type(self).__name__}: a parameter of shape {p._shape} is in two groups"
                )
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set all gradients to None, or to zeros with set_to_none=False."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p._grad = None
                elif p._grad is not None:
                    if p._grad.requires_grad:
                        p._grad.detach_()
                    p._grad.zero_()

    def step(self, closure: Callable | None = None) -> Any:
        """Update every parameter that has a gradient. closure: recomputes and returns the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        run_in_mode(False, self._update_groups)
        return loss

    def _update_groups(self) -> None:
        """Update the parameters that have a gradient, group by group.

        After Ctrl-C or an error, some are updated and others are not, as in PyTorch. The current
        one may be half updated; its state is complete or absent.
        """
        has_state = type(self).new_state is not Optimizer.new_state
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p._grad is not None]
            for p in parameters:  # first, so that half an update counts as a write
                writes_of(p)[0] += 1
            for p in self.sweep(parameters, group):
                state = self.state[p]
                is_new = not state
                try:
                    if is_new and has_state:
                        state.update(self.new_state(p.array, group))
                    if p.array.dtype.kind == "V":
                        self._update_bfloat16(p.array, p._grad.array, state, group)
                    else:
                        self.update(p.array, p._grad.array, state, group)
                except BaseException:
                    if is_new:
                        state.clear()
                    raise

    def _update_bfloat16(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        """Update a bfloat16 parameter: in float32, rounded, and so is its state."""
        narrow, wide = parameter.dtype, np.float32
        state.update({k: v.astype(wide) for k, v in state.items() if has_dtype(v, narrow)})
        result = parameter.astype(wide)
        self.update(result, gradient.astype(wide), state, group)
        parameter[...] = result
        state.update({k: v.astype(narrow) for k, v in state.items() if has_dtype(v, wide)})

    def sweep(self, parameters: list, group: dict) -> list:
        """Update many parameters with one kernel, if the optimiser has one; return the others."""
        return parameters

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        """The state of a parameter before its first step, if the optimiser keeps any."""
        return {}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        """Change one parameter's array in place."""
        raise NotImplementedError(f"{type(self).__name__}: update is not implemented")

    def state_dict(self) -> dict[str, Any]:
        """{"state": {number: state}, "param_groups": settings}, with numbers for parameters."""
        number: dict[Any, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(p, len(number))
        groups = [
            {**group, "params": [number[p] for p in group["params"]]} for group in self.param_groups
        ]
        state = {
            number[p]: {k: wrap(v) if is_array(v) else v for k, v in values.items()}
            for p, values in self.state.items()
            if values
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the `state_dict` of an optimiser of the same class."""
        saved = state_dict["param_groups"]
        sizes = [len(g["params"]) for g in self.param_groups]
        if [len(g["params"]) for g in saved] != sizes:
            raise ValueError(
                f"{type(self).__name__}: the state has groups of "
                f"{[len(g['params']) for g in saved]} parameters, expected {sizes}"
            )
        by_number: dict[int, Any] = {}
        for group, settings in zip(self.param_groups, saved):
            by_number.update(zip(settings["params"], group["params"]))
            group.update({k: v for k, v in settings.items() if k != "params"})
        self.state.clear()
        for number, values in state_dict["state"].items():
            p = by_number[number]
            self.state[p] = {k: self._loaded(k, v, p) for k, v in values.items()}

    def _loaded(self, key: str, value: Any, p: Any) -> Any:
        """A value of a state dict as this optimiser keeps it for parameter p."""
        if not isinstance(value, Variable):
            return value
        if key == "step":
            return value.item()  # PyTorch keeps it in a tensor
        floating = value.is_floating_point()
        value = value.detach().to(p.device, p.dtype if floating else value.dtype).clone()
        works_on_arrays = type(self).update is not Optimizer.update
        return value.array if works_on_arrays else value

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {v}" for k, v in sorted(group.items()) if k != "params"]
        return "\n".join([*lines, ")"])


def descent(parameter: Any, gradient: Any, group: dict[str, Any]) -> Any:
    """The gradient to descend: −g to maximize, plus weight_decay·p.

    decoupled_weight_decay subtracts lr·weight_decay·p from the parameter itself instead.
    """
    if group["maximize"]:
        gradient = -gradient
    decay = group["weight_decay"]
    if decay and group.get("decoupled_weight_decay"):
        parameter *= 1 - float(group["lr"]) * decay
    elif decay:
        gradient = gradient + parameter * decay
    return gradient


def zeros_like(parameter: Any, *names: str) -> dict[str, Any]:
    """{name: zeros in the shape and dtype of the parameter}, for `new_state`."""
    return {name: xp(parameter).zeros_like(parameter) for name in names}


def has_dtype(value: Any, dtype: Any) -> bool:
    """Whether `value` is an array of this dtype."""
    return is_array(value) and value.dtype == dtype
