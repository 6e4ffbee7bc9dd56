"""Optimizer: parameters in groups, each with its own settings, and state for each parameter."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np

from ..autograd.mode import run_in_mode
from ..autograd.settings import enable_grad
from ..autograd.site import warn
from ..autograd.variable import Variable, writes_of
from ..backend import is_array
from .complex_parameters import refuse_complex_parameters, update_complex
from .hooks import (
    AFTER_EVERY_STEP,
    BEFORE_EVERY_STEP,
    Hooks,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)
from .state import States, as_tensor

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()  # a default that every group must replace


class Optimizer(Hooks):
    """Base class. A subclass defines `update(parameter, gradient, state, group)` on raw arrays, and
    `new_state`, which returns the initial state; or, as in PyTorch, its own `step` on tensors.

    params    tensors, or pairs (name, tensor), or dicts {"params": tensors, setting: value, …},
              one for each group
    defaults  settings of groups that do not give their own

    With differentiable=True in the defaults, `update` runs on tensors and is part of the graph.
    """

    numbers = frozenset({"step"})  # names in the state that are numbers
    takes_complex = True  # False: complex parameters are refused

    def __init__(self, params: Iterable, defaults: dict[str, Any]):
        self.defaults = defaults
        self._no_hooks()
        self.state = {}
        self.param_groups: list[dict[str, Any]] = []
        if isinstance(params, Variable):
            raise TypeError(
                f"{type(self).__name__}: got a single Tensor, expected an iterable of them; "
                "put it in a list"
            )
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: got an empty list of parameters")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    @property
    def state(self) -> dict[Any, Any]:
        """{parameter: what is kept for it}"""
        return self._state

    @state.setter
    def state(self, values: dict[Any, Any]) -> None:
        works_on_arrays = type(self).update is not Optimizer.update
        self._state: dict[Any, Any]
        if works_on_arrays and not self.defaults.get("differentiable"):
            self._state = States(self.numbers, values)
        else:
            self._state = defaultdict(dict, values)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with their own settings: {"params": tensors, "lr": 0.1}."""
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(
                f"{name}: got a group of type {type(param_group).__name__}, expected a dict"
            )
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(f"{name}: got a set of parameters, expected a list: sets have no order")
        params = [params] if isinstance(params, Variable) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names and len(names) < len(params):
            raise ValueError(
                f"{name}: got {len(names)} of {len(params)} parameters with names, expected all "
                "or none"
            )
        param_group["params"] = [p[1] for p in params] if names else params
        if names:
            param_group["param_names"] = names
        self._check(param_group)
        for key, default in self.defaults.items():
            if default is required and key not in param_group:
                raise ValueError(f"{name}: a group has no {key}, which has no default")
            param_group.setdefault(key, default)
        self.param_groups.append(param_group)

    def _check(self, group: dict[str, Any]) -> None:
        """Refuse what cannot be optimised, and parameters that another group has."""
        name = type(self).__name__
        for p in group["params"]:
            if not isinstance(p, Variable):
                raise TypeError(
                    f"{name}: got a parameter of type {type(p).__name__}, expected Tensors"
                )
            if p._node is not None and not (self.defaults.get("differentiable") or p.retains_grad):
                raise ValueError(
                    f"{name}: can't optimise a non-leaf tensor of shape {tuple(p._shape)}; give "
                    "the leaf that it is computed from"
                )
        refuse_complex_parameters(self, group["params"])
        if len(set(group["params"])) < len(group["params"]):
            warn(f"{name}: a group has the same parameter more than once")
        for other in self.param_groups:
            if ("param_names" in other) != ("param_names" in group):
                raise ValueError(f"{name}: got groups with and without names, expected one kind")
        known = {p for other in self.param_groups for p in other["params"]}
        for p in group["params"]:
            if p in known:
                raise ValueError(f"{name}: a parameter of shape {p._shape} is in two groups")

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
        if (
            self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
            or BEFORE_EVERY_STEP or AFTER_EVERY_STEP
        ) and not self._in_step:  # fmt: skip
            arguments = (self,) if closure is None else (self, closure)
            return with_hooks(Optimizer.step)(*arguments)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._opt_called = True
        if self.defaults.get("differentiable"):
            run_in_mode(True, self._update_differentiably)
        else:
            run_in_mode(False, self._update_groups)
        return loss

    step.hooked = True  # type: ignore[attr-defined]

    def _update_groups(self) -> None:
        """Update the parameters that have a gradient, group by group.

        After Ctrl-C or an error, some are updated and others are not, as in PyTorch. The current
        one may be half updated; its state is complete or absent.
        """
        has_state = type(self).new_state is not Optimizer.new_state
        states: Any = self._state
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p._grad is not None]
            for p in parameters:  # first, so that half an update counts as a write
                writes_of(p)[0] += 1
            for p in self.sweep(parameters, group):
                kept = states.get(p)
                state = {} if kept is None else kept.raw
                is_new = not state
                try:
                    kind = p.array.dtype.kind
                    if is_new and has_state and kind != "c":
                        state.update(self.new_state(p.array, group))
                    if kind == "f":
                        self.update(p.array, p._grad.array, state, group)
                    elif kind == "c":
                        update_complex(self, p, state, group, is_new and has_state)
                    else:
                        self._update_bfloat16(p.array, p._grad.array, state, group)
                    if kept is None and state:
                        states.keep(p, state)
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

    def _update_differentiably(self) -> None:
        """The same on tensors: the new parameters and states are part of the graph.

        `update` writes into copies, so that values that backward needs are not overwritten.
        """
        for group in self.param_groups:
            for p in [p for p in group["params"] if p._grad is not None]:
                state = dict(self._state[p]) or self.new_state(p, group)
                for key, value in state.items():
                    if isinstance(value, Variable):
                        is_number = key in self.numbers and not value.requires_grad
                        state[key] = value.item() if is_number else value.clone()
                new = p.clone()
                self.update(new, p._grad, state, group)
                p.copy_(new)
                self._state[p] = {
                    k: as_tensor(v) if k in self.numbers and not isinstance(v, Variable) else v
                    for k, v in state.items()
                }

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
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        number: dict[Any, int] = {}
        start = 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                number.setdefault(p, i)
            start += len(group["params"])
        groups = [
            {**{k: v for k, v in group.items() if k != "params"},
             "params": [number[p] for p in group["params"]]}
            for group in self.param_groups
        ]  # fmt: skip
        state = {
            number[key] if isinstance(key, Variable) else key: dict(values)
            if isinstance(key, Variable)
            else values
            for key, values in self._state.items()
            if not isinstance(key, Variable) or values
        }
        result = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            result = _or(hook(self, result), result)
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the `state_dict` of an optimiser of the same class, also one that PyTorch saved."""
        state_dict = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            state_dict = _or(hook(self, state_dict), state_dict)
        saved = state_dict["param_groups"]
        sizes = [len(g["params"]) for g in self.param_groups]
        if [len(g["params"]) for g in saved] != sizes:
            raise ValueError(
                f"{type(self).__name__}: the state has groups of "
                f"{[len(g['params']) for g in saved]} parameters, expected {sizes}"
            )
        by_number = dict(
            zip(
                chain.from_iterable(group["params"] for group in saved),
                chain.from_iterable(group["params"] for group in self.param_groups),
            )
        )
        groups = [
            {**group, **copy.deepcopy({k: v for k, v in new.items() if k != "params"})}
            for group, new in zip(self.param_groups, saved)
        ]
        state = {}
        for number, values in state_dict["state"].items():
            p = by_number.get(number)
            state[number if p is None else p] = values if p is None else _loaded(values, p)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the hooks."""
        left = (*self.NAMES, "_state", "step", "_step_when_scheduled")
        kept = {k: v for k, v in self.__dict__.items() if k not in left}
        return {**kept, "state": self._state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({k: v for k, v in state.items() if k != "state"})
        if "state" in state:
            self.state = state["state"]
        self._no_hooks()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {v}" for k, v in sorted(group.items()) if k != "params"]
        return "\n".join([*lines, ")"])


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _loaded(value: Any, p: Any, key: Any = None) -> Any:
    """A copy of a value of a state dict, with the dtype and device of parameter p."""
    if isinstance(value, Variable):
        value = value.detach().clone()
        if key == "step":
            return value
        return value.to(p.device, p.dtype) if p.is_floating_point() else value.to(p.device)
    if isinstance(value, dict):
        return {k: _loaded(v, p, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_loaded(v, p) for v in value)
    return value


def has_dtype(value: Any, dtype: Any) -> bool:
    """Whether `value` is an array of this dtype."""
    return is_array(value) and value.dtype == dtype
