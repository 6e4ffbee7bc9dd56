"""ASGD: gradient descent that also averages where it has been."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backend import xp
from .checks import require_non_negative
from .optimizer import Optimizer


class ASGD(Optimizer):
    """p ← p·(1 − λη) − ηg,  a ← a + μ(p − a),  η = lr / (1 + λ·lr·t)^alpha,  μ = 1 / max(1, t − t0)

    The average a is in the state, under "ax". lambd: λ. weight_decay adds weight_decay·p to the
    gradient.
    """

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
        require_non_negative("ASGD", lr=lr, weight_decay=weight_decay)
        settings = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0,
                    "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
                    "differentiable": differentiable, "capturable": capturable}  # fmt: skip
        super().__init__(params, settings)

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        lr, lambd = float(group["lr"]), group["lambd"]
        if not state:
            state["step"] = 0
            state["eta"], state["mu"] = lr, 1.0
            state["ax"] = xp(parameter).zeros_like(parameter)
        state["step"] += 1
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"]:
            gradient = gradient + parameter * group["weight_decay"]
        parameter *= 1 - lambd * state["eta"]
        parameter -= gradient * state["eta"]
        average = state["ax"]
        if state["mu"] == 1:
            average[...] = parameter
        else:
            average += (parameter - average) * state["mu"]
        step = state["step"]
        state["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])

    def _loaded(self, key: str, value: Any, p: Any) -> Any:
        """A value of a state dict; PyTorch keeps eta and mu, numbers, in tensors."""
        is_number = key in ("eta", "mu") and hasattr(value, "item")
        return value.item() if is_number else super()._loaded(key, value, p)
