"""Adagrad."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backend import xp
from .checks import require_non_negative
from .optimizer import Optimizer
from .steps import add_ratio_


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
        numbers = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                   "initial_accumulator_value": initial_accumulator_value}  # fmt: skip
        require_non_negative("Adagrad", **numbers)
        settings = {"foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                    "fused": fused}  # fmt: skip
        super().__init__(params, {**numbers, **settings})

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = xp(parameter)
        if not state:
            state["step"] = 0
            state["sum"] = library.full_like(parameter, group["initial_accumulator_value"])
        lr = float(group["lr"]) / (1 + state["step"] * group["lr_decay"])
        state["step"] += 1
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"]:
            gradient = gradient + parameter * group["weight_decay"]
        total = state["sum"]
        total += gradient * gradient
        add_ratio_(parameter, gradient, library.sqrt(total) + group["eps"], -lr)
