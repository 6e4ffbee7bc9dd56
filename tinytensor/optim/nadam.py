"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import settings
from .state import as_kept
from .steps import add_product_, add_ratio_, descent, lerp_, library_of, number, zeros_like


class NAdam(Optimizer):
    """μₜ = β₁(1 − ½·0.96^(t·momentum_decay)),  m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,

    p ← p − lr·( (1−μₜ)/(1−Πₜ)·g + μₜ₊₁/(1−Πₜ₊₁)·m ) / (√v̂ + ε),  Πₜ = μ₁·…·μₜ, v̂ = v/(1−β₂ᵗ)

    weight_decay adds weight_decay·p to the gradient; decoupled_weight_decay subtracts
    lr·weight_decay·p from the parameter instead.
    """

    numbers = frozenset({"step", "mu_product"})

    def __init__(
        self,
        params: Iterable,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        defaults = settings(
            "NAdam", lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
            momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return {"step": 0, "mu_product": 1.0, **zeros_like(parameter, "exp_avg", "exp_avg_sq")}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = library_of(parameter)
        beta1, beta2 = group["betas"]
        lr = number(group["lr"], group)
        state["step"] += 1
        gradient = descent(parameter, gradient, group)
        step, mean, square = state["step"], state["exp_avg"], state["exp_avg_sq"]
        now, after = (
            beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)
        )
        state["mu_product"] = as_kept(as_kept(now) * state["mu_product"])
        product = state["mu_product"]
        lerp_(mean, gradient, 1 - beta1)
        square *= beta2
        add_product_(square, gradient, gradient, 1 - beta2)
        size = library.sqrt(square / (1 - beta2**step)) + group["eps"]
        add_ratio_(parameter, gradient, size, -lr * (1 - now) / (1 - product))
        add_ratio_(parameter, mean, size, -lr * after / (1 - product * after))
