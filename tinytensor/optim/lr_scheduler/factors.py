"""Schedules by a factor: constant, linear, polynomial, in steps, exponential, or your own."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, one_for_each_group


class LambdaLR(LRScheduler):
    """lr = base·f(epoch), for a function f or a list of them, one for each group.

    state_dict keeps the attributes of callable objects, but not plain functions.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        self._take(optimizer)
        self.lr_lambdas = one_for_each_group(f"{self._name}: lr_lambda", optimizer, lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"{self._name}: got lr_lambda of type {type(function).__name__}, expected a "
                    "function"
                )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [lr * f(self.last_epoch) for lr, f in zip(self.base_lrs, self.lr_lambdas)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(f, FunctionType) else dict(getattr(f, "__dict__", {}))
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = {key: value for key, value in state_dict.items() if key != "lr_lambdas"}
        super().load_state_dict(rest)
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes:
                function.__dict__.update(attributes)


class MultiplicativeLR(LambdaLR):
    """lr ← lr·f(epoch), for a function f or a list of them, one for each group."""

    def get_lr(self) -> list[float]:
        present = self._present()
        if self._is_initial:
            return present
        return [lr * f(self.last_epoch) for lr, f in zip(present, self.lr_lambdas)]


class StepLR(LRScheduler):
    """lr ← lr·gamma after every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self._present(self.gamma if due else 1.0)

    def _get_closed_form_lr(self) -> list[float]:
        return self._base(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """lr ← lr·gamma at each epoch in milestones (twice at one that is listed twice)."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._present(self.gamma ** self.milestones.get(self.last_epoch, 0))

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect_right(sorted(Counter(self.milestones).elements()), self.last_epoch)
        return self._base(self.gamma**passed)


class ConstantLR(LRScheduler):
    """lr = base·factor for the first total_iters epochs, then base."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: got factor={factor}, expected 0 <= factor <= 1")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._present(self.factor)
        return self._present(1 / self.factor if self.last_epoch == self.total_iters else 1.0)

    def _get_closed_form_lr(self) -> list[float]:
        return self._base(1.0 if self.last_epoch >= self.total_iters else self.factor)


class LinearLR(LRScheduler):
    """lr from base·start_factor to base·end_factor, linearly over total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: got start_factor={start_factor}, expected 0 < factor <= 1")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: got end_factor={end_factor}, expected 0 <= factor <= 1")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._present(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._present(1 + rise / before)

    def _get_closed_form_lr(self) -> list[float]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self._base(self.start_factor + (self.end_factor - self.start_factor) * done)


class PolynomialLR(LRScheduler):
    """lr = base·(1 − epoch/total_iters)^power, down to 0."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        left = 1 - self.last_epoch / self.total_iters
        left_before = 1 - (self.last_epoch - 1) / self.total_iters
        return self._present((left / left_before) ** self.power)

    def _get_closed_form_lr(self) -> list[float]:
        left = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return self._base(left**self.power)


class ExponentialLR(LRScheduler):
    """lr ← lr·gamma after every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._present(1.0 if self._is_initial else self.gamma)

    def _get_closed_form_lr(self) -> list[float]:
        return self._base(self.gamma**self.last_epoch)
