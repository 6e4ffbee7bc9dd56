"""Hooks on optimisers: functions called around `step`, `state_dict` and `load_state_dict`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from ..autograd.hooks import RemovableHandle

__all__ = ["register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

BEFORE_EVERY_STEP: dict[int, Callable] = {}  # of all optimisers
AFTER_EVERY_STEP: dict[int, Callable] = {}
NONE: Any = MappingProxyType({})


def _add(hooks: dict[int, Callable], hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(others)
    return handle


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) before each step of every optimiser."""
    return _add(BEFORE_EVERY_STEP, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) after each step of every optimiser."""
    return _add(AFTER_EVERY_STEP, hook)


class Hooks:
    """The hooks of one optimiser. Each register_… returns a handle; `handle.remove()` undoes it."""

    NAMES = (
        "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks",
        "_optimizer_state_dict_pre_hooks", "_optimizer_state_dict_post_hooks",
        "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
    )  # fmt: skip
    _optimizer_step_pre_hooks: dict[int, Callable] = NONE
    _optimizer_step_post_hooks: dict[int, Callable] = NONE
    _optimizer_state_dict_pre_hooks: dict[int, Callable]
    _optimizer_state_dict_post_hooks: dict[int, Callable]
    _optimizer_load_state_dict_pre_hooks: dict[int, Callable]
    _optimizer_load_state_dict_post_hooks: dict[int, Callable]
    _in_step = False
    _opt_called = False  # whether a step was made; schedulers warn if they come first
    _step_when_scheduled: Any = None  # the instance's own `step`, if any, when scheduled

    def _no_hooks(self) -> None:
        """Start without hooks. A class with a `step` of its own gets one that runs them."""
        for name in self.NAMES:
            self.__dict__.setdefault(name, {})
        own_step: Any = type(self).step  # type: ignore[attr-defined]
        if not getattr(own_step, "hooked", False):
            type(self).step = with_hooks(own_step)  # type: ignore[attr-defined]

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may return new (args, kwargs)."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer) before `state_dict`. prepend: before the other hooks."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer, state_dict) after `state_dict`; it may return another one."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer, state_dict) before it is loaded; it may return another one."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer) after `load_state_dict`."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def with_hooks(step: Callable) -> Callable:
    """A `step` that runs the hooks around the given one."""

    @functools.wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        optimizer = args[0]
        if optimizer._in_step:  # super().step() of a class with its own step
            return step(*args, **kwargs)
        optimizer._in_step = True
        try:
            before = optimizer._optimizer_step_pre_hooks
            for hook in [*BEFORE_EVERY_STEP.values(), *before.values()]:
                replaced = hook(optimizer, args, kwargs)
                if replaced is not None:
                    args, kwargs = _arguments(optimizer, replaced)
            result = step(*args, **kwargs)
            optimizer._opt_called = True
            after = optimizer._optimizer_step_post_hooks
            for hook in [*after.values(), *AFTER_EVERY_STEP.values()]:
                hook(optimizer, args, kwargs)
            return result
        finally:
            optimizer._in_step = False

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def _arguments(optimizer: Any, replaced: Any) -> tuple[tuple, dict]:
    if not isinstance(replaced, tuple) or len(replaced) != 2:
        raise RuntimeError(
            f"{type(optimizer).__name__}: a hook before step returned {replaced!r}, expected None "
            "or (args, kwargs)"
        )
    return replaced
