"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..backend import xp
from ..kernels.machinery.route import fast_version, fast_version_on_gpu, fits_kernel
from .optimizer import Optimizer, descent, zeros_like
from .settings import settings
from .steps import add_product_, add_ratio_, lerp_


class Adam(Optimizer):
    """m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  p ← p − lr·m̂ / (√v̂ + ε)

    with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ). weight_decay adds weight_decay·p to the gradient;
    decoupled_weight_decay subtracts lr·weight_decay·p from the parameter instead, as in AdamW.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        decoupled_weight_decay: bool = False,
    ):
        defaults = settings(
            type(self).__name__, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
            amsgrad=amsgrad, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable, fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        return {"step": 0, **zeros_like(parameter, *names)}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = xp(parameter)
        mean, square, (beta1, beta2) = state["exp_avg"], state["exp_avg_sq"], group["betas"]
        # p − lr·m̂/(√v̂ + ε), with the bias corrections as numbers
        rate, root = self.count_step(state, group)
        kernel = fast_version_on_gpu("adam", "adam_update", parameter)
        if kernel and not group["amsgrad"]:
            gradient = -gradient if group["maximize"] else gradient
            return kernel(parameter, gradient, mean, square, group, rate, root)
        gradient = descent(parameter, gradient, group)
        lerp_(mean, gradient, 1 - beta1)
        square *= beta2
        add_product_(square, gradient, gradient, 1 - beta2)
        if group["amsgrad"]:
            square = library.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        size = library.sqrt(square)
        size /= root
        size += group["eps"]
        add_ratio_(parameter, mean, size, -rate)

    def count_step(self, state: dict, group: dict) -> tuple[float, float]:
        """t ← t + 1 in the state of a parameter; returns lr / (1 − β₁ᵗ) and √(1 − β₂ᵗ)."""
        state["step"] += 1
        beta1, beta2 = group["betas"]
        rate = float(group["lr"]) / (1 - beta1 ** state["step"])
        return rate, math.sqrt(1 - beta2 ** state["step"])

    def sweep(self, parameters: list, group: dict) -> list:
        """Update all float32 parameters with one kernel, if they are large enough together."""
        swept = [] if group["amsgrad"] else [p for p in parameters if fits_kernel(*self._arrays(p))]
        arrays, gradients = [p.array for p in swept], [p._grad.array for p in swept]
        kernel = fast_version("adam", "adam_update", arrays)
        if not swept or not kernel:
            return parameters
        for p in swept:
            if not self.state[p]:
                self.state[p].update(self.new_state(p.array, group))
        states = [self.state[p] for p in swept]
        rates, roots = zip(*[self.count_step(state, group) for state in states])
        kernel(arrays, gradients, states, group, rates, roots)
        done = set(swept)
        return [p for p in parameters if p not in done]

    def _arrays(self, p: Any) -> tuple:
        """The arrays that the kernel reads and writes for a parameter."""
        state = self.state[p]
        kept = (state["exp_avg"], state["exp_avg_sq"]) if state else ()
        return p.array, p._grad.array, *kept


class AdamW(Adam):
    """Adam with decoupled weight decay: p ← p·(1 − lr·weight_decay) before the step."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, foreach=foreach,
            fused=fused, capturable=capturable, differentiable=differentiable,
            decoupled_weight_decay=True,
        )  # fmt: skip
