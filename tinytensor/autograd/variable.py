"""What the engine knows of a tensor: its array, its gradient, and how it came to be.

`tinytensor.Tensor` adds the operators and methods; the engine below needs only this.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..backend import Array, xp
from .mode import enable_grad, state

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

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What Tensor adds."""

    # A tracked leaf stands at the end of an edge, where otherwise an Op does. It comes before
    # every op and has no edges of its own.
    _order = 0
    _edges: tuple = ()
    twin: Any = None  # see Counter

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
    any other view of the storage makes it stale; `refresh` then makes it again. live is False for a
    view made under no_grad, which stays outside the graph.
    """

    __slots__ = ("base", "op", "args", "count", "live")

    def __init__(self, base: Variable, op: Any, args: tuple):
        self.base, self.op, self.args = base, op, args
        self.count = counter_of(base)._writes
        self.live = state.mode.grad


class _Registry:
    """The class of the tensors that ops return; tensor.py sets it, as it comes after the engine."""

    tensor: type = Variable


registry = _Registry()


def wrap(array: Array) -> Any:
    """A fresh untracked tensor around a raw array."""
    tensor: Any = _new(registry.tensor)
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
    return variable if variable._counter is None else variable._counter


class Counter:
    """Counts the writes to a storage for those that must not hold the node or tensor that does.

    A detached tensor shares memory with a tensor in the graph, and so its version, but must not
    keep the graph alive. The owner and this counter are twins: each write is counted in both.
    """

    __slots__ = ("_owner", "_writes")

    def __init__(self, owner: Any):
        self._writes = owner._writes
        self._owner = weakref.ref(owner)
        owner.twin = self

    @property
    def twin(self) -> Any:
        return self._owner()


def counter_to_share(variable: Variable) -> Any:
    """The counter for a detached tensor with variable's memory: never a node."""
    counter = counter_of(variable)
    return counter if isinstance(counter, Variable) else counter_apart(variable)


def counter_apart(variable: Variable) -> Counter:
    """A counter of variable's writes that holds neither a tensor nor a node."""
    counter = counter_of(variable)
    if isinstance(counter, Counter):
        return counter
    return counter.twin or Counter(counter)


def count_write(variable: Variable) -> None:
    """The memory of `variable` was written to."""
    counter = counter_of(variable)
    counter._writes += 1
    twin = counter.twin
    if twin is not None:
        twin._writes += 1


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
        if current._view.live and current._counter._writes != current._view.count:
            stale.append(current)
        current = current._view.base
    for view in reversed(stale):  # from the base upwards
        link = view._view
        assert link is not None
        link.count = view._counter._writes
        if link.base._tracked:
            with enable_grad():
                again = link.op.apply(link.base, *link.args)
            take_place(view, again)


RETAIN = "retain_grad"  # the key of the hook that fills a non-leaf's `.grad`, always the last one


def take_place(variable: Variable, other: Variable) -> None:
    """Put `variable` where `other` is in the graph. Its `.grad` goes along if it is retained."""
    before, after = variable._node, other._node
    if before is not None and after is not None and before._hooks and RETAIN in before._hooks:
        if after._hooks is None:
            after._hooks = {}
        after._hooks[RETAIN] = before._hooks.pop(RETAIN)
    variable._node, variable._tracked = after, other._tracked
