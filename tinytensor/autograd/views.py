"""Views: after an in-place write, their nodes are made again when they are next used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..backend import libraries, xp
from ..errors import GradientError
from .mode import outside, state
from .settings import enable_grad
from .variable import Variable, writes_of

strided: Any = None  # the op that makes a view by its strides; strided.py sets it


class View:
    """How a tensor was made as a view of `base`: by op.apply(base, *args).

    array  the base's array when the view was made; an in-place reshape gives the base another
    count  the storage version that the view's node is valid for. A write to the base or to another
           view makes the node stale; `refresh` then makes it again
    live   False for a view made under no_grad, or a view of such a view: it stays out of the graph
    """

    __slots__ = ("base", "op", "args", "array", "count", "live")

    live: bool
    refusal = ""  # why recorded writes are refused; "" if they are not

    def __init__(self, base: Variable, op: Any, args: tuple):
        self.base, self.op, self.args = base, op, args
        self.array = base.array
        self.count = writes_of(base)[0]
        self.live = state.mode.grad and (base._view is None or base._view.live)


class OneOfSeveral(View):
    """One of several views that an op returned at once: `unbind`, `split`, `chunk`."""

    __slots__ = ()

    refusal = (
        "this view is the output of a function that returns multiple views, which do not allow "
        "writes; clone() it, or index the tensor instead"
    )


def writable(views: tuple) -> tuple:
    """Views that an op returned at once, open to writes as if each had been made alone."""
    for view in views:
        if type(view._view) is OneOfSeveral:
            link: Any = view._view
            link.__class__ = View
    return views


class FromFunction(View):
    """What a Function returned, if it shares memory with a tensor that existed before."""

    __slots__ = ()

    refusal = "this view was created inside a custom Function; clone() it"


class Returned:
    """The op of a FromFunction: its rule is the user's, so the view cannot be made again."""

    op_name = "Function"

    @staticmethod
    def apply(x: Any) -> Any:
        raise RuntimeError(
            f"Function: its output, a view of a tensor of shape {tuple(x.shape)}, is used after "
            "that tensor or another view was modified in place; clone() it in forward"
        )


def alias_of(tensor: Any, pure_view_of: tuple) -> Any:
    """A new tensor with the memory of `tensor`, which a Function returns; a view of its root.

    pure_view_of: the arguments of a Function that only makes a view (`ctx._is_pure_view`), which
    the op that made it makes again after a write.
    """
    alias, link, root = tensor.detach(), tensor._view, root_of(tensor)
    if link is not None and any(
        isinstance(arg, Variable) and root_of(arg) is root for arg in pure_view_of
    ):
        alias._view = View(link.base, link.op, link.args)
    else:
        alias._view = FromFunction(root, Returned, ())
    return alias


def note_view(tensor: Any, base: Any, op: Any, args: tuple) -> None:
    """Note that op.apply(base, *args) made `tensor`, if the two share memory."""
    if _shares_memory(tensor.array, base.array):
        tensor._writes = writes = writes_of(base)
        if writes:
            tensor._view = View(base, op, args)
        else:  # base is an inference tensor: the view stays out of the graph
            tensor._tracked, tensor._node = False, None


def _shares_memory(out: Any, source: Any) -> bool:
    """Whether `out`, made from `source`, is a view of it (and not a copy)."""
    if not out.size:
        return True  # an empty result counts as a view
    if source.flags.c_contiguous:
        return out is source or out.base is not None
    return libraries[type(out)].may_share_memory(out, source)


def refresh(variable: Variable) -> None:
    """Bring a view's place in the graph up to date after writes to its storage.

    Raises for a view that was made under no_grad() and whose root is tracked: it shows the new
    values, but their gradient would be lost.
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
            f"{link.op.op_name}: a view of shape {tuple(variable._shape)} that was made under "
            "no_grad() is used outside of it after its base was written to; make it again"
        )


def path_from_root(view: Any) -> tuple[Any, list[tuple[Any, tuple]]]:
    """The root of a view, and the (op, args) that lead from the root to the view."""
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
    """Apply the (op, args) of a path to x, a tensor or an array."""
    for op, args in path:
        x = op.apply(x, *args)
    return x


def make_again(view: Any) -> None:
    """Make a view again from its root, which was written to, and take over the new node."""
    root, path = path_from_root(view)
    with enable_grad():
        again = view_along(path, root)
    view._view.count = view._writes[0]
    take_place(view, again)


def see_as_strided(view: Any) -> None:
    """Define a view by strides on its root, after a tensor in between was reshaped in place."""
    root = root_of(view)
    if view.array.size and not xp(view.array).may_share_memory(root.array, view.array):
        raise RuntimeError(
            f"{view._view.op.op_name}: the view of shape {tuple(view._shape)} is stale, as the "
            "memory of its tensor was replaced (x.data = …); make the view again"
        )
    before = view._view
    offset = (view.data_ptr() - root.data_ptr()) // view.array.itemsize if view.array.size else 0
    kind = type(next((link for link in _links(view) if link.refusal), before))
    view._view = kind(root, strided, (view._shape, view.stride(), offset, None))
    view._view.live, view._view.count = before.live, before.count


def _links(view: Any) -> Iterator[View]:
    """The View of a tensor, of its base, and so on."""
    while view._view is not None:
        yield view._view
        view = view._view.base


def root_of(variable: Any) -> Any:
    """The tensor that a chain of views starts from; the tensor itself if it is not a view."""
    while variable._view is not None:
        variable = variable._view.base
    return variable


RETAIN = "retain_grad"  # the key of the hook that fills a non-leaf's `.grad`, always the last one


def take_place(variable: Variable, other: Variable) -> None:
    """Give `variable` the place of `other` in the graph; a retain_grad hook moves along."""
    before, after = variable._node, other._node
    if before is not None and after is not None and before._hooks and RETAIN in before._hooks:
        if after._hooks is None:
            after._hooks = {}
        after._hooks[RETAIN] = before._hooks.pop(RETAIN)
    variable._node, variable._tracked = after, other._tracked


def check_leaf(leaf: Any) -> None:
    """Refuse a leaf that is a view and became a non-leaf because its memory was written to."""
    if leaf._view is not None:
        refresh(leaf)
    if leaf._node is not None:
        raise GradientError(
            f"backward: a leaf of shape {tuple(leaf._shape)} is a view of a tensor that was "
            "written to after the leaf was used, and is no longer a leaf; set requires_grad on a "
            "clone()"
        )


outside.refresh, outside.check_leaf, outside.note_view = refresh, check_leaf, note_view
