"""Lion: steps by the sign of a momentum.

Chen et al. 2023, "Symbolic discovery of optimization algorithms". PyTorch has no Lion; the
arguments and defaults are those of the authors' own code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.sign import sign
from .optimizer import Optimizer
from .settings import settings
from .steps import zeros_like


class Lion(Optimizer):
    """p ← p − lr·(sign(β₁m + (1−β₁)g) + weight_decay·p),  m ← β₂m + (1−β₂)g

    Every element moves by lr, whatever the size of its gradient: a good lr is 3 to 10 times smaller
    than AdamW's, and weight_decay larger by the same factor.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
    ):
        defaults = settings(
            "Lion", lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize
        )
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return zeros_like(parameter, "exp_avg")

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        beta1, beta2 = group["betas"]
        lr = float(group["lr"])
        if group["maximize"]:
            gradient = -gradient
        mean = state["exp_avg"]
        direction = sign(mean * beta1 + gradient * (1 - beta1))
        parameter *= 1 - lr * group["weight_decay"]
        parameter -= direction * lr
        mean *= beta2
        mean += gradient * (1 - beta2)
