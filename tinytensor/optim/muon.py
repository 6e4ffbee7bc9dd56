"""Muon: momentum made orthogonal, for the matrices of hidden layers (Jordan et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..backend import Array, xp
from .optimizer import Optimizer
from .settings import settings
from .steps import lerp_, zeros_like


class Muon(Optimizer):
    """m ← μm + (1−μ)g,  u = (1−μ)g + μm (nesterov; else m),  p ← p·(1 − lr·weight_decay) − lr'·U·Vᵀ

    with u = U·Σ·Vᵀ, the singular value decomposition: the step is equally long in all directions.
    For matrices only; give biases, norms and embeddings to AdamW. adjust_lr_fn: "original",
    lr' = lr·√max(1, rows/columns), or "match_rms_adamw", lr' = lr·0.2·√max(rows, columns), which
    suits lr and weight_decay that were tuned for AdamW.

    U·Vᵀ is approximated in the precision of bfloat16, as in PyTorch.
    """

    takes_complex = False

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ):
        defaults = settings(
            "Muon", lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
            ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn,
        )  # fmt: skip
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Muon: got adjust_lr_fn={adjust_lr_fn!r}, expected 'original' or 'match_rms_adamw'"
            )
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.array.ndim != 2:
                raise ValueError(
                    f"Muon: got a parameter of shape {p.array.shape}, expected matrices; "
                    "give the others to AdamW"
                )

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        return zeros_like(parameter, "momentum_buffer")

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        lr, momentum = float(group["lr"]), group["momentum"]
        mean = state["momentum_buffer"]
        lerp_(mean, gradient, 1 - momentum)
        direction = mean
        if group["nesterov"]:
            direction = gradient.copy()
            lerp_(direction, mean, momentum)
        direction = orthogonalized(
            direction, group["ns_coefficients"], group["ns_steps"], group["eps"]
        )
        rows, columns = parameter.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        parameter *= 1 - lr * group["weight_decay"]
        parameter -= direction.astype(parameter.dtype) * (lr * ratio)


def orthogonalized(matrix: Array, coefficients: tuple, steps: int, eps: float) -> Array:
    """Approximate U·Vᵀ, for the singular value decomposition U·Σ·Vᵀ, by Newton–Schulz iteration.

    Each step maps every singular value s to a·s + b·s³ + c·s⁵, which drives those in (0, 1] to
    around 1, without a decomposition. float32 in and out, with every result rounded to bfloat16.
    """
    if not 0 <= steps < 100:
        raise ValueError(f"Muon: got ns_steps={steps}, expected 0 <= ns_steps < 100")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: got {len(coefficients)} ns_coefficients, expected 3")
    library = xp(matrix)
    a, b, c = (library.float32(value) for value in coefficients)
    wide = matrix.shape[0] <= matrix.shape[1]
    x = bfloat16(matrix.astype(library.float32))
    x = x if wide else x.T  # the smaller of the two products x·xᵀ and xᵀ·x
    norm = bfloat16(library.sqrt((x * x).sum(keepdims=True)))
    x = bfloat16(x / library.maximum(norm, library.float32(eps)))  # no singular value exceeds 1
    for _ in range(steps):
        gram = bfloat16(x @ x.T)
        x = bfloat16(a * x + bfloat16(b * gram + c * (gram @ gram)) @ x)
    return x if wide else x.T


def bfloat16(x: Array) -> Array:
    """float32 numbers rounded to the nearest that bfloat16 has, ties to even."""
    library = xp(x)
    bits = library.ascontiguousarray(x).view(library.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) & 0xFFFF0000
    return library.where(library.isnan(x), x, rounded.astype(library.uint32).view(library.float32))
