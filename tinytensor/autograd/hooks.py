"""Hooks: functions called with a gradient once it is complete."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from ..backend import is_writable
from .mode import outside
from .variable import Variable, as_array, own_copy, unwrap, wrap
from .views import RETAIN
from .walk import accumulate

_next_id = itertools.count().__next__


class RemovableHandle:
    """Returned by register_hook; `remove()` removes the hook."""

    def __init__(self, hooks_dict: dict, *, extra_dict: Any = ()):
        self._hooks = hooks_dict
        self._extra = [extra_dict] if isinstance(extra_dict, dict) else list(extra_dict or ())
        self.id = _next_id()
        while self.id in hooks_dict:  # hooks from a pickle bring the ids of another process
            self.id = _next_id()

    def remove(self) -> None:
        for ids in (self._hooks, *self._extra):
            ids.pop(self.id, None)

    def hooks_dict_ref(self) -> dict:
        """The dict that holds the hook."""
        return self._hooks

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


# ------------------------------------------------------------------------------------------
# On a tensor: hook(gradient)
# ------------------------------------------------------------------------------------------


class AfterAccumulation:
    """Marks a hook that is called with a leaf after its `.grad` was updated."""

    def __init__(self, hook: Callable):
        self.hook = hook


class BeforeAccumulation(AfterAccumulation):
    """Marks a hook of a leaf's AccumulateGrad: hook((gradient,)), after the tensor's own hooks."""


class AfterNode(AfterAccumulation):
    """Marks a hook of a leaf's AccumulateGrad: hook((), (gradient,)), the last to be called."""


def add_hook(owner: Any, hook: Any) -> RemovableHandle:
    """Register `hook` on a node or a leaf."""
    if owner._hooks is None:
        owner._hooks = {}
    handle = RemovableHandle(owner._hooks)
    owner._hooks[handle.id] = hook
    if RETAIN in owner._hooks:  # it stays last, to keep what the other hooks return
        owner._hooks[RETAIN] = owner._hooks.pop(RETAIN)
    return handle


def retain_grad(tensor: Any) -> None:
    """Keep the gradient of a non-leaf in its `.grad` during backward."""
    me = weakref.ref(tensor)  # the node must not keep the tensor that it produced alive

    def keep(gradient: Any) -> None:
        tensor = me()
        if tensor is not None:
            if not gradient._tracked:
                gradient = wrap(own_copy(gradient.array))
            tensor._grad = gradient if tensor._grad is None else tensor._grad + gradient

    node = tensor._node
    if node._hooks is None:
        node._hooks = {}
    node._hooks[RETAIN] = keep


def run_hooks(owner: Any, gradient: Any) -> Any:
    """Pass a gradient, as a tensor, through the hooks. Each may return a replacement."""
    raw = not isinstance(gradient, Variable)
    value = wrap(_writable(gradient)) if raw else gradient
    for hook in list(owner._hooks.values()):
        if isinstance(hook, AfterAccumulation):  # for accumulate_with_hooks
            continue
        replacement = hook(value)
        if replacement is not None:
            _check_replacement(hook, replacement, value)
            value = replacement
    return unwrap(value) if raw else value


def accumulate_with_hooks(leaf: Any, g: Any, ours: bool) -> None:
    """Add g to the leaf's `.grad`, between the hooks of its AccumulateGrad.

    `grad(outputs, inputs)` adds to no `.grad`, so it runs none of these.
    """
    marks = [hook for hook in leaf._hooks.values() if isinstance(hook, AfterAccumulation)]
    raw = not isinstance(g, Variable)
    for mark in marks:
        if isinstance(mark, BeforeAccumulation):
            value = wrap(_writable(g)) if raw else g
            (value,) = _replaced(mark.hook, mark.hook((value,)), (value,))
            g, ours = unwrap(value) if raw else value, False
    after = [mark for mark in marks if isinstance(mark, AfterNode)]
    accumulate(leaf, g, ours and not after)
    for mark in marks:
        if type(mark) is AfterAccumulation and mark.hook(leaf) is not None:
            raise RuntimeError(
                f"hook {_name(mark.hook)}: a post-accumulate hook returned a value, expected None"
            )
    for mark in after:
        mark.hook((), (wrap(_writable(g)) if raw else g,))


def _check_replacement(hook: Any, new: Any, old: Any) -> None:
    name = _name(hook)
    if not isinstance(new, Variable):
        raise TypeError(f"hook {name}: returned {type(new).__name__}, expected a Tensor or None")
    for what, got, expected in (
        ("shape", new.array.shape, old.array.shape),
        ("dtype", new.array.dtype, old.array.dtype),
    ):
        if got != expected:
            raise RuntimeError(f"hook {name}: returned {what} {got}, expected {expected}")


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _writable(gradient: Any) -> Any:
    """A gradient as an array that hooks may write to."""
    array = as_array(gradient)
    return array if is_writable(array) else array.copy()


# ------------------------------------------------------------------------------------------
# On a node: hook(grad_inputs, grad_outputs)
# ------------------------------------------------------------------------------------------


class NodeHooks:
    """Replaces `node.backward` and runs the node's own hooks around it.

    Only nodes with such hooks have one, so the others pay nothing.
    """

    def __init__(self, node: Any):
        self.node = weakref.ref(node)
        self.before: dict[int, Callable] = {}
        self.after: dict[int, Callable] = {}

    @staticmethod
    def of(node: Any) -> NodeHooks:
        if "backward" not in node.__dict__:
            node.backward = NodeHooks(node)
        return node.backward

    def add(self, hooks: dict, hook: Callable) -> RemovableHandle:
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def __call__(self, *grads: Any) -> tuple:
        node = self.node()
        assert node is not None, "a node's backward was called without the node"
        raw = not any(isinstance(g, Variable) for g in grads)
        outputs = _tensors(grads)
        for hook in list(self.before.values()):
            outputs = _replaced(hook, hook(outputs), outputs)
        results = type(node).backward(node, *(map(unwrap, outputs) if raw else outputs))
        results = results if isinstance(results, tuple) else (results,)
        inputs = _tensors(results + (None,) * (len(node._edges) - len(results)))
        for hook in list(self.after.values()):
            inputs = _replaced(hook, hook(inputs, outputs), inputs)
        return tuple(map(unwrap, inputs)) if raw else inputs


def _tensors(values: Any) -> tuple:
    """Gradients as writable tensors for hooks."""
    return tuple(v if v is None or isinstance(v, Variable) else wrap(_writable(v)) for v in values)


def _replaced(hook: Any, new: Any, old: tuple) -> tuple:
    """The gradients that a hook returned, as a tuple; `old` if it returned None."""
    if new is None:
        return old
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(old):
        raise RuntimeError(
            f"hook {_name(hook)}: returned {len(new)} gradients, expected {len(old)}"
        )
    return new


def add_node_hook(node: Any, hook: Callable, when: str) -> RemovableHandle:
    """Register a hook that runs before or after the rule of `node`."""
    hooks = NodeHooks.of(node)
    return hooks.add(getattr(hooks, when), hook)


outside.run_hooks, outside.accumulate_with_hooks = run_hooks, accumulate_with_hooks
outside.add_node_hook = add_node_hook
