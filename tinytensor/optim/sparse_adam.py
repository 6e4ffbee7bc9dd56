"""SparseAdam: Adam that changes only the rows that have a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backend import xp
from .optimizer import Optimizer
from .settings import settings
from .steps import zeros_like


class SparseAdam(Optimizer):
    """Adam for embeddings: rows without a gradient, and their moments, stay as they are.

    A row is an index of the first dimension. PyTorch asks for sparse gradients here; ours are
    dense, and a row of zeros counts as one without a gradient.
    """

    takes_complex = False

    numbers = frozenset()  # PyTorch keeps `step` as an int

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ):
        defaults = settings("SparseAdam", lr=lr, betas=betas, eps=eps, maximize=maximize)
        for label, value in {"lr": lr, "eps": eps}.items():
            if not value > 0:
                raise ValueError(f"SparseAdam: got {label}={value}, expected a number > 0")
        super().__init__(params, defaults)

    def _check(self, group: dict[str, Any]) -> None:
        if any(getattr(p, "is_sparse", False) for p in group["params"]):
            raise ValueError("SparseAdam: got a sparse parameter, expected dense ones")
        super()._check(group)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return {"step": 0, **zeros_like(parameter, "exp_avg", "exp_avg_sq")}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = xp(parameter)
        beta1, beta2 = group["betas"]
        state["step"] += 1
        step = state["step"]
        rows = (gradient != 0).reshape(len(gradient), -1).any(axis=1) if gradient.ndim else ...
        g = gradient[rows]  # (rows with a gradient, …)
        if group["maximize"]:
            g = -g
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean[rows] += (g - mean[rows]) * (1 - beta1)
        square[rows] += (g * g - square[rows]) * (1 - beta2)
        rate = float(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        parameter[rows] -= mean[rows] / (library.sqrt(square[rows]) + group["eps"]) * rate
