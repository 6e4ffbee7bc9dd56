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
    _writes   [how often its storage was written to, the array that is the storage], one list for
              all that share the memory; None until one of the two is asked for
    _view     the View it is of another tensor, or None
    _hooks    functions to call with its gradient, or None (a non-leaf's are on its node)
    """

    __slots__ = ("array", "_grad", "_tracked", "_node", "_writes", "_view", "_hooks",
                 "__dict__", "__weakref__")  # fmt: skip

    array: Any
    _grad: Any
    _tracked: bool
    _node: Any
    _writes: list[Any] | None
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

    count is the storage's version for which the variable's node is right. A write to the base or to
    another view makes it stale; `refresh` then makes it again. live is False for a view made under
    no_grad, or of one, which stays outside the graph. array is that of the base when the view
    was made: the base has another one since it got another shape in place.
    """

    __slots__ = ("base", "op", "args", "array", "count", "live")

    live: bool

    def __init__(self, base: Variable, op: Any, args: tuple):
        self.base, self.op, self.args = base, op, args
        self.array = base.array
        self.count = writes_of(base)[0]
        self.live = state.mode.grad and (base._view is None or base._view.live)


class _Registry:
    """Classes that come after this file: that of the tensors that ops return, set by tensor.py, and
    the op that makes a view by its strides, set by strided.py.
    """

    tensor: type = Variable
    strided: Any = None


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


def writes_of(variable: Variable) -> list[Any]:
    """The counter of the writes to the variable's storage: [version, storage]."""
    writes = variable._writes
    if writes is None:
        writes = variable._writes = [0, variable.array]
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
    """Bring a view's place in the graph up to date after writes to its storage.

    Refuses a view that was made under no_grad() and whose base is tracked: it shows what was
    written, but its gradient would be lost.
    """
    link = variable._view
    version = writes_of(variable)[0]
    if link is None or version == link.count:
        return
    root, _ = path_from_root(variable)
    if not root._tracked:
        link.count = version
    elif link.live:
        make_again(variable)
    elif state.mode.grad:
        raise RuntimeError(
            f"{link.op.name_}: a view of shape {tuple(variable._shape)} that was made under "
            "no_grad() is used outside of it after its base was written to; make it again"
        )


def path_from_root(view: Any) -> tuple[Any, list[tuple[Any, tuple]]]:
    """The tensor that a view is of in the end, and the (op, args) that lead from it to the view."""
    path = []
    variable = view
    while variable._view is not None:
        link = variable._view
        if link.array is not link.base.array:
            see_as_strided(view)
            return path_from_root(view)
        path.append((link.op, link.args))
        variable = link.base
    path.reverse()
    return variable, path


def view_along(path: list[tuple[Any, tuple]], x: Any) -> Any:
    """The view that the (op, args) of a path make of x, a tensor or an array."""
    for op, args in path:
        x = op.apply(x, *args)
    return x


def make_again(view: Any) -> None:
    """Put a view where a fresh one of its root, which was written to, is in the graph."""
    root, path = path_from_root(view)
    with enable_grad():
        again = view_along(path, root)
    view._view.count = view._writes[0]
    take_place(view, again)


def see_as_strided(view: Any) -> None:
    """Make a view one of its root, by strides: a tensor between them got another shape in place."""
    root = root_of(view)
    if view.array.size and not xp(view.array).may_share_memory(root.array, view.array):
        raise RuntimeError(
            f"{view._view.op.name_}: the tensor that this view of shape {tuple(view._shape)} was "
            "made of got other memory (x.data = …); make the view again"
        )
    before = view._view
    offset = (view.data_ptr() - root.data_ptr()) // view.array.itemsize if view.array.size else 0
    view._view = View(root, registry.strided, (view._shape, view.stride(), offset, None))
    view._view.live, view._view.count = before.live, before.count


def root_of(variable: Any) -> Any:
    """The tensor that a view is of in the end; a tensor that is no view is its own root."""
    while variable._view is not None:
        variable = variable._view.base
    return variable


RETAIN = "retain_grad"  # the key of the hook that fills a non-leaf's `.grad`, always the last one


def take_place(variable: Variable, other: Variable) -> None:
    """Put `variable` where `other` is in the graph. Its `.grad` goes along if it is retained."""
    before, after = variable._node, other._node
    if before is not None and after is not None and before._hooks and RETAIN in before._hooks:
        if after._hooks is None:
            after._hooks = {}
        after._hooks[RETAIN] = before._hooks.pop(RETAIN)
    variable._node, variable._tracked = after, other._tracked
