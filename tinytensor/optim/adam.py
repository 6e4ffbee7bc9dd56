"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..backend import xp
from ..kernels.machinery.route import fast_version, fast_version_on_gpu, fits_kernel
from .checks import require_betas, require_non_negative
from .optimizer import Optimizer
from .steps import add_product_, add_ratio_, lerp_


class Adam(Optimizer):
    """m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  p ← p − lr·m̂ / (√v̂ + ε)

    with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ). weight_decay adds weight_decay·p to the gradient;
    decoupled_weight_decay takes lr·weight_decay·p off the parameter instead, as AdamW does.
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
        name = type(self).__name__
        require_non_negative(name, lr=lr, eps=eps, weight_decay=weight_decay)
        require_betas(name, betas)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def update_all(self, parameters: list, group: dict) -> None:
        """As of any optimiser; by a kernel in one sweep where that pays."""
        swept = [] if group["amsgrad"] else [p for p in parameters if self._can_sweep(p)]
        arrays = [p.array for p in swept]
        kernel = fast_version("adam", "adam_update", arrays)
        if kernel:
            gradients = [p._grad.array for p in swept]
            states = [self.state[p] for p in swept]
            corrections = [self.advance(*pair, group) for pair in zip(arrays, states)]
            rates = [float(group["lr"]) / correction1 for correction1, _ in corrections]
            roots = [correction2 for _, correction2 in corrections]
            kernel(arrays, gradients, states, group, rates, roots)
            done = set(swept)
            parameters = [p for p in parameters if p not in done]
        super().update_all(parameters, group)

    def _can_sweep(self, p: Any) -> bool:
        state = self.state[p]
        kept = (state["exp_avg"], state["exp_avg_sq"]) if state else ()
        return fits_kernel(p.array, p._grad.array, *kept)

    def advance(self, parameter: Any, state: dict, group: dict) -> tuple[float, float]:
        """Count a step in the parameter's state, which is made if there is none.

        Gives the bias corrections as numbers: 1 − β₁ᵗ and √(1 − β₂ᵗ).
        """
        if not state:
            names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
            made = {name: xp(parameter).zeros_like(parameter) for name in names}
            state.update(step=0, **made)  # all at once: Ctrl-C must not leave half of it
        state["step"] += 1
        beta1, beta2 = group["betas"]
        return 1 - beta1 ** state["step"], math.sqrt(1 - beta2 ** state["step"])

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        library = xp(parameter)
        beta1, beta2 = group["betas"]
        lr, decay = float(group["lr"]), group["weight_decay"]
        # p − lr·m̂/(√v̂ + ε), with the bias corrections taken out as numbers
        correction1, correction2 = self.advance(parameter, state, group)
        if group["maximize"]:
            gradient = -gradient
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        kernel = fast_version_on_gpu("adam", "adam_update", parameter)
        if kernel and not group["amsgrad"]:
            kernel(parameter, gradient, mean, square, group, lr / correction1, correction2)
            return
        if decay:
            if group["decoupled_weight_decay"]:
                parameter *= 1 - lr * decay
            else:
                gradient = gradient + parameter * decay
        lerp_(mean, gradient, 1 - beta1)
        square *= beta2
        add_product_(square, gradient, gradient, 1 - beta2)
        if group["amsgrad"]:
            square = library.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        size = library.sqrt(square)
        size /= correction2
        size += group["eps"]
        add_ratio_(parameter, mean, size, -lr / correction1)


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
