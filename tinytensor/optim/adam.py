"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.variable import Variable
from ..kernels.machinery.route import fast_version, fast_version_on_gpu, fits_kernel
from .optimizer import Optimizer
from .settings import require_both_tensors, settings
from .steps import (
    add_product_,
    add_ratio_,
    descent,
    lerp_,
    library_of,
    number,
    raise_to_,
    zeros_like,
)


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
        if not all(isinstance(b, float) for b in betas):
            require_both_tensors(type(self).__name__, betas)
        if foreach and not capturable and any(isinstance(x, Variable) for x in (lr, *betas)):
            raise ValueError(
                f"{type(self).__name__}: got lr or betas as tensors and foreach=True, expected "
                "numbers, or capturable=True"
            )
        super().__init__(params, defaults)

    def new_state(self, parameter: Any, group: dict) -> dict[str, Any]:
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        return {"step": 0, **zeros_like(parameter, *names)}

    def update(self, parameter: Any, gradient: Any, state: dict, group: dict) -> None:
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        beta1, beta2 = betas = self.betas(group)
        # p − lr·m̂/(√v̂ + ε), with the bias corrections as numbers
        rate, root = self.count_step(state, group, betas)
        kernel = fast_version_on_gpu("adam", "adam_update", parameter)
        if kernel and not group["amsgrad"]:
            gradient = -gradient if group["maximize"] else gradient
            return kernel(parameter, gradient, mean, square, group, rate, root)
        gradient = descent(parameter, gradient, group)
        lerp_(mean, gradient, 1 - beta1)
        square *= beta2
        add_product_(square, gradient, gradient, 1 - beta2)
        if group["amsgrad"]:
            square = raise_to_(state, "max_exp_avg_sq", square)
        size = library_of(square).sqrt(square) / root + group["eps"]
        add_ratio_(parameter, mean, size, -rate)

    def count_step(self, state: dict, group: dict, betas: tuple) -> tuple[float, float]:
        """t ← t + 1 in the state of a parameter; returns lr / (1 − β₁ᵗ) and √(1 − β₂ᵗ)."""
        state["step"] += 1
        beta1, beta2 = betas
        rate = number(group["lr"], group) / (1 - beta1 ** state["step"])
        return rate, (1 - beta2 ** state["step"]) ** 0.5

    def betas(self, group: dict) -> tuple[Any, Any]:
        """β₁ and β₂, which may be tensors."""
        betas = group["betas"]
        if type(betas[0]) is float:
            return betas
        return number(betas[0], group), number(betas[1], group)

    def sweep(self, parameters: list, group: dict) -> list:
        """Update all float32 parameters with one kernel, if they are large enough together."""
        swept = [] if group["amsgrad"] else [p for p in parameters if fits_kernel(*self._arrays(p))]
        arrays, gradients = [p.array for p in swept], [p._grad.array for p in swept]
        kernel = fast_version("adam", "adam_update", arrays)
        if not swept or not kernel:
            return parameters
        states = [self.state[p].raw for p in swept]
        for p, state in zip(swept, states):
            if not state:
                state.update(self.new_state(p.array, group))
        betas = self.betas(group)
        rates, roots = zip(*[self.count_step(state, group, betas) for state in states])
        kernel(arrays, gradients, states, group, rates, roots)
        done = set(swept)
        return [p for p in parameters if p not in done]

    def _arrays(self, p: Any) -> tuple:
        """The arrays that the kernel reads and writes for a parameter."""
        state = self.state[p].raw
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # also after loading the state of an Adam
            group["decoupled_weight_decay"] = True
