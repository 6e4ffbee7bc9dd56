"""What the engine knows of a tensor: its array, its gradient, and how it came to be.

`tinytensor.Tensor` adds the operators and methods; the engine below needs only this.
"""

from __future__ import annotations

from typing import Any

from ..backend import Array, xp
from .mode import enable_grad

_new = object.__new__


class Variable:
    """An array that may be tracked.

    array     the raw NumPy or CuPy array
    _grad     the accumulated gradient, a tensor, or None
    _tracked  whether gradients flow to it (`requires_grad`)
    _node     the Op that made it; None for a leaf, which the user made
    _counter  who counts the writes to its storage, if not itself: the node or the tensor whose
              memory it shares (all views of a storage have one counter)
    _writes   how often its storage was written to, if it counts itself
    _view     the View it is of another tensor, or None
    _hooks    functions to call with its gradient, or None (a non-leaf's are on its node)
    """

    __slots__ = ("array", "_grad", "_tracked", "_node", "_counter", "_writes",
                 "_view", "_hooks", "__dict__", "__weakref__")  # fmt: skip

    array: Any
    _grad: Any
    _tracked: bool
    _node: Any
    _counter: Any
    _writes: int
    _view: View | None
    _hooks: dict | None

    # A tracked leaf stands at the end of an edge, where otherwise an Op does. It comes before
    # every op and has no edges of its own.
    _order = 0
    _edges: tuple = ()

    # The two things that an edge's end is asked for, under the names they have on an Op.

    @property
    def _shape(self) -> tuple:
        return self.array.shape

    @property
    def _dtype(self) -> Any:
        return self.array.dtype


class View:
    """`variable` shows a part of `base`: op.apply(base, *args) makes it again.

    count is the storage's version for which the variable's node is right. A recorded write to
    any other view of the storage makes it stale; `refresh` then makes it again.
    """

    __slots__ = ("base", "op", "args", "count")

    def __init__(self, base: Variable, op: Any, args: tuple):
        self.base, self.op, self.args = base, op, args
        self.count = counter_of(base)._writes


class _Registry:
    """The class of the tensors that ops return; tensor.py sets it, as it comes after the engine."""

    tensor: type = Variable


registry = _Registry()


def wrap(array: Array) -> Any:
    """A fresh untracked tensor around a raw array."""
    tensor = _new(registry.tensor)
    tensor.array = array
    tensor._grad = None
    tensor._tracked = False
    tensor._node = None
    tensor._counter = None
    tensor._writes = 0
    tensor._view = None
    tensor._hooks = None
    return tensor


def unwrap(value: Any) -> Any:
    """The raw array of a tensor; anything else as it is."""
    return value.array if isinstance(value, Variable) else value


def counter_of(variable: Variable) -> Any:
    """What counts the writes to the variable's storage: its `_writes` is the version."""
    return variable._counter or variable


def edge_of(variable: Variable) -> Any:
    """Where a gradient for `variable` goes: its node, the leaf itself, or None."""
    if not variable._tracked:
        return None
    return variable._node or variable


def own_copy(array: Array) -> Array:
    """A writable array of our own with the same values, contiguous in memory."""
    return xp(array).array(array, order="C")


def refresh(variable: Variable) -> None:
    """Bring a view's place in the graph up to date after recorded writes to its storage."""
    stale = []
    current: Variable | None = variable
    while current is not None and current._view is not None:
        if current._counter._writes != current._view.count:
            stale.append(current)
        current = current._view.base
    for view in reversed(stale):  # from the base upwards
        link = view._view
        assert link is not None
        link.count = view._counter._writes
        if link.base._tracked:
            with enable_grad():
                again = link.op.apply(link.base, *link.args)
            view._node, view._tracked = again._node, again._tracked
