"""What the engine knows of a tensor: its array, its gradient, and how it came to be.

`tinytensor.Tensor` adds the operators and methods; the engine below needs only this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import Array, is_array, xp
from .mode import enable_grad, state

_new = object.__new__


class Variable:
    """An array that may be tracked.

    array     the raw NumPy or CuPy array
    _grad     the accumulated gradient, a tensor, or None
    _tracked  whether gradients flow to it (`requires_grad`)
    _node     the Op that made it; None for a leaf, which the user made
    _writes   [how often its storage was written to], one list for all that share the memory;
              None until somebody wants to know
    _view     the View it is of another tensor, or None
    _hooks    functions to call with its gradient, or None (a non-leaf's are on its node)
    """

    __slots__ = ("array", "_grad", "_tracked", "_node", "_writes", "_view", "_hooks",
                 "__dict__", "__weakref__")  # fmt: skip

    array: Any
    _grad: Any
    _tracked: bool
    _node: Any
    _writes: list[int] | None
    _view: View | None
    _hooks: dict | None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What Tensor adds."""

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
    any other view of the storage makes it stale; `refresh` then makes it again. live is False for a
    view made under no_grad, which stays outside the graph.
    """

    __slots__ = ("base", "op", "args", "count", "live")

    def __init__(self, base: Variable, op: Any, args: tuple):
        self.base, self.op, self.args = base, op, args
        self.count = writes_of(base)[0]
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
    tensor._writes = None
    tensor._view = None
    tensor._hooks = None
    return tensor


def unwrap(value: Any) -> Any:
    """The raw array of a tensor; anything else as it is."""
    return value.array if isinstance(value, Variable) else value


def wrap_like(array: Array, like: Any) -> Any:
    """`array` as what `like` is: a tensor, or a raw array."""
    return wrap(array) if isinstance(like, Variable) else array


def as_array(value: Any) -> Array:
    """A raw result as an array: NumPy gives its 0-d results as scalars."""
    return value if is_array(value) else np.asarray(value)


def in_place_of(variable: Variable, array: Array) -> Any:
    """A tensor around `array` that stands where `variable` does in the graph."""
    tensor = wrap(array)
    tensor._tracked, tensor._node = variable._tracked, variable._node
    return tensor


def made_by(node: Any, array: Array) -> Any:
    """A tensor around `array` that is an output of `node`."""
    tensor = wrap(array)
    tensor._tracked, tensor._node = True, node
    return tensor


def writes_of(variable: Variable) -> list[int]:
    """The counter of the writes to the variable's storage: [version]."""
    writes = variable._writes
    if writes is None:
        writes = variable._writes = [0]
    return writes


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
    while variable._view is not None and _is_stale(variable):
        stale.append(variable)
        variable = variable._view.base
    for view in reversed(stale):  # from the base upwards
        link: Any = view._view
        link.count = writes_of(view)[0]
        if link.live and link.base._tracked:
            make_again(view)


def make_again(view: Any) -> None:
    """Put a view where a fresh one of its base, which was written to, is in the graph."""
    link = view._view
    with enable_grad():
        again = link.op.apply(link.base, *link.args)
    if again.stride() != view.stride() or again.data_ptr() != view.data_ptr():
        raise RuntimeError(
            f"{link.op.name_}: this view of shape {tuple(view._shape)} was made before its base "
            "got another shape in place (unsqueeze_, t_, …), and then one of the two was written "
            "to; make the view after that, or write into a clone()"
        )
    take_place(view, again)


def _is_stale(view: Any) -> bool:
    return view._writes[0] != view._view.count


RETAIN = "retain_grad"  # the key of the hook that fills a non-leaf's `.grad`, always the last one


def take_place(variable: Variable, other: Variable) -> None:
    """Put `variable` where `other` is in the graph. Its `.grad` goes along if it is retained."""
    before, after = variable._node, other._node
    if before is not None and after is not None and before._hooks and RETAIN in before._hooks:
        if after._hooks is None:
            after._hooks = {}
        after._hooks[RETAIN] = before._hooks.pop(RETAIN)
    variable._node, variable._tracked = after, other._tracked
