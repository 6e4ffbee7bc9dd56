"""Forward-mode differentiation with dual tensors, `torch.autograd.forward_ad`.

A dual tensor is a primal x with a tangent ẋ, the derivative of x in one direction. In a level
(`with dual_level():`) every op that gets a dual tensor makes one: y = f(x) and ẏ = J·ẋ.

No op has a rule for ẏ: the backward rule gives it. Backward computes u = Jᵀ·v, a linear function of
v, whose own Jacobian is Jᵀ. Its backward therefore maps a tangent to (Jᵀ)ᵀ·ẋ = J·ẋ. The rules are
differentiable, so the tangent can be differentiated again, by `backward` or `grad`. In a level,
gradients that are computed with create_graph=True have tangents themselves.

The tangent of a view is a view of the tangent of its base, so that writes into either reach both.
Entering the first level makes `apply` below a wrapper of `Op.apply`; leaving the last removes it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import engine
from .inference import is_inference
from .inplace import assign
from .mode import Mode, state
from .op import Op, wrap_apply
from .strided import copy_in_order, memory_order, storage_of
from .variable import Variable, own_copy, wrap, writes_of


class UnpackedDualTensor(NamedTuple):
    """A dual tensor in its two parts; tangent is None for a tensor without one."""

    primal: Any
    tangent: Any


class Alias(Op):
    """y = x;  dx = g. A view that has its own tangent: a dual tensor, or the primal of one."""

    view = True

    def forward(self, x: Any) -> Any:
        return x.view()

    def backward(self, g: Any) -> Any:
        return g


class Primal(Op):
    """y = x;  dx = g. An argument of an op, set apart so that its gradient can be requested."""

    def forward(self, x: Any) -> Any:
        return x

    def backward(self, g: Any) -> Any:
        return g


class Level:
    """The tangents of one dual level: {id of a primal or its node: (weak reference, tangent)}."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}

    def set(self, tensor: Any, tangent: Any) -> None:
        """Make `tensor` a dual tensor; the level does not keep it alive.

        Its node gets the tangent too: a rule sees a saved value as a new tensor at that node.
        """
        for key in (tensor, tensor._node):
            if key is not None:
                self._remember(key, id(key), tangent)

    def _remember(self, owner: Any, key: int, tangent: Any) -> None:
        known = self._known
        known[key] = (weakref.ref(owner, lambda _: known.pop(key, None)), tangent)

    def drop(self, tensor: Any) -> Any:
        """Forget and return the tangent of `tensor`."""
        tangent = self.tangent_of(tensor)
        self._known.pop(id(tensor), None)
        self._known.pop(id(tensor._node), None)
        return tangent

    def tangent_of(self, tensor: Any) -> Any:
        """The tangent of a tensor, or None; for a view, the same view of its base's tangent."""
        if not isinstance(tensor, Variable):
            return None
        entry = self._known.get(id(tensor)) or self._known.get(id(tensor._node))
        if entry is not None:
            return entry[1]
        link = tensor._view
        if link is None or link.op is Alias:
            return None
        base = self.tangent_of(link.base)
        if base is None:
            return None
        with aside():
            state.mode.grad = base._tracked
            tangent = link.op.apply(base, *link.args)
        self.set(tensor, tangent)
        return tangent

    def start(self, tensor: Any) -> Any:
        """A tangent of zeros for `tensor`; for a view, as part of one for its base."""
        link = tensor._view
        if link is not None and link.op is not Alias:
            if self.tangent_of(link.base) is None:
                self.start(link.base)
            return self.tangent_of(tensor)
        zeros = wrap(copy_in_order(tensor.array * 0, memory_order(tensor.array)))
        zeros.array[...] = 0  # 0·inf
        self.set(tensor, zeros)
        return zeros

    def carry(self, source: Any, target: Any) -> None:
        """Give `target`, another tensor for the same value, the tangent of `source`."""
        tangent = self.tangent_of(source)
        if tangent is not None:
            self.set(target, tangent)

    def wrote(self, target: Any, index: Any, tangent: Any) -> None:
        """Write a tangent, or 0 for None, into that of `target`, as its value is at `index`."""
        mine = self.tangent_of(target)
        if tangent is None and mine is None:
            return
        if mine is None:
            mine = self.start(target)
        with aside(state.mode.grad, state.mode.inference):
            assign(mine, index, 0 if tangent is None else tangent)
        self.set(target, mine)  # it may have a new node

    def assign(self, target: Any, index: Any, value: Any, name: str) -> Any:
        """target[index] ← value, and the same for the tangents."""
        tangent = self.tangent_of(value)
        mode = state.mode
        try:
            mode.dual = None
            assign(target, index, value, name)
        finally:
            mode.dual = self
        self.wrote(target, index, tangent)
        return target

    def clear(self) -> None:
        self._known.clear()


@contextmanager
def aside(grad: bool = True, inference: Any = None) -> Iterator[None]:
    """Compute with settings of its own: no dual level, no recording, no hooks."""
    before = state.mode
    state.mode = Mode()
    state.mode.grad, state.mode.inference, state.mode.scope = grad, inference, before.scope
    try:
        yield
    finally:
        state.mode = before


# ------------------------------------------------------------------------------------------
# Ops on dual tensors
# ------------------------------------------------------------------------------------------

_levels = 0  # the number of open levels, in all threads


def apply(plain: Callable, cls: Any, *args: Any) -> Any:
    """`Op.apply` while a dual level is open; plain(op, *args) runs the op on the primals."""
    level = state.mode.dual
    if level is None or cls is Alias:
        return plain(cls, *args)
    tangents = [level.tangent_of(a) for a in args]
    if all(t is None for t in tangents):
        return plain(cls, *args)
    if cls.view:
        out = plain(cls, *args)
        if all(y._view is not None for y in (out if type(out) is tuple else (out,))):
            return out  # `tangent_of` makes the same view of the tangent
    mode = state.mode
    recorded, inference = mode.grad, mode.inference
    primals = [_set_apart(a, recorded, t) for a, t in zip(args, tangents)]
    for primal, tangent in zip(primals, tangents):
        if tangent is not None:
            level.set(primal, tangent)
    try:
        mode.grad, mode.inference, mode.dual = True, None, None
        out = plain(cls, *primals)
    finally:
        mode.grad, mode.inference, mode.dual = recorded, inference, level
    outs = [y for y in (out if type(out) is tuple else (out,)) if y._tracked]
    if outs:
        pairs = [(x, t) for x, t in zip(primals, tangents) if t is not None and x._tracked]
        linked = recorded and any(isinstance(a, Variable) and a._tracked for a in args)
        again = linked or (recorded and any(t._tracked for _, t in pairs))
        for y, tangent in zip(outs, push_forward(outs, pairs, again)):
            level.set(y, tangent)
            if not linked:
                y._tracked, y._node = False, None
            if inference is not None:
                y._writes = inference
    return out


def _set_apart(arg: Any, recorded: bool, tangent: Any) -> Any:
    """A tracked tensor for a dual argument, which nothing else depends on."""
    if tangent is None:
        return arg
    if recorded and arg._tracked:
        with aside():
            apart = Primal.apply(arg)
    else:
        apart = wrap(arg.array)
        apart._tracked = arg.array.dtype.kind in "fVc"
    apart._writes = None if is_inference(arg) else writes_of(arg)
    return apart


def push_forward(outs: list, pairs: list, create_graph: bool) -> list:
    """J·ẋ for each output, where pairs = [(x, ẋ), …]: the backward of v ↦ Jᵀ·v."""
    with aside():
        vectors = [wrap(y.array * 0) for y in outs]
        for v in vectors:
            v._tracked = True
        xs = [x for x, _ in pairs]
        products = engine.grad(outs, xs, vectors, create_graph=True, allow_unused=True)
        used = [(u, t) for u, (_, t) in zip(products, pairs) if u is not None and u._tracked]
        if not used:
            return [y.detach() * 0 for y in outs]
        us, tangents = [u for u, _ in used], [t for _, t in used]
        found = engine.grad(us, vectors, tangents, create_graph=create_graph, allow_unused=True)
        return [y.detach() * 0 if t is None else t for y, t in zip(outs, found)]


def differentiated(tensor: Any) -> bool:
    """Whether a derivative by `tensor` may be needed, backward or forward."""
    mode = state.mode
    if not isinstance(tensor, Variable):
        return False
    return bool(mode.grad and tensor.requires_grad) or (
        mode.dual is not None and mode.dual.tangent_of(tensor) is not None
    )


# ------------------------------------------------------------------------------------------
# What the user calls
# ------------------------------------------------------------------------------------------


def enter_dual_level() -> int:
    """Open a level, in which tensors can have tangents; returns its number, 0."""
    global _levels
    mode = state.mode
    if mode.dual is not None:
        raise RuntimeError("enter_dual_level: a level is open; nested levels are not supported")
    _levels += 1
    if _levels == 1:
        wrap_apply(apply, True)
    mode.dual = Level()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: all tangents are forgotten."""
    global _levels
    mode = state.mode
    if mode.dual is None or level not in (None, 0):
        raise RuntimeError(f"exit_dual_level: got level {level}, expected one that is open")
    mode.dual.clear()
    mode.dual = None
    _levels -= 1
    if not _levels:
        wrap_apply(apply, False)


class dual_level:
    """A level for a block: `with dual_level(): …`."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc_info: object) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of `tensor` whose derivative in the current level is `tangent`, of the same shape.

    The tangent is used as it is if it has the memory layout of the tensor, else a copy of it.
    """
    current = _level("make_dual", level)
    if current is None:
        raise RuntimeError("make_dual: no level is open; call it inside `with dual_level():`")
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Variable):
            raise TypeError(f"make_dual: got {type(value).__name__} as {name}, expected a Tensor")
        if value.array.dtype.kind not in "fVc":
            raise ValueError(
                f"make_dual: got a {name} of dtype {value.array.dtype}, expected floating point or "
                "complex"
            )
    if tensor.array.shape != tangent.array.shape:
        raise RuntimeError(
            f"make_dual: got a tangent of shape {tuple(tangent._shape)}, expected "
            f"{tuple(tensor._shape)}, the shape of the tensor"
        )
    if current.tangent_of(tensor) is not None or current.tangent_of(tangent) is not None:
        raise RuntimeError("make_dual: the tensor or the tangent has a tangent in this level")
    dual = Alias.apply(tensor)
    current.set(dual, tangent if _same_layout(tensor, tangent) else _laid_out(tangent, tensor))
    return dual


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(primal, tangent): a view of the tensor without its tangent; None if it has none."""
    current = _level("unpack_dual", level)
    if current is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(Alias.apply(tensor), current.tangent_of(tensor))


def _level(name: str, level: int | None) -> Level | None:
    if level is not None and level > 0:
        raise RuntimeError(f"{name}: got level {level}, expected 0, the only one")
    return None if level is not None and level < 0 else state.mode.dual


def _same_layout(tensor: Any, tangent: Any) -> bool:
    """Whether both have the same strides, in memory of the same size."""
    a, b = tensor.array, tangent.array
    if not a.size:
        return True
    same = [s for s, n in zip(a.strides, a.shape) if n > 1] == [
        s * a.itemsize // b.itemsize for s, n in zip(b.strides, b.shape) if n > 1
    ]
    return same and storage_of(tensor).size == storage_of(tangent).size


def _laid_out(tangent: Any, tensor: Any) -> Any:
    """A copy of `tangent` with the order of dimensions in memory that `tensor` has."""
    if not tangent._tracked:
        order = memory_order(tensor.array)
        return wrap(copy_in_order(own_copy(tangent.array), order))
    with aside():
        return copy_in_order(tangent, memory_order(tensor.array))


def __getattr__(name: str) -> Any:
    """_current_level: 0 in a level, -1 outside."""
    if name == "_current_level":
        return -1 if state.mode.dual is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# fmt: off
__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual",
]
# fmt: on
