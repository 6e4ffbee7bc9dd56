"""Hooks: functions that run before or after a module's forward and backward.

A hook belongs to one module (`module.register_forward_hook`), or to all of them
(`nn.modules.module.register_module_forward_hook`, in global_hooks.py): those of all modules run
first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from tinytensor.autograd.hooks import RemovableHandle
from tinytensor.tensor import Tensor

from .backward_hooks import Watched


class Hooks:
    """Hooks by kind, in the order in which they were registered: {id of the handle: hook}.

    The further dicts hold the ids of hooks that were registered with an option.
    """

    def __init__(self) -> None:
        self.forward_pre: dict[int, Callable] = {}
        self.forward_pre_with_kwargs: dict[int, bool] = {}
        self.forward: dict[int, Callable] = {}
        self.forward_with_kwargs: dict[int, bool] = {}
        self.forward_always_called: dict[int, bool] = {}
        self.backward_pre: dict[int, Callable] = {}
        self.backward: dict[int, Callable] = {}
        self.backward_is_full: bool | None = None  # None until there is one

    def any(self) -> bool:
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)

    def add_backward(self, hook: Callable, full: bool, prepend: bool = False) -> RemovableHandle:
        """Register a backward hook; those of the deprecated kind do not mix with full ones."""
        if self.backward_is_full is (not full):
            raise RuntimeError(
                "register_backward_hook: got both full and other backward hooks, expected one kind "
                "only; use register_full_backward_hook"
            )
        self.backward_is_full = full
        return add(self.backward, hook, prepend)


class Everywhere(Hooks):
    """Hooks of all modules. `active` may stay True after the last was removed, until a call."""

    active = False


everywhere = Everywhere()


def add(
    kind: dict, hook: Any, prepend: bool = False, options: Iterable[tuple[dict, bool]] = ()
) -> RemovableHandle:
    """Register a hook; the handle's remove() removes it, also from the dicts of its options."""
    chosen = [ids for ids, used in options if used]
    handle = RemovableHandle(kind, extra_dict=chosen)
    kind[handle.id] = hook
    for ids in chosen:
        ids[handle.id] = True
    if prepend:
        others = [key for key in kind if key != handle.id]
        for key in others:
            kind[key] = kind.pop(key)
    return handle


def _kind(name: str) -> property:
    """A dict of Hooks as an attribute of the module, as code that clears hooks uses it."""

    def get(module: Any) -> Any:
        return getattr(module._own_hooks(), name)

    def put(module: Any, hooks: Any) -> None:
        setattr(module._own_hooks(), name, hooks)

    return property(get, put)


class ModuleHooks:
    """The part of Module that registers hooks."""

    _hooks: Any  # Hooks, or None for a module without any

    _forward_pre_hooks = _kind("forward_pre")
    _forward_pre_hooks_with_kwargs = _kind("forward_pre_with_kwargs")
    _forward_hooks = _kind("forward")
    _forward_hooks_with_kwargs = _kind("forward_with_kwargs")
    _forward_hooks_always_called = _kind("forward_always_called")
    _backward_pre_hooks = _kind("backward_pre")
    _backward_hooks = _kind("backward")
    _is_full_backward_hook = _kind("backward_is_full")

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            object.__setattr__(self, "_hooks", Hooks())
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args[, kwargs]) before forward; it may return other arguments."""
        own = self._own_hooks()
        options = (own.forward_pre_with_kwargs, with_kwargs)
        return add(own.forward_pre, hook, prepend, [options])

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:  # fmt: skip
        """Call hook(module, args[, kwargs], output) after forward; it may return another output.

        always_call: call it also when forward raises an error, with None as the output.
        """
        return add_forward(self._own_hooks(), hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(module, grad_output) before backward enters the module."""
        return add(self._own_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) after backward has left the module."""
        return self._own_hooks().add_backward(hook, True, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """register_full_backward_hook, under its deprecated name.

        After it the module's output may be written to in place.
        """
        return self._own_hooks().add_backward(hook, False)


def add_forward(
    hooks: Hooks, hook: Callable, prepend: bool, with_kwargs: bool, always_call: bool
) -> RemovableHandle:
    options = [
        (hooks.forward_with_kwargs, with_kwargs),
        (hooks.forward_always_called, always_call),
    ]
    return add(hooks.forward, hook, prepend, options)


def call_with_hooks(module: Any, args: tuple, kwargs: dict) -> Any:
    """module.forward(*args, **kwargs) with the hooks of all modules and its own around it."""
    everywhere.active = everywhere.any()
    own: Hooks = module._hooks or _NONE
    called: set[int] = set()
    output = None
    try:
        args, kwargs = _before(module, own, args, kwargs)
        watched = None
        pre = [*everywhere.backward_pre.values(), *own.backward_pre.values()]
        post = [*everywhere.backward.values(), *own.backward.values()]
        if pre or post:
            full = bool(pre) or any(h.backward and h.backward_is_full for h in (everywhere, own))
            watched = Watched(module, pre, post, full)
            args = watched.inputs(args)
        output = module.forward(*args, **kwargs)
        for hooks, key, hook in _each(own, "forward"):
            called.add(key)
            seen = (args, kwargs) if key in hooks.forward_with_kwargs else (args,)
            result = hook(module, *seen, output)
            output = output if result is None else result
        if watched is None:
            return output
        if not isinstance(output, (Tensor, tuple)):
            warnings.warn(
                f"{type(module).__name__}: got an output of type {type(output).__name__}; for "
                "backward hooks to be called, it should be a Tensor or a tuple of Tensors",
                stacklevel=3,
            )
        return watched.outputs(output)
    except Exception:
        for hooks, key, hook in _each(own, "forward"):
            if key not in hooks.forward_always_called or key in called:
                continue
            seen = (args, kwargs) if key in hooks.forward_with_kwargs else (args,)
            try:
                result = hook(module, *seen, output)
            except Exception as error:
                warnings.warn(
                    f"{type(module).__name__}: a forward hook with always_call=True raised an "
                    f"exception that was silenced as another error was raised in forward: {error}",
                    stacklevel=3,
                )
            else:
                output = output if result is None else result
        raise


_NONE = Hooks()  # of a module without hooks


def _each(own: Hooks, kind: str) -> list[tuple[Hooks, int, Callable]]:
    """(where it is registered, id, hook): first those of all modules, then the module's own."""
    return [
        (hooks, key, hook)
        for hooks in (everywhere, own)
        for key, hook in getattr(hooks, kind).items()
    ]


def _before(module: Any, own: Hooks, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Run the forward pre-hooks; return the arguments, as the hooks changed them."""
    for hooks, key, hook in _each(own, "forward_pre"):
        takes_kwargs = key in hooks.forward_pre_with_kwargs
        result = hook(module, args, kwargs) if takes_kwargs else hook(module, args)
        if result is None:
            continue
        if not takes_kwargs:
            args = result if isinstance(result, tuple) else (result,)
        elif isinstance(result, tuple) and len(result) == 2:
            args, kwargs = result
        else:
            raise RuntimeError(
                f"forward pre-hook: got {type(result).__name__}, expected None or a tuple "
                "(new args, new kwargs)"
            )
    return args, kwargs
