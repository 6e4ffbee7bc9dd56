"""Backward hooks of a module: they see the gradients of its outputs and of its inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytensor.autograd.op import Op
from tinytensor.autograd.settings import is_grad_enabled
from tinytensor.autograd.variable import wrap, writes_of
from tinytensor.autograd.views import View
from tinytensor.backend import is_array
from tinytensor.tensor import Tensor


class Gate(Op):
    """y = x, for several tensors at once;  dx = the module's hooks applied to g"""

    def forward(self, run: Callable, *tensors: Any) -> tuple:
        self.run = run
        return tuple(t.view() for t in tensors)

    def backward(self, *grads: Any) -> tuple:
        return (None, *self.run(grads))


class Gated:
    """Stands as the op of what passed a gate: a view of the value before it, not to be written to.

    A write would bypass the gate, and leave the value before it with a stale gradient.
    """

    op_name = "backward hook"
    refuses_writes = True

    @classmethod
    def apply(cls, x: Any) -> Any:
        raise RuntimeError(
            f"backward hook: a view of shape {tuple(x.shape)}, which a module with backward hooks "
            "got or returned, is used after its base or another view was written to in place; "
            "clone() it before writing"
        )


class Watched:
    """One call of a module with backward hooks, which run at gates on its outputs and inputs.

    Hooks get one gradient for each argument and each output, None for those that are not tracked.
    full: whether the outputs may not be written to, as those of modules with full hooks.
    """

    def __init__(self, module: Any, before: list[Callable], after: list[Callable], full: bool):
        self.module, self.before, self.after, self.full = module, before, after, full
        self.inputs_tracked = False
        self.arguments = 0
        self.grad_output: tuple | None = None

    def inputs(self, args: tuple) -> tuple:
        """Pass the arguments through a gate that sees the gradients of the inputs."""
        self.arguments = len(args)
        gated = self._through_gate(args, self._at_inputs)
        self.inputs_tracked = gated is not args
        return gated

    def outputs(self, output: Any) -> Any:
        """Pass the output through a gate that sees the gradients of the outputs."""
        values = output if isinstance(output, tuple) else (output,)
        gated = self._through_gate(values, self._at_outputs, self.full)
        return gated if isinstance(output, tuple) else gated[0]

    def _through_gate(self, values: tuple, at_gate: Callable, is_view: bool = True) -> tuple:
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
            tensor._writes = writes_of(values[i])
            if is_view:
                tensor._view = View(values[i], Gated, ())
            result[i] = tensor
        return tuple(result) if type(values) is tuple else type(values)(*result)

    def _at_outputs(self, grads: tuple) -> tuple:
        for hook in self.before:
            grads = _replaced("pre-hook", grads, hook(self.module, grads))
        self.grad_output = grads
        if not self.inputs_tracked:
            self._without_inputs()
        return grads

    def _without_inputs(self) -> None:
        """No gradient will reach the inputs: call the hooks at the outputs."""
        if self.after and self.full:
            warnings.warn(
                f"{type(self.module).__name__}: a full backward hook is called with the gradients "
                "of the outputs only, since no inputs require gradients",
                stacklevel=2,
            )
        for hook in self.after:
            result = hook(self.module, (None,) * self.arguments, self.grad_output)
            if result is not None and not (
                isinstance(result, tuple) and all(g is None for g in result)
            ):
                raise RuntimeError(
                    f"{type(self.module).__name__}: a backward hook returned gradients where no "
                    "input requires gradient, expected None"
                )
        self.grad_output = None

    def _at_inputs(self, grads: tuple) -> tuple:
        if self.grad_output is None:  # the gradient came another way, not through the outputs
            return grads
        for hook in self.after:
            grads = _replaced("hook", grads, hook(self.module, grads, self.grad_output))
        self.grad_output = None
        return grads


def _replaced(what: str, grads: tuple, result: Any) -> tuple:
    """The gradients that a hook returned, or those that it was given."""
    if result is None:
        return grads
    changed = result if isinstance(result, tuple) else (result,)
    if len(changed) != len(grads):
        raise RuntimeError(
            f"a backward {what} returned {len(changed)} gradients, expected {len(grads)}"
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
