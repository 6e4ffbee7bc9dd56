"""OneCycleLR and CyclicLR: the learning rate goes up and down, the momentum the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, one_for_each_group, set_lr


class _Cycle(LRScheduler):
    """Shared by both: they also set the momentum, or Adam's first beta."""

    use_beta1: bool

    def _take_momentum(self, base: Any, largest: Any, first: bool) -> tuple[list, list]:
        """Write the bounds of the momentum into the groups, unless training is resumed.

        Returns the lower and the upper bounds.
        """
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                f"{self._name}: {type(self.optimizer).__name__} has neither momentum nor betas; "
                "pass cycle_momentum=False"
            )
        self.use_beta1 = "betas" in defaults
        low = one_for_each_group(f"{self._name}: base_momentum", self.optimizer, base)
        high = one_for_each_group(f"{self._name}: max_momentum", self.optimizer, largest)
        if first:
            for group, base_momentum, max_momentum in zip(self.optimizer.param_groups, low, high):
                self._set_momentum(group, max_momentum)
                group["max_momentum"], group["base_momentum"] = max_momentum, base_momentum
        return low, high

    def _set_momentum(self, group: dict, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class OneCycleLR(_Cycle):
    """lr from max_lr/div_factor up to max_lr, then down to max_lr/div_factor/final_div_factor.

    total_steps (or epochs·steps_per_epoch) is the length of the cycle, pct_start the fraction of it
    that goes up. three_phase first returns to the initial lr, over as many steps, then goes down.
    Momentum goes from max_momentum to base_momentum and back. anneal_strategy: "cos" or "linear".
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        self._take(optimizer)
        if total_steps is None and epochs is not None and steps_per_epoch is not None:
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps <= 0:
            raise ValueError(
                f"OneCycleLR: got total_steps={total_steps}, epochs={epochs}, steps_per_epoch="
                f"{steps_per_epoch}, expected a positive total_steps, or the other two"
            )
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: got pct_start={pct_start}, expected 0 <= pct_start <= 1")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: got anneal_strategy={anneal_strategy!r}, expected 'cos' or 'linear'"
            )
        self.total_steps = total_steps
        self._anneal_func_type = anneal_strategy
        peak, end = float(pct_start * total_steps) - 1, total_steps - 1
        low, high = "base_momentum", "max_momentum"
        if three_phase:
            back = float(2 * pct_start * total_steps) - 2
            self._schedule_phases = [
                _phase(peak, "initial_lr", "max_lr", high, low),
                _phase(back, "max_lr", "initial_lr", low, high),
                _phase(end, "initial_lr", "min_lr", high, high),
            ]
        else:
            self._schedule_phases = [
                _phase(peak, "initial_lr", "max_lr", high, low),
                _phase(end, "max_lr", "min_lr", low, high),
            ]

        if last_epoch == -1:
            peaks = one_for_each_group("OneCycleLR: max_lr", optimizer, max_lr)
            for group, largest in zip(optimizer.param_groups, peaks):
                group["initial_lr"] = largest / div_factor
                group["max_lr"] = largest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._take_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, done: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2 * (1 + math.cos(math.pi * done))
        return (end - start) * done + start

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR: got step {step}, expected at most total_steps={self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        done = (step - start) / (end - start) if end != start else 1.0
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], done))
            if self.cycle_momentum:
                first, last = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(first, last, done))
        return rates


def _phase(end: float, lr_from: str, lr_to: str, momentum_from: str, momentum_to: str) -> dict:
    """A phase of the cycle, until step `end`; the others are names of settings in the groups."""
    return {"end_step": end, "start_lr": lr_from, "end_lr": lr_to,
            "start_momentum": momentum_from, "end_momentum": momentum_to}  # fmt: skip


class CyclicLR(_Cycle):
    """lr from base_lr up to max_lr over step_size_up steps, down over step_size_down, repeatedly.

    mode: "triangular"; "triangular2" halves the height with each cycle; "exp_range" makes it
    gamma^step. Or scale_fn(x) returns the height; x is the cycle (1, 2, …) or, with
    scale_mode="iterations", the step.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ):
        self._take(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"CyclicLR: got mode={mode!r}, expected 'triangular', 'triangular2' or 'exp_range'"
            )
        base_lrs = one_for_each_group("CyclicLR: base_lr", optimizer, base_lr)
        self.max_lrs = one_for_each_group("CyclicLR: max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                set_lr(group, lr)
        self.total_size = float(step_size_up + (step_size_down or step_size_up))
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._take_momentum(
                base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, as a factor."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 0.5 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle  # the fraction of the cycle that is done
        up = x <= self.step_ratio
        height = x / self.step_ratio if up else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                low, high = group["base_momentum"], group["max_momentum"]
                self._set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        custom = state["_scale_fn_custom"]
        is_plain = custom is None or isinstance(custom, FunctionType)
        state["_scale_fn_custom"] = None if is_plain else dict(custom.__dict__)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = {key: value for key, value in state_dict.items() if key != "_scale_fn_custom"}
        super().load_state_dict(rest)
        if state_dict.get("_scale_fn_custom"):
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])
