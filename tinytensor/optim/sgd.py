"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import settings
from .steps import copy_of, descent, number


class SGD(Optimizer):
    """v ← momentum·v + (1 − dampening)·g,  p ← p − lr·v   (nesterov: p ← p − lr·(g + momentum·v))

    weight_decay adds weight_decay·p to the gradient.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        defaults = settings(
            "SGD", lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
            nesterov=nesterov, maximize=maximize, foreach=foreach, differentiable=differentiable,
            fused=fused,
        )  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"SGD: nesterov with momentum={momentum}, dampening={dampening}; "
                "it needs a momentum and zero dampening"
            )
        super().__init__(params, defaults)

    def sweep(self, parameters: list, group: dict) -> list:
        """Without momentum there is no state: update the float parameters right here."""
        if group["momentum"]:
            return parameters
        lr, others = number(group["lr"], group), []
        for p in parameters:
            array = p.array
            if array.dtype.kind == "f":
                array -= descent(array, p._grad.array, group) * lr
            else:
                others.append(p)
        return others

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        momentum, lr = group["momentum"], group["lr"]
        if type(lr) is not float:
            lr = number(lr, group)
        gradient = descent(parameter, gradient, group)
        if momentum:
            velocity = state.get("momentum_buffer")
            if velocity is None:
                velocity = state["momentum_buffer"] = copy_of(gradient)
            else:
                velocity *= momentum
                velocity += gradient * (1 - group["dampening"])
            gradient = gradient + velocity * momentum if group["nesterov"] else velocity
        parameter -= gradient * lr
