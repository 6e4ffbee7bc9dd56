"""Views after in-place writes: what they show of the graph is made again when next used."""

from __future__ import annotations

from typing import Any

from ..backend import xp
from .mode import outside, state
from .settings import enable_grad
from .variable import Variable, View, writes_of

strided: Any = None  # the op that makes a view by its strides; strided.py sets it


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
    view._view = View(root, strided, (view._shape, view.stride(), offset, None))
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


outside.refresh = refresh
