"""PyTorch's other names of a node: grad_fn.metadata, grad_fn._saved_self, grad_fn(gradient) …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .mode import outside, state
from .op import NEVER, Op
from .packed import Packed, pack_entry
from .variable import Variable, as_array, unwrap, wrap
from .walk import fit

# {PyTorch's name: position among the arguments of forward}
PLACES = {"self": 0, "input": 0, "other": 1, "exponent": 1, "weight": 1}


class SavedTensor:
    """One saved value of a node; `register_hooks` packs it."""

    def __init__(self, node: Any = None, i: int = 0):
        if node is None:
            raise RuntimeError("SavedTensor: cannot be made; read grad_fn._raw_saved_…")
        self._node, self._i = node, i

    @property
    def data(self) -> Any:
        """What is stored: the packed object, or the saved value as a tensor."""
        value = self._entry[0]
        return value.data if isinstance(value, Packed) else wrap(value)

    @property
    def unpack_hook(self) -> Callable | None:
        value = self._entry[0]
        return value.unpack_hook if isinstance(value, Packed) else None

    @property
    def _entry(self) -> tuple:
        if self._node._saved is None:
            raise RuntimeError("SavedTensor: the values that the node saved are freed")
        return self._node._saved[self._i]

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Store pack_hook(value); backward gets unpack_hook of it."""
        value, writes, _ = self._entry
        if isinstance(value, Packed):
            raise RuntimeError("SavedTensor: hooks are already registered")
        tensor = wrap(value)
        if writes is not NEVER:
            tensor._writes = writes
        pack_entry(self._node, self._i, tensor, pack_hook, unpack_hook)


def node_attribute(node: Any, name: str) -> Any:
    """An attribute of `node` that its class does not have."""
    if name == "metadata":  # a dict for the user's notes
        node.metadata = {}
        return node.metadata
    if name == "apply_rule":
        return lambda *grads: apply_rule(node, grads)
    if name.startswith("_saved_"):
        return _saved_value(node, _place(node, name, name[len("_saved_") :]))
    if name.startswith("_raw_saved_"):
        return SavedTensor(node, _place(node, name, name[len("_raw_saved_") :]))
    raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}")


def _place(node: Any, attribute: str, name: str) -> int:
    """The position, among the values `node` saves, of the one that PyTorch calls `name`."""
    own = "out" if name == "result" else name
    for i, (place, saved, _) in enumerate(getattr(type(node), "_plan", ())):
        if saved == own or place == PLACES.get(name, -2):
            return i
    raise AttributeError(f"{type(node).__name__!r} object has no attribute {attribute!r}")


def _saved_value(node: Any, i: int) -> Any:
    """A saved value as a tensor at its place in the graph."""
    before = state.mode.grad
    try:
        state.mode.grad = True
        return node.saved[i]
    finally:
        state.mode.grad = before


def apply_rule(node: Op, grads: tuple) -> Any:
    """The gradients of the node's inputs from `grads`, those of its outputs; tensors."""
    expected = len(node._shape) if isinstance(node._shape, list) else 1
    if len(grads) != expected:
        raise TypeError(f"{node.name()}: expected {expected} arguments, got {len(grads)} instead")
    values = grads if state.mode.grad else tuple(map(unwrap, grads))
    results = node.backward(*(node.fill_missing(list(values)) if expected > 1 else values))
    results = results if isinstance(results, tuple) else (results,)
    found: list[Any] = []
    for edge, value in zip(node._edges, results):
        if edge is None or value is None:
            found.append(None)
            continue
        value = value if isinstance(value, Variable) else as_array(value)
        if value.shape != edge._shape or value.dtype is not edge._dtype:
            value = fit(value, edge, node)
        found.append(value if isinstance(value, Variable) else wrap(value))
    return tuple(found) if len(found) > 1 else found[0]


outside.node_attribute = node_attribute
