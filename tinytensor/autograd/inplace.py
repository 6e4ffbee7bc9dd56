"""Writing into a tensor: when it is refused, when it is recorded, and what views see of it.

A write bumps the version that all views of the storage share, so that a rule that saved an older
value refuses to run. A recorded write gives the tensor a new node; if the tensor is a view, its
base gets one too (`ViewWrite`), and the storage's other views are made again when next used
(`refresh`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import QUIET, Array, error_state, is_writable
from ..dtype import can_cast
from ..errors import ShapeError
from .mode import state
from .op import Op
from .variable import (
    Variable,
    in_place_of,
    make_again,
    own_copy,
    refresh,
    take_place,
    unwrap,
    writes_of,
)


class ViewWrite(Op):
    """y = base, with the part that op(·, *args) shows replaced by new;
    dbase = g with zeros in that part, dnew = that part of g.

    The memory is written already when this is recorded.
    """

    def forward(self, base: Array, new: Array, op: Any, args: tuple) -> Array:
        self.op, self.args = op, args
        return base

    def backward(self, g: Any) -> Any:
        rest = None
        if self.needs(0):
            # Row-major: of other memory, a reshape would be a copy instead of a view.
            rest = g.clone().contiguous() if isinstance(g, Variable) else own_copy(g)
            part = self.op.apply(rest, *self.args)
            part[...] = 0
        return rest, self.op.apply(g, *self.args)


class IndexWrite(Op):
    """y = x with x[index] ← value;  dx = g with zeros at index, dvalue = g[index].

    Writes into x itself.
    """

    name_ = "setitem"

    def forward(self, x: Array, value: Any, index: Any) -> Array:
        self.index = index
        x[index] = value
        return x

    def backward(self, g: Any) -> Any:
        rest = None
        if self.needs(0):
            rest = g.clone() if isinstance(g, Variable) else own_copy(g)
            rest[self.index] = 0
        return rest, g[self.index] if self.needs(1) else None


def check_writable(target: Variable, name: str, sources: tuple = ()) -> bool:
    """Refuse a write that autograd forbids; return whether the write must be recorded."""
    refresh(target)
    if not is_writable(target.array):
        raise RuntimeError(
            f"{name}: the tensor of shape {tuple(target._shape)} is read-only or expanded "
            "(several elements share memory); clone() it before writing"
        )
    if not state.mode.grad:
        return False
    tracked = target._tracked or any(isinstance(s, Variable) and s._tracked for s in sources)
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
        base = base._view.base
        what = "a view of a leaf"


def write(target: Any, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """target ← function(target, *args), in target's own memory: `exp_`, `add_` and their kin."""
    name = f"{function.__name__}_"
    sources = (*args, *kwargs.values())
    recorded = check_writable(target, name, sources)
    before = target
    if recorded:
        # Rules may save the old value, which is about to be overwritten: give them a copy.
        before = in_place_of(target, target.array.copy())
    result = function(before, *args, **kwargs)
    if result.array.shape != target.array.shape:
        raise ShapeError(
            f"{name}: the result has shape {tuple(result._shape)}, which does not fit the tensor "
            f"of shape {tuple(target._shape)} that it is to be written into"
        )
    if not can_cast(result.array.dtype, target.array.dtype):
        raise RuntimeError(
            f"{name}: result type {result.array.dtype} can't be cast to the tensor's type "
            f"{target.array.dtype}; convert the tensor first, or use the out-of-place op"
        )
    errors = error_state.get()
    try:
        error_state.set(QUIET)  # what is too large for the tensor's dtype is inf
        target.array[...] = result.array
    except BaseException:
        writes_of(target)[0] += 1  # by half of it
        raise
    finally:
        error_state.set(errors)
    if recorded:
        result = result.to(target.dtype)
    return finish_write(target, result if recorded else None)


def change_shape(target: Any, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """target ← function(target, …), another view of its own memory: `unsqueeze_`, `t_`."""
    if state.mode.grad and target._tracked and target._node is None:
        raise RuntimeError(
            f"{function.__name__}_: a leaf tensor of shape {tuple(target._shape)} that requires "
            "grad cannot change its shape in place; use the function without the underscore"
        )
    before = in_place_of(target, target.array)
    before._writes, before._view = writes_of(target), target._view
    after = function(before, *args, **kwargs)
    target.array, target._view = after.array, after._view
    take_place(target, after)
    return target


def finish_write(target: Any, result: Any = None) -> Any:
    """After target's memory was written: bump the version and, if recorded, rewrite history."""
    writes = writes_of(target)
    writes[0] += 1
    if result is not None:
        take_place(target, result)
        child = target
        while child._view is not None:
            child._view.count = writes[0]  # from here to the root they are brought up to date now
            child = child._view.base
        child = target
        while child._view is not None:
            view = child._view
            base = view.base
            before = in_place_of(base, base.array)
            after = ViewWrite.apply(before, child, view.op, view.args)
            take_place(base, after)
            make_again(child)  # from now on a view of the new base
            child = base
    return target


def assign(target: Any, index: Any, value: Any, name: str = "__setitem__") -> Any:
    """target[index] ← value, broadcast and cast: `__setitem__`, `copy_`, `fill_`, `zero_`."""
    if check_writable(target, name, (value,)):
        before = in_place_of(target, target.array)
        return finish_write(target, IndexWrite.apply(before, value, index))
    IndexWrite.apply(target.array, unwrap(value), index)
    return finish_write(target)
