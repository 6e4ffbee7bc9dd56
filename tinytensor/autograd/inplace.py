"""In-place writes: when they are refused, when they are recorded, and how views follow them.

A write bumps the version that all views of the storage share, so that a rule that saved an older
value refuses to run. A recorded write gives the tensor a new node; if the tensor is a view, its
base gets one too (`ViewWrite`), and other views of the storage get theirs when next used
(`refresh`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import QUIET, Array, error_state, is_array, is_writable, xp
from ..dtype import can_cast
from ..errors import ShapeError
from .inference import check_write
from .mode import state
from .op import Op
from .strided import AsStrided, copy_in_order, memory_order
from .variable import Variable, own_copy, unwrap, wrap, wrap_like, writes_of
from .views import (
    make_again,
    path_from_root,
    refresh,
    see_as_strided,
    take_place,
    view_along,
)

ALL = (Ellipsis,)  # the index of the whole tensor


class ViewWrite(Op):
    """y = base, with the part that the views along `path` show replaced by new;
    dbase = g with zeros in that part, dnew = that part of g.

    The memory has already been written when this op is recorded.
    """

    def forward(self, base: Array, new: Array, path: list) -> Array:
        self.path = path
        # Backward copies g in row-major order, so that a reshape along the path is a view and not
        # a copy. AsStrided counts elements in the memory of the base, so it needs that order.
        by_memory = path[0][0] is AsStrided
        self.order = memory_order(base) if by_memory else tuple(range(base.ndim))
        return base

    def backward(self, g: Any) -> Any:
        rest = None
        if self.needs(0):
            rest = copy_in_order(g, self.order)
            part = view_along(self.path, rest)
            check_memory(self.path[-1][0].op_name, unwrap(part))
            part[...] = 0
        new = view_along(self.path, copy_in_order(g, self.order)) if self.needs(1) else None
        return rest, new


class IndexWrite(Op):
    """y = x with x[index] ← value;  dx = g with zeros at index, dvalue = g[index].

    Writes into x itself.
    """

    op_name = "setitem"

    def forward(self, x: Array, value: Any, index: Any) -> Array:
        self.index = index
        x[index] = value
        return x

    def backward(self, g: Any) -> Any:
        rest = None
        if self.needs(0):
            if self.index is ALL:
                rest = wrap_like(xp(unwrap(g)).zeros(g.shape, dtype=unwrap(g).dtype), g)
            else:
                rest = g.clone() if isinstance(g, Variable) else own_copy(g)
                rest[self.index] = 0
        return rest, g[self.index] if self.needs(1) else None


def in_place_of(variable: Variable, array: Array) -> Any:
    """A tensor around `array` at the place of `variable` in the graph."""
    tensor = wrap(array)
    tensor._tracked, tensor._node = variable._tracked, variable._node
    return tensor


def check_memory(name: str, array: Array) -> None:
    """Raise if `array` is read-only, or if its elements share memory."""
    if not is_writable(array):
        raise RuntimeError(
            f"{name}: the tensor of shape {tuple(array.shape)} is read-only or expanded "
            "(several elements share memory); clone() it before writing"
        )


def is_recorded(target: Variable, name: str, sources: tuple = ()) -> bool:
    """Whether a write must be recorded. Raises if autograd forbids it."""
    check_write(name, target)
    pack = state.mode.pack
    if pack is not None:
        before = getattr(pack[0], "before_write", None)
        if before is not None:  # allow_mutation_on_saved_tensors
            before(target)
    if target._view is not None and target._view.live:
        refresh(target)
    if not state.mode.grad:
        return False
    tracked = target._tracked
    for source in sources:
        tracked = tracked or (isinstance(source, Variable) and source._tracked)
    base: Variable = target
    what = "a leaf"
    while True:
        if base._tracked and base._node is None:
            raise RuntimeError(
                f"{name}: {what} tensor of shape {tuple(base._shape)} that requires grad is being "
                "used in an in-place operation; write under no_grad(), or into a clone()"
            )
        if base._view is None:
            return tracked
        if not base._view.live and (tracked or base._view.base._tracked):
            raise RuntimeError(
                f"{name}: a view of shape {tuple(base._shape)} that was made under no_grad() is "
                "being written to outside of it; make the view outside too, or write inside"
            )
        if tracked and base._view.refusal:
            raise RuntimeError(
                f"{name}: a view of shape {tuple(base._shape)} is being modified inplace; "
                f"{base._view.refusal}"
            )
        if tracked and getattr(base._view.op, "refuses_writes", False):
            raise RuntimeError(
                f"{name}: a tensor of shape {tuple(base._shape)} that a module with backward hooks "
                "got or returned is a view and is being modified in place; clone() it first"
            )
        if tracked and base._view.op is AsStrided and base._view.args[-1] is not None:
            raise RuntimeError(
                f"{name}: as_strided of a detached part of a tensor reaches outside that part; "
                "call it on the whole tensor, or write into a clone()"
            )
        base = base._view.base
        what = "a view of a leaf"


def old_place(target: Any) -> Variable:
    """A tensor at target's place in the graph, the input of the op that writes to target.

    As in PyTorch, a write to a view starts from its root. It bypasses the hooks of the views in
    between, and a tensor that as_strided was called on, which may not contain the view's elements.
    """
    if target._view is None or target._node is None:
        return target
    root, path = path_from_root(target)
    return view_along(path, root)


def write(target: Any, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """target ← function(target, *args), in target's own memory: such as `exp_` and `add_`."""
    name = f"{function.__name__}_"
    sources = (*args, *kwargs.values())
    check_memory(name, target.array)
    recorded = is_recorded(target, name, sources)
    before = target
    if recorded:
        # Rules may save the old value, which is about to be overwritten: give them a copy.
        before = in_place_of(old_place(target), target.array.copy())
    dual = state.mode.dual
    if dual is not None and recorded:
        dual.carry(target, before)
    result = function(before, *args, **kwargs)
    if result.array.shape != target.array.shape:
        raise ShapeError(
            f"{name}: the result has shape {tuple(result._shape)}, which does not fit the tensor "
            f"of shape {tuple(target._shape)} that it is written into"
        )
    found, wanted = result.array.dtype, target.array.dtype
    if found is not wanted and not can_cast(found, wanted):
        raise RuntimeError(
            f"{name}: result type {found} can't be cast to the tensor's type {wanted}; convert "
            "the tensor first, or use the out-of-place op"
        )
    errors = error_state.get()
    try:
        error_state.set(QUIET)  # values too large for the tensor's dtype become inf
        target.array[...] = result.array
    except BaseException:
        writes_of(target)[0] += 1  # it may be half written
        raise
    finally:
        error_state.set(errors)
    if dual is not None and result is not target:
        tangent = dual.drop(result)
    if recorded:
        _save_in_place(result, target)
        finish_write(target, result.to(target.dtype))
    else:
        finish_write(target)
    if dual is not None and result is not target:
        dual.wrote(target, ALL, tangent)
    return target


def _save_in_place(result: Any, target: Any) -> None:
    """If the op that made `result` saved it, replace that by target's memory.

    A later write to target is then detected, and the memory of `result` can be freed.
    """
    node = result._node
    if node is not None and node._saved and result.array.dtype == target.array.dtype:
        writes = writes_of(target)
        here = (target.array, writes, writes[0] + 1)  # the version after this write
        node._saved = [here if entry[0] is result.array else entry for entry in node._saved]


def change_shape(target: Any, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """target ← function(target, …), another view of its own memory: `unsqueeze_`, `t_`."""
    recorded = is_recorded(target, f"{function.__name__}_")
    before, dual = in_place_of(target, target.array), state.mode.dual
    if dual is not None:
        dual.carry(target, before)
    after = function(before, *args, **kwargs)
    target.array = after.array
    if dual is not None:
        dual.carry(after, target)
    if recorded:
        take_place(target, after)
    writes = writes_of(target)
    writes[0] += 1
    if target._view is not None:
        see_as_strided(target)
        target._view.count = writes[0]
    return target


def finish_write(target: Any, result: Any = None) -> Any:
    """After target's memory was written: bump the version and, if recorded, rewrite history.

    For a view, the root's history is rewritten and the view is made again from the root. Other
    views are made again when next used.
    """
    writes_of(target)[0] += 1
    if result is None:
        return target
    if target._view is None:
        take_place(target, result)
        return target
    root, path = path_from_root(target)
    take_place(root, ViewWrite.apply(in_place_of(root, root.array), result, path))
    make_again(target)
    return target


def assign(target: Any, index: Any, value: Any, name: str = "__setitem__") -> Any:
    """target[index] ← value, broadcast and cast: `__setitem__`, `copy_`, `fill_`, `zero_`."""
    if state.mode.dual is not None:
        return state.mode.dual.assign(target, index, value, name)
    index = index if type(index) is tuple else (index,)
    if len(index) == 1 and index[0] is Ellipsis:
        index = ALL
    if not is_writable(target.array) and not _may_be_assigned(target.array, index, value, name):
        check_memory(name, target.array)
    if is_recorded(target, name, (value,)):
        before = in_place_of(old_place(target), target.array)
        return finish_write(target, IndexWrite.apply(before, value, index))
    IndexWrite.apply(target.array, unwrap(value), index)
    return finish_write(target)


def _may_be_assigned(array: Array, index: Any, value: Any, name: str) -> bool:
    """Whether an expanded array may be assigned to, as in PyTorch.

    It may if one number fills it, or if the index contains an array.
    """
    if not getattr(array.flags, "writeable", True):
        return False
    if name in ("fill_", "zero_") and not is_array(unwrap(value)):
        return True
    return any(is_array(entry) for entry in index)
