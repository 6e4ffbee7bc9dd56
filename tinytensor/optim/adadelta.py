"""Adadelta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import settings
from .steps import add_product_, descent, library_of, number, zeros_like


class Adadelta(Optimizer):
    """v ← ρv + (1−ρ)g²,  d = g·√(u + ε) / √(v + ε),  u ← ρu + (1−ρ)d²,  p ← p − lr·d

    Steps d are about as large as earlier ones. weight_decay adds weight_decay·p to the gradient.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        if not 0 <= rho <= 1:
            raise ValueError(f"Adadelta: got rho={rho}, expected 0 <= rho <= 1")
        defaults = settings(
            "Adadelta", lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
            capturable=capturable, foreach=foreach, differentiable=differentiable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return {"step": 0, **zeros_like(parameter, "square_avg", "acc_delta")}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = library_of(parameter)
        rho, eps = group["rho"], group["eps"]
        state["step"] += 1
        gradient = descent(parameter, gradient, group)
        square, moved = state["square_avg"], state["acc_delta"]
        square *= rho
        add_product_(square, gradient, gradient, 1 - rho)
        change = library.sqrt(moved + eps) / library.sqrt(square + eps) * gradient
        moved *= rho
        add_product_(moved, change, change, 1 - rho)
        parameter -= change * number(group["lr"], group)
