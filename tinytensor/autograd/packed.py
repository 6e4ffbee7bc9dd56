"""Saved values behind hooks: packed when an op saves them, unpacked when backward asks for them.

A node whose values are packed changes its class to a subclass made here, which unpacks them. The
others pay nothing. `graph.saved_tensors_hooks` sets the hooks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .function_ctx import FunctionCtx
from .mode import state
from .op import NEVER, Op
from .variable import Variable, wrap


class Packed:
    """What a pack hook returned, and the hook that turns it back into a tensor."""

    __slots__ = ("data", "unpack_hook")

    def __init__(self, data: Any, unpack_hook: Callable):
        self.data, self.unpack_hook = data, unpack_hook

    def unpack(self) -> Any:
        """The value as an array."""
        mode, stacks = state.mode, state.stacks
        hooks, depth = mode.pack, len(stacks.get("saved_tensors_hooks", ()))
        value = self.unpack_hook(self.data)
        if mode.pack is not hooks:  # the hook entered a block and did not leave it
            mode.pack = hooks
            del stacks["saved_tensors_hooks"][depth:]
        if not isinstance(value, Variable):
            raise TypeError(
                f"saved_tensors_hooks: the unpack hook returned {type(value).__name__}, "
                "expected a Tensor"
            )
        return value.array


class Restored(Op):
    """y = value;  dx = g. An unpacked value, at the place of the leaf x in the graph."""

    def forward(self, x: Any, value: Any) -> Any:
        return value

    def backward(self, g: Any) -> Any:
        return g


class _Unpacks(Op):
    """An op whose saved values are packed."""

    @property
    def saved(self) -> list:
        packed, self._saved = self._saved, unpacked(self._saved)
        try:
            return super().saved
        finally:
            self._saved = packed

    def _as_tensor(self, saved: tuple, place: int, name: str, _: int) -> Any:
        tensor = super()._as_tensor(saved, place, name, _)
        return _with_value(tensor, saved[0])


class _UnpacksTensors(FunctionCtx):
    """A Function whose saved tensors are packed."""

    @property
    def saved_tensors(self) -> tuple:
        packed, self._saved = self._saved, unpacked(self._saved)
        try:
            return super().saved_tensors
        finally:
            self._saved = packed

    def _restore(self, array: Any, kind: str, i: int) -> Any:
        return _with_value(super()._restore(array, kind, i), array)


def _with_value(tensor: Any, array: Any) -> Any:
    """`tensor` if it has this array; otherwise the array at the tensor's place in the graph."""
    if not isinstance(tensor, Variable) or tensor.array is array:
        return tensor
    return Restored.apply(tensor, array)


def unpacked(entries: Any) -> Any:
    """Saved entries with their values unpacked; None if they were freed."""
    if entries is None:
        return None
    return [(e[0].unpack(), NEVER, 0) if isinstance(e[0], Packed) else e for e in entries]


@functools.cache
def _unpacking(cls: type) -> type:
    """The subclass of a node's class that unpacks saved values."""
    base = _UnpacksTensors if issubclass(cls, FunctionCtx) else _Unpacks
    members = {"__slots__": (), "__module__": cls.__module__, "op_name": cls.op_name}  # type: ignore[attr-defined]
    return type(cls.__name__, (base, cls), members)


def pack(node: Any, args: tuple, hooks: tuple[Callable, Callable]) -> None:
    """Pass the tensors that `node` saved through hooks = (pack, unpack)."""
    places = getattr(node, "_places", None)
    for i, (value, writes, _) in enumerate(node._saved or ()):
        if value is None or writes is NEVER or isinstance(value, Packed):
            continue
        if places is not None:
            kind, where = places[i]
            if kind == "sparse":
                continue
            original = args[where] if kind == "input" else None
            if kind == "untracked":
                original = where()
        else:
            place = node._plan[i][0]
            original = args[place] if place >= 0 else None
        if not isinstance(original, Variable) or original.array is not value:
            original = wrap(value)
            original._writes = writes
        pack_entry(node, i, original, *hooks)


def pack_entry(node: Any, i: int, tensor: Any, pack_hook: Callable, unpack_hook: Callable) -> None:
    """Replace the i-th saved value of `node`, `tensor`, by what pack_hook(tensor) returns."""
    writes = node._saved[i][1]
    version = writes[0]
    mode = state.mode
    before, hooks = mode.grad, mode.pack
    try:
        mode.grad, mode.pack = False, None
        data = pack_hook(tensor)
    finally:
        mode.grad, mode.pack = before, hooks
    if writes[0] != version:
        raise RuntimeError(
            "saved_tensors_hooks: the pack hook changed its argument in place; return a new tensor"
        )
    saved = list(node._saved)
    saved[i] = (Packed(data, unpack_hook), NEVER, 0)
    node._saved = saved
    cls: Any = type(node)
    if not issubclass(cls, (_Unpacks, _UnpacksTensors)):
        node.__class__ = _unpacking(cls)
