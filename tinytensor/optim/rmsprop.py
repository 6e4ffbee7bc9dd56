"""RMSprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import require_non_negative, settings
from .steps import add_product_, add_ratio_, descent, lerp_, library_of, number, zeros_like


class RMSprop(Optimizer):
    """v ← αv + (1−α)g²,  p ← p − lr·g / (√v + ε)

    centered subtracts the square of the gradient's mean, m ← αm + (1−α)g: √(v − m²) instead of √v.
    momentum: b ← momentum·b + g / (√v + ε),  p ← p − lr·b.
    weight_decay adds weight_decay·p to the gradient.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        require_non_negative("RMSprop", alpha=alpha)
        defaults = settings(
            "RMSprop", lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
            weight_decay=weight_decay, capturable=capturable, foreach=foreach, maximize=maximize,
            differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        names = ["square_avg"]
        names += ["momentum_buffer"] * bool(group["momentum"]) + ["grad_avg"] * group["centered"]
        return {"step": 0, **zeros_like(parameter, *names)}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = library_of(parameter)
        alpha, momentum, lr = group["alpha"], group["momentum"], number(group["lr"], group)
        state["step"] += 1
        gradient = descent(parameter, gradient, group)
        square = state["square_avg"]
        square *= alpha
        add_product_(square, gradient, gradient, 1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            lerp_(mean, gradient, 1 - alpha)
            square = square - mean * mean
        size = library.sqrt(square) + group["eps"]
        if momentum:
            velocity = state["momentum_buffer"]
            velocity *= momentum
            velocity += gradient / size
            parameter -= velocity * lr
        else:
            add_ratio_(parameter, gradient, size, -lr)
