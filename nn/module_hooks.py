"""Hooks: functions that run before or after a module's forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytensor.autograd.hooks import RemovableHandle
from tinytensor.autograd.op import Op
from tinytensor.autograd.settings import is_grad_enabled
from tinytensor.autograd.variable import wrap
from tinytensor.backend import is_array
from tinytensor.tensor import Tensor


class Hooks:
    """The hooks of one module, by kind and in the order in which they were registered."""

    def __init__(self) -> None:
        self.before: dict[int, tuple[Callable, bool]] = {}  # hook, whether it takes kwargs
        self.after: dict[int, tuple[Callable, bool, bool]] = {}  # …, whether it runs after errors
        self.before_backward: dict[int, Callable] = {}
        self.after_backward: dict[int, Callable] = {}


def add(kind: dict, hook: Any, prepend: bool = False) -> RemovableHandle:
    """Register a hook; the handle's remove() removes it."""
    handle = RemovableHandle(kind)
    kind[handle.id] = hook
    if prepend:
        others = [key for key in kind if key != handle.id]
        for key in others:
            kind[key] = kind.pop(key)
    return handle


class ModuleHooks:
    """The part of Module that registers hooks."""

    _hooks: Any  # Hooks, or None for a module without any

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            object.__setattr__(self, "_hooks", Hooks())
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args[, kwargs]) before forward; it may return other arguments."""
        return add(self._own_hooks().before, (hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:  # fmt: skip
        """Call hook(module, args[, kwargs], output) after forward; it may return another output.

        always_call: call it also when forward raises an error, with None as the output.
        """
        return add(self._own_hooks().after, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(module, grad_output) before backward enters the module."""
        return add(self._own_hooks().before_backward, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) after backward has left the module."""
        return add(self._own_hooks().after_backward, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """register_full_backward_hook, under its deprecated name."""
        return self.register_full_backward_hook(hook)


def call_with_hooks(module: Any, args: tuple, kwargs: dict) -> Any:
    """module.forward(*args, **kwargs) with the module's hooks around it."""
    hooks: Hooks = module._hooks
    called: set[int] = set()
    try:
        args, kwargs = _before(module, args, kwargs)
        watched = Watched(module) if hooks.before_backward or hooks.after_backward else None
        if watched is not None:
            args = watched.inputs(args)
        output = module.forward(*args, **kwargs)
        for key, (hook, takes_kwargs, _) in list(hooks.after.items()):
            called.add(key)
            seen = (args, kwargs, output) if takes_kwargs else (args, output)
            result = hook(module, *seen)
            output = output if result is None else result
        return output if watched is None else watched.outputs(output)
    except Exception:
        for key, (hook, takes_kwargs, always) in list(hooks.after.items()):
            if always and key not in called:
                hook(module, *((args, kwargs, None) if takes_kwargs else (args, None)))
        raise


def _before(module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Run the forward pre-hooks; return the arguments, as the hooks changed them."""
    for hook, takes_kwargs in list(module._hooks.before.values()):
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


# ------------------------------------------------------------------------------------------
# Backward
# ------------------------------------------------------------------------------------------


class Gate(Op):
    """y = x, for several tensors at once;  dx = the module's hooks applied to g"""

    def forward(self, run: Callable, *tensors: Any) -> tuple:
        self.run = run
        return tuple(t.view() for t in tensors)

    def backward(self, *grads: Any) -> tuple:
        return (None, *self.run(grads))


class Watched:
    """One call of a module with backward hooks, which run at gates on its outputs and inputs.

    Hooks get one gradient for each argument and each output, None for those that are not tracked.
    """

    def __init__(self, module: Any):
        self.module = module
        self.hooks: Hooks = module._hooks
        self.inputs_tracked = False
        self.arguments = 0
        self.grad_output: tuple = ()

    def inputs(self, args: tuple) -> tuple:
        """Pass the arguments through a gate that sees the gradients of the inputs."""
        self.arguments = len(args)
        gated = self._through_gate(args, self._at_inputs)
        self.inputs_tracked = gated is not args
        return gated

    def outputs(self, output: Any) -> Any:
        """Pass the output through a gate that sees the gradients of the outputs."""
        values = output if isinstance(output, tuple) else (output,)
        gated = self._through_gate(values, self._at_outputs)
        return gated if isinstance(output, tuple) else gated[0]

    def _through_gate(self, values: tuple, at_gate: Callable) -> tuple:
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not places or not is_grad_enabled():
            return values

        def run(grads: tuple) -> tuple:
            seen: list = [None] * len(values)
            for i, g in zip(places, grads):
                seen[i] = _as_tensor(g)
            changed = at_gate(tuple(seen))
            return _as_given(tuple(changed[i] for i in places), grads)

        result = list(values)
        for i, tensor in zip(places, Gate.apply(run, *(values[i] for i in places))):
            result[i] = tensor
        return tuple(result)

    def _at_outputs(self, grads: tuple) -> tuple:
        for hook in list(self.hooks.before_backward.values()):
            grads = _replaced(grads, hook(self.module, grads))
        self.grad_output = grads
        if not self.inputs_tracked:  # no gradient will reach the inputs
            self._at_inputs((None,) * self.arguments)
        return grads

    def _at_inputs(self, grads: tuple) -> tuple:
        for hook in list(self.hooks.after_backward.values()):
            grads = _replaced(grads, hook(self.module, grads, self.grad_output))
        return grads


def _replaced(grads: tuple, result: Any) -> tuple:
    """The gradients that a hook returned, or those that it was given."""
    if result is None:
        return grads
    changed = result if isinstance(result, tuple) else (result,)
    if len(changed) != len(grads):
        raise RuntimeError(
            f"a backward hook returned {len(changed)} gradients, expected {len(grads)}"
        )
    return changed


def _as_tensor(gradient: Any) -> Any:
    if gradient is None or isinstance(gradient, Tensor):
        return gradient
    return wrap(gradient if is_array(gradient) else np.asarray(gradient))


def _as_given(tensors: tuple, grads: tuple) -> tuple:
    """Unwrap each tensor whose gradient arrived as a raw array."""
    pairs = zip(tensors, grads)
    return tuple(t.array if t is not None and not isinstance(g, Tensor) else t for t, g in pairs)
