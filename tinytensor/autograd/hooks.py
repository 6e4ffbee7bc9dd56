"""Functions called with a gradient once it is complete."""

from __future__ import annotations

from typing import Any, Callable

from .variable import Variable, unwrap, wrap


class RemovableHandle:
    """Returned by register_hook; `remove()` takes the hook away."""

    _next_id = 0

    def __init__(self, hooks: dict):
        self._hooks = hooks
        self.id = RemovableHandle._next_id
        RemovableHandle._next_id += 1

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def add_hook(owner: Any, hook: Callable) -> RemovableHandle:
    """Register `hook` on a node or a leaf."""
    if owner._hooks is None:
        owner._hooks = {}
    handle = RemovableHandle(owner._hooks)
    owner._hooks[handle.id] = hook
    return handle


def run_hooks(owner: Any, gradient: Any) -> Any:
    """Pass a gradient through the hooks: each may return a replacement. Hooks see tensors."""
    raw = not isinstance(gradient, Variable)
    value = wrap(gradient_array(gradient)) if raw else gradient
    for hook in list(owner._hooks.values()):
        replacement = hook(value)
        if replacement is not None:
            if tuple(replacement.shape) != tuple(value.shape):
                raise RuntimeError(
                    f"hook: returned a gradient of shape {tuple(replacement.shape)}, expected "
                    f"{tuple(value.shape)}"
                )
            value = replacement
    return unwrap(value) if raw else value


def gradient_array(gradient: Any) -> Any:
    """A gradient as an array (NumPy's 0-d results are scalars) that a hook may write to."""
    import numpy as np

    from ..backend import _modules

    array = gradient if type(gradient) in _modules else np.asarray(gradient)
    return array if array.flags.writeable else array.copy()
