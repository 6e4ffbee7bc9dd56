"""ReduceLROnPlateau: lower the learning rate when a metric stops improving."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.site import warn
from ..optimizer import Optimizer
from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, one_for_each_group, set_lr


class ReduceLROnPlateau(LRScheduler):
    """lr ← max(lr·factor, min_lr) after more than `patience` epochs without a better metric.

    mode            "min": lower is better; "max": higher
    threshold       the smallest improvement that counts: relative to the best (threshold_mode
                    "rel"), or absolute ("abs")
    cooldown        epochs to wait after a reduction before counting again
    min_lr          one number, or one for each group
    eps             smaller changes of the learning rate are skipped

    Call `scheduler.step(loss)` after each epoch.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ):
        self._take(optimizer)
        if factor >= 1:
            raise ValueError(f"{self._name}: got factor={factor}, expected a factor < 1")
        if mode not in ("min", "max"):
            raise ValueError(f"{self._name}: got mode={mode!r}, expected 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"{self._name}: got threshold_mode={threshold_mode!r}, expected 'rel' or 'abs'"
            )
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown = cooldown
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = one_for_each_group(f"{self._name}: min_lr", optimizer, min_lr)
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._current()
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record the metric of an epoch: a number, or a tensor of one element."""
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._current()

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"{self._name}: got {len(groups)} param groups, expected {len(self.min_lrs)}, "
                    "one for each min_lr; change scheduler.min_lrs along with the groups"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, bound in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, bound)
            if old - new > self.eps:
                set_lr(group, new)

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            needed = best * (1 + sign * self.threshold)
        else:
            needed = best + sign * self.threshold
        return a < needed if self.mode == "min" else a > needed
