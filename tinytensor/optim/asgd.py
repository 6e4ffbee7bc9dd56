"""ASGD: gradient descent that also keeps an average of the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer
from .settings import settings
from .state import as_kept
from .steps import descent, zeros_like


class ASGD(Optimizer):
    """p ← p·(1 − λη) − ηg,  a ← a + μ(p − a),  η = lr / (1 + λ·lr·t)^alpha,  μ = 1 / max(1, t − t0)

    The average a is in the state, under "ax". lambd: λ. weight_decay adds weight_decay·p to the
    gradient.
    """

    numbers = frozenset({"step", "eta", "mu"})

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        defaults = settings(
            "ASGD", lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay,
            foreach=foreach, maximize=maximize, differentiable=differentiable,
            capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        first = {"step": 0, "eta": as_kept(float(group["lr"])), "mu": 1.0}
        return {**first, **zeros_like(parameter, "ax")}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        lr, lambd = float(group["lr"]), group["lambd"]
        state["step"] += 1
        gradient = descent(parameter, gradient, group)
        parameter *= 1 - lambd * state["eta"]
        parameter -= gradient * state["eta"]
        average = state["ax"]
        if state["mu"] == 1:
            average[...] = parameter
        else:
            average += (parameter - average) * state["mu"]
        step = state["step"]
        state["eta"] = as_kept(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"] = as_kept(1 / max(1, step - group["t0"]))
