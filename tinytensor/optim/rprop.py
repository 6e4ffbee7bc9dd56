"""Rprop: step sizes that adapt to the sign of the gradient and ignore its size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.sign import sign
from .optimizer import Optimizer
from .settings import settings
from .steps import full_like, library_of, zeros_like


class Rprop(Optimizer):
    """s ← s·η₊ where g kept its sign, s·η₋ where it changed, within step_sizes;  p ← p − s·sign g

    s starts at lr. Where the sign changed, g counts as 0: the element does not move, and the
    next step keeps its s. etas: (η₋, η₊).
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop: got etas={etas}, expected 0 < etas[0] < 1 < etas[1]")
        defaults = settings(
            "Rprop", lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        sizes = full_like(parameter, float(group["lr"]))
        return {"step": 0, **zeros_like(parameter, "prev"), "step_size": sizes}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = library_of(parameter)
        shrink, grow = group["etas"]
        state["step"] += 1
        if group["maximize"]:
            gradient = -gradient
        agreement = gradient * state["prev"]
        factor = library.where(agreement > 0, grow, library.where(agreement < 0, shrink, 1.0))
        size = library.clip(state["step_size"] * factor, *group["step_sizes"])
        gradient = library.where(agreement < 0, full_like(gradient, 0), gradient)
        parameter -= sign(gradient) * size
        state["step_size"][...] = size
        state["prev"][...] = gradient
