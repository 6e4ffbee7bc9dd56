"""LRScheduler: changes the learning rates of an optimiser from step to step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.site import warn
from ...autograd.variable import Variable
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "step: the argument epoch is deprecated; call step() once for each epoch, and load_state_dict "
    "to resume"
)


class LRScheduler:
    """Base class. A subclass defines `get_lr`, which returns one learning rate for each group.

    Call `scheduler.step()` after `optimizer.step()`. `get_lr` reads

        self.last_epoch                 the number of steps so far
        self.base_lrs                   the learning rates that the optimiser was made with
        self.optimizer.param_groups     with the current rates in group["lr"]

    Most schedules multiply the current rate by a factor, so that several can act on one optimiser.
    `_get_closed_form_lr`, if defined, computes the same rates from base_lrs alone, to jump to an
    epoch.

    last_epoch: the epoch to resume after, for an optimiser whose state (with "initial_lr") was
    loaded.
    """

    base_lrs: list[Any]
    last_epoch: int
    _step_count = 0
    _last_lr: list[Any]
    _is_initial = False  # True during the constructor's own step, before any training
    _get_lr_called_within_step = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        self._take(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{self._name}: param_groups[{i}] has no 'initial_lr', which last_epoch="
                    f"{last_epoch} needs; load the optimiser's state first"
                )
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _take(self, optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{self._name}: got {type(optimizer).__name__}, expected an Optimizer")
        self.optimizer = optimizer
        optimizer._no_hooks()  # it has none yet if its class did not call super().__init__()
        vars(optimizer).setdefault("_step_when_scheduled", vars(optimizer).get("step"))

    def _warn_of_order(self) -> None:
        """Warn if the first step of the schedule comes before the optimiser's."""
        optimizer = self.optimizer
        where = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
        if vars(optimizer).get("step") is not optimizer._step_when_scheduled:
            warn(
                f"{self._name}: `optimizer.step()` has been overridden since the scheduler was "
                f"made; call it before `scheduler.step()`, see {where}"
            )
        elif "step" not in vars(optimizer) and not optimizer._opt_called:
            warn(
                f"{self._name}: `scheduler.step()` came before `optimizer.step()`, so the first "
                f"learning rate was skipped; call them in the other order, see {where}"
            )

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: Any = None) -> None:
        """Set the learning rates of the next epoch."""
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        closed_form = getattr(self, "_get_closed_form_lr", None) if epoch is not None else None
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set_from(closed_form or self.get_lr)

    def _set_from(self, rates: Callable[[], list]) -> None:
        """Set the learning rates that a function returns."""
        self._get_lr_called_within_step = True
        try:
            for group, lr in zip(self.optimizer.param_groups, rates(), strict=True):
                set_lr(group, lr)
        finally:
            self._get_lr_called_within_step = False
        self._last_lr = self._current()

    def get_lr(self) -> list[float]:
        """The learning rate of each group for epoch self.last_epoch."""
        raise NotImplementedError(f"{self._name}: get_lr is not implemented")

    def get_last_lr(self) -> list[float]:
        """The learning rates that this scheduler set last, one for each group: its own copies."""
        return self._last_lr

    def _current(self) -> list[Any]:
        """Copies of the current learning rates, which are numbers or tensors."""
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _present(self, factor: float = 1.0) -> list[float]:
        """The current learning rates as numbers, times a factor."""
        return [float(group["lr"]) * factor for group in self.optimizer.param_groups]

    def _base(self, factor: float) -> list[float]:
        """The initial learning rates, times a factor."""
        return [lr * factor for lr in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule, without functions and the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from the `state_dict` of a scheduler of the same class.

        The current learning rates are part of the optimiser's own state.
        """
        self.__dict__.update(state_dict)


def set_lr(group: dict, lr: float) -> None:
    """Set a group's learning rate; if it is a tensor, in place."""
    if isinstance(group["lr"], Variable):
        group["lr"].fill_(float(lr))
    else:
        group["lr"] = float(lr)


def copied(value: Any) -> Any:
    """A number, or a copy of a tensor."""
    return value.detach().clone() if isinstance(value, Variable) else value


def one_for_each_group(name: str, optimizer: Optimizer, value: Any) -> list:
    """A list of settings, one for each group: `value` itself if it is one, else repeated.

    Tensors become numbers: later changes of them have no effect.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name}: got {len(value)} values, expected {count}, one for each param group"
        )
    return [float(v) if isinstance(v, Variable) else v for v in value]
