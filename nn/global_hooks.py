"""Hooks of all modules, as in torch.nn.modules.module: register_module_forward_hook and others.

They are meant for debugging and profiling, and run before the hooks of the module itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytensor.autograd.hooks import RemovableHandle

from .module_hooks import add, add_forward, everywhere


class Registered:
    """Hooks that see what is registered in any module: hook(module, name, value)."""

    def __init__(self) -> None:
        self.parameter: dict[int, Callable] = {}
        self.buffer: dict[int, Callable] = {}
        self.module: dict[int, Callable] = {}


registered = Registered()


def as_registered(hooks: dict[int, Callable], module: Any, name: str, value: Any) -> Any:
    """`value`, or what a hook returned in its place."""
    for hook in list(hooks.values()):
        replacement = hook(module, name, value)
        value = value if replacement is None else replacement
    return value


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, parameter) when a module gets one; it may return another."""
    return add(registered.parameter, hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, buffer) when a module gets one; it may return another."""
    return add(registered.buffer, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, name, submodule) when a module gets one; it may return another."""
    return add(registered.module, hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, args) before each forward; it may return other arguments."""
    everywhere.active = True
    return add(everywhere.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call hook(module, args[, kwargs], output) after each forward; it may return another output.

    always_call: call it also when forward raises an error, with None as the output.
    """
    everywhere.active = True
    return add_forward(everywhere, hook, False, with_kwargs, always_call)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """register_module_full_backward_hook, under its deprecated name."""
    handle = everywhere.add_backward(hook, False)
    everywhere.active = True
    return handle


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, grad_output) before backward enters a module."""
    everywhere.active = True
    return add(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) after backward has left a module."""
    handle = everywhere.add_backward(hook, True)
    everywhere.active = True
    return handle


# Under the names that PyTorch's file has; a test that uses hooks of all modules clears them.
_global_parameter_registration_hooks = registered.parameter
_global_buffer_registration_hooks = registered.buffer
_global_module_registration_hooks = registered.module
_global_forward_pre_hooks = everywhere.forward_pre
_global_forward_hooks = everywhere.forward
_global_forward_hooks_with_kwargs = everywhere.forward_with_kwargs
_global_forward_hooks_always_called = everywhere.forward_always_called
_global_backward_pre_hooks = everywhere.backward_pre
_global_backward_hooks = everywhere.backward

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
