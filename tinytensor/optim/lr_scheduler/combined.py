"""Several schedulers on one optimiser: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, set_lr
from .plateau import ReduceLROnPlateau


class _Combined(LRScheduler):
    """Shared by both: checking the schedulers, saving and loading their state."""

    _schedulers: list[LRScheduler]

    def _take_schedulers(self, schedulers: Sequence[LRScheduler], optimizer: Any) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{self._name}: got no schedulers, expected at least one")
        self._take(optimizer or schedulers[0].optimizer)
        for i, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{self._name}: schedulers[{i}] is a ReduceLROnPlateau, whose step needs a "
                    "measure; step it on its own"
                )
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(
                    f"{self._name}: schedulers[{i}], a {type(scheduler).__name__}, has another "
                    "optimizer; expected one for all"
                )
        self._schedulers = list(schedulers)

    def _initial_step(self) -> None:
        """Set the rates of the first epoch. Those inside step again, too early to be warned of."""
        called, self.optimizer._opt_called = self.optimizer._opt_called, True
        try:
            super()._initial_step()
        finally:
            self.optimizer._opt_called = called

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = {key: value for key, value in state_dict.items() if key != "_schedulers"}
        super().load_state_dict(rest)
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One scheduler after another: each epoch in milestones starts the next one."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ):
        self._take_schedulers(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{self._name}: got {len(schedulers)} schedulers and {len(milestones)} milestones, "
                f"expected {len(schedulers) - 1} milestones, one for each change"
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        # Each scheduler took its first step when it was made. Undo that, then start only one.
        for group in self.optimizer.param_groups:
            set_lr(group, group["initial_lr"])
        for scheduler in self._all_single(self._schedulers):
            scheduler.last_epoch -= 1
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _all_single(self, schedulers: Sequence[LRScheduler]) -> list[LRScheduler]:
        """The schedulers, with each combined one replaced by those inside it."""
        found: list[LRScheduler] = []
        for scheduler in schedulers:
            inner = getattr(scheduler, "_schedulers", None)
            found += self._all_single(inner) if inner else [scheduler]
        return found

    def step(self) -> None:  # type: ignore[override]
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedulers at once: each changes the rates that the one before it set."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        self._take_schedulers(schedulers, optimizer)
        self._last_lr = self._current()

    def step(self) -> None:  # type: ignore[override]
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._current()
