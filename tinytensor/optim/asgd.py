"""ASGD: gradient descent that also keeps an average of the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer, descent, zeros_like
from .settings import settings


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
        defaults = settings(
            "ASGD", lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay,
            foreach=foreach, maximize=maximize, differentiable=differentiable,
            capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        first = {"step": 0, "eta": float(group["lr"]), "mu": 1.0}
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
        state["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])

    def _loaded(self, key: str, value: Any, p: Any) -> Any:
        """A value of a state dict; PyTorch keeps eta and mu, numbers, in tensors."""
        is_number = key in ("eta", "mu") and hasattr(value, "item")
        return value.item() if is_number else super()._loaded(key, value, p)
