"""Adamax: Adam with a decaying maximum of |g| in place of the root mean square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import settings
from .steps import add_ratio_, descent, lerp_, library_of, number, zeros_like


class Adamax(Optimizer):
    """m ← β₁m + (1−β₁)g,  u ← max(β₂u, |g| + ε),  p ← p − lr/(1−β₁ᵗ)·m / u

    weight_decay adds weight_decay·p to the gradient.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        defaults = settings(
            "Adamax", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
            maximize=maximize, differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return {"step": 0, **zeros_like(parameter, "exp_avg", "exp_inf")}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = library_of(parameter)
        beta1, beta2 = group["betas"]
        state["step"] += 1
        gradient = descent(parameter, gradient, group)
        mean, largest = state["exp_avg"], state["exp_inf"]
        lerp_(mean, gradient, 1 - beta1)
        largest[...] = library.maximum(largest * beta2, library.abs(gradient) + group["eps"])
        rate = number(group["lr"], group) / (1 - beta1 ** state["step"])
        add_ratio_(parameter, mean, largest, -rate)
