"""Adafactor: the second moment of a matrix in one row and one column (Shazeer and Stern 2018)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backend import Array, xp
from .optimizer import Optimizer
from .settings import require_non_negative, settings
from .steps import lerp_, zeros_like


class Adafactor(Optimizer):
    """r ← r + w·(rows of g² − r),  c ← c + w·(columns of g² − c),  v = r·c / mean r,  u = g/√v,

    p ← p·(1 − lr·weight_decay) − α·u / max(1, rms(u)/d)

    with means over rows and columns of the last two dimensions, w = t^beta2_decay and
    α = max(ε₂, rms(p))·min(lr, 1/√t), eps: (ε₁, ε₂). v is at least ε₁², ε₁ by default the eps of
    the dtype. Parameters with fewer than two dimensions keep v itself, v ← v + w·(g² − v).
    """

    takes_complex = False

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ):
        require_non_negative("Adafactor", **{"eps[0]": eps[0] or 0, "eps[1]": eps[1]})
        if not beta2_decay <= 0:
            raise ValueError(f"Adafactor: got beta2_decay={beta2_decay}, expected a number <= 0")
        if not d >= 1:
            raise ValueError(f"Adafactor: got d={d}, expected a number >= 1")
        defaults = settings(
            "Adafactor", lr=lr, beta2_decay=beta2_decay, d=d, weight_decay=weight_decay,
            foreach=foreach, maximize=maximize,
        )  # fmt: skip
        super().__init__(params, {**defaults, "eps": eps})

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        if parameter.ndim < 2:
            return {"step": 0, **zeros_like(parameter, "variance")}
        rows = zeros_like(parameter[..., :, :1], "row_var")  # (…, m, 1)
        columns = zeros_like(parameter[..., :1, :], "col_var")  # (…, 1, n)
        return {"step": 0, **rows, **columns}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library, lr = xp(parameter), float(group["lr"])
        state["step"] += 1
        if not parameter.size:
            return
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = float(library.finfo(parameter.dtype).eps)
        if group["maximize"]:
            gradient = -gradient
        weight = state["step"] ** group["beta2_decay"]
        alpha = max(eps2, _rms(parameter)) * min(lr, 1 / state["step"] ** 0.5)
        if group["weight_decay"]:
            parameter *= 1 - lr * group["weight_decay"]
        if gradient.ndim > 1:
            rows, columns = state["row_var"], state["col_var"]
            square = gradient * gradient
            lerp_(rows, square.mean(axis=-1, keepdims=True), weight)
            lerp_(columns, square.mean(axis=-2, keepdims=True), weight)
            variance = rows * columns  # (…, m, n)
            variance /= library.maximum(rows.mean(axis=-2, keepdims=True), eps1)
        else:
            variance = state["variance"]
            lerp_(variance, gradient * gradient, weight)
        change = 1 / library.sqrt(library.maximum(variance, eps1 * eps1)) * gradient
        parameter -= change * (alpha / max(1.0, _rms(change) / group["d"]))


def _rms(x: Array) -> float:
    """√(mean x²)"""
    return float(xp(x).sqrt((x * x).sum())) / x.size**0.5
