"""Schedules that follow a curve: cosines, with restarts or a warm-up, and the Transformer's."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler


class CosineAnnealingLR(LRScheduler):
    """lr = eta_min + (base − eta_min)·(1 + cos(π·epoch/T_max))/2"""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._present()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        before, now = self._height(self.last_epoch - 1), self._height(self.last_epoch)
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the bottom of the curve no factor raises the rate again: add the first rise.
            rise = 1 - math.cos(math.pi / self.T_max)
            return [
                lr + (base - self.eta_min) * rise / 2
                for base, lr in zip(self.base_lrs, self._present())
            ]
        return [now / before * (lr - self.eta_min) + self.eta_min for lr in self._present()]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[float]:
        height = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """lr = eta_min + (base − eta_min)·(1 + cos(π·T_cur/T_i))/2,  T_cur epochs after a restart

    The first cycle has T_i = T_0 epochs, each later one T_mult times as many as the one before.
    `step(epoch)` also takes fractions of epochs: `step(epoch + batch / batches)`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ):
        for name, value in {"T_0": T_0, "T_mult": T_mult}.items():
            if value < 1 or not isinstance(value, int):
                raise ValueError(f"{self._name}: got {name}={value}, expected an integer >= 1")
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"{self._name}: got epoch={epoch}, expected a number >= 0")
        else:
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._set_from(self.get_lr)


class WarmupCosineLR(LRScheduler):
    """Linear warm-up to base over warmup_steps, then a cosine down to min_lr at total_steps.

    lr = base·(s + 1)/(warmup_steps + 1) at step s < warmup_steps, then
    lr = min_lr + (base − min_lr)·(1 + cos(π·(s − warmup_steps)/(total_steps − warmup_steps)))/2,
    and min_lr after total_steps. This is nanoGPT's schedule; PyTorch has no such class.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        warmup_steps: int,
        total_steps: int,
        min_lr: float = 0.0,
        last_epoch: int = -1,
    ):
        if not 0 <= warmup_steps <= total_steps:
            raise ValueError(
                f"WarmupCosineLR: got warmup_steps={warmup_steps} and total_steps={total_steps}, "
                "expected 0 <= warmup_steps <= total_steps"
            )
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.min_lr = min_lr
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step, warmup = self.last_epoch, self.warmup_steps
        if step < warmup:
            return self._base((step + 1) / (warmup + 1))
        if step >= self.total_steps:
            return [self.min_lr for _ in self.base_lrs]
        done = (step - warmup) / (self.total_steps - warmup)
        height = (1 + math.cos(math.pi * done)) / 2
        return [self.min_lr + (base - self.min_lr) * height for base in self.base_lrs]


class TransformerLR(LRScheduler):
    """lr = base·d_model^−½·min(s^−½, s·warmup_steps^−3⁄2),  s = 1, 2, …  (Vaswani et al. 2017)

    Linear warm-up until step warmup_steps, then decay as 1/√s. Give the optimiser lr=1.0 for the
    paper's rates; PyTorch has no such class.
    """

    def __init__(
        self, optimizer: Optimizer, d_model: int, warmup_steps: int = 4000, last_epoch: int = -1
    ):
        for name, value in {"d_model": d_model, "warmup_steps": warmup_steps}.items():
            if value < 1:
                raise ValueError(f"TransformerLR: got {name}={value}, expected a number >= 1")
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step = self.last_epoch + 1
        return self._base(self.d_model**-0.5 * min(step**-0.5, step * self.warmup_steps**-1.5))
