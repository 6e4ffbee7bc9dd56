"""Adagrad."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import settings
from .steps import add_ratio_, descent, full_like, library_of, number


class Adagrad(Optimizer):
    """s ← s + g²,  p ← p − lrₜ·g / (√s + ε),  with lrₜ = lr / (1 + (t−1)·lr_decay)

    s starts at initial_accumulator_value. weight_decay adds weight_decay·p to the gradient.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        defaults = settings(
            "Adagrad", lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach,
            maximize=maximize, differentiable=differentiable, fused=fused,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return {"step": 0, "sum": full_like(parameter, group["initial_accumulator_value"])}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        lr = number(group["lr"], group) / (1 + state["step"] * group["lr_decay"])
        state["step"] += 1
        gradient = descent(parameter, gradient, group)
        total = state["sum"]
        total += gradient * gradient
        add_ratio_(parameter, gradient, library_of(total).sqrt(total) + group["eps"], -lr)
