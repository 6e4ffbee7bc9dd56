"""RAdam: Adam that divides by its second moment only once that is reliable."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import settings
from .steps import add_product_, descent, lerp_, library_of, number, zeros_like


class RAdam(Optimizer):
    """m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  ρ∞ = 2/(1−β₂) − 1,  ρₜ = ρ∞ − 2t·β₂ᵗ/(1−β₂ᵗ)

    p ← p − lr·m̂ while ρₜ ≤ 5, then p ← p − lr·r·m̂·√(1−β₂ᵗ) / (√v + ε), with m̂ = m/(1−β₁ᵗ) and
    r² = (ρₜ−4)(ρₜ−2)ρ∞ / ((ρ∞−4)(ρ∞−2)ρₜ). weight_decay adds weight_decay·p to the gradient;
    decoupled_weight_decay subtracts lr·weight_decay·p from the parameter instead.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        defaults = settings(
            "RAdam", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
            foreach=foreach, capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return {"step": 0, **zeros_like(parameter, "exp_avg", "exp_avg_sq")}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = library_of(parameter)
        beta1, beta2 = group["betas"]
        lr = number(group["lr"], group)
        state["step"] += 1
        gradient = descent(parameter, gradient, group)
        step, mean, square = state["step"], state["exp_avg"], state["exp_avg_sq"]
        lerp_(mean, gradient, 1 - beta1)
        square *= beta2
        add_product_(square, gradient, gradient, 1 - beta2)
        correction1, correction2 = 1 - beta1**step, 1 - beta2**step
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * beta2**step / correction2
        if rho <= 5:
            parameter -= mean / correction1 * lr
            return
        trust = (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
        rates = 1 / (library.sqrt(square) + group["eps"]) * math.sqrt(correction2)
        parameter -= mean / correction1 * lr * rates * math.sqrt(trust)
