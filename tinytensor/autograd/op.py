"""Op: one differentiable operation, its forward and its backward side by side.

An instance is a node of the graph. `forward` runs on raw arrays. `backward` is written once and
runs on raw arrays, or on tensors when the gradient itself is to be differentiated:

    class Tanh(Op):
        '''y = tanh x;  dx = g·(1 − y²)'''

        saves = ("out",)

        def forward(self, x):
            return xp(x).tanh(x)

        def backward(self, g):
            (y,) = self.saved
            return g * (1 - y * y)

    y = Tanh.apply(x)

`saves` declares which values reach backward: names of forward's arguments, "out", or attributes
that forward sets (constants such as masks and indices). As a dict {value: inputs}, a value is saved
only when one of those inputs needs a gradient: `{"a": "b", "b": "a"}` for a·b. Plain attributes
(`self.dim = dim`) carry numbers and shapes.

`backward` returns one gradient for each argument of forward (a single value if there is one; None
where there is none; trailing ones may be left out). It need not undo broadcasting, and must not
write into `g` or a saved value.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..backend import QUIET, _modules, device_of, error_state, xp
from ..errors import GradientError
from . import anomaly
from .mode import state
from .node import Node
from .site import call_site, describe_site
from .variable import Variable, View, refresh, registry, wrap, writes_of

_new = object.__new__
ndarray = np.ndarray
_next_order = itertools.count(1).__next__

OUT, ATTRIBUTE = -1, -2  # places of saved values that are not arguments of forward
NEVER = [0]  # the count of writes to constants


def _save_plan(cls: Any) -> Iterable[tuple[int, int]]:
    """(place, bits of the inputs whose gradients need it) for each name in `saves`."""
    code = cls.forward.__code__
    arguments = code.co_varnames[1 : code.co_argcount]
    saves = (cls.saves,) if isinstance(cls.saves, str) else cls.saves
    cls._attributes = tuple(n for n in saves if n != "out" and n not in arguments)
    for name in saves:
        needed_by = -1  # all bits: whichever gradient is asked for
        if isinstance(saves, dict):
            inputs = (saves[name],) if isinstance(saves[name], str) else saves[name]
            needed_by = sum(1 << arguments.index(i) for i in inputs)
        if name == "out":
            yield OUT, needed_by
        elif name in arguments:
            yield arguments.index(name), needed_by
        else:
            yield ATTRIBUTE - cls._attributes.index(name), needed_by


def snake_case(name: str) -> str:
    """LayerNorm → layer_norm."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Op(Node):
    """A differentiable operation; see the module's text for how to write one."""

    __slots__ = ("_order", "_tracked", "_shape", "_dtype", "_saved", "_kept",
                 "_code", "_instruction", "scope", "__dict__", "__weakref__")  # fmt: skip

    _order: int  # when it was made, by a counter
    _tracked: int  # bit i: argument i needs a gradient
    _shape: Any  # of the output; one for each if there are several
    _dtype: Any
    _saved: Any  # [(value, writes, version), …]; None once freed
    _kept: Any  # {helper: value}; see keep
    _code: Any  # with _instruction, where the op was called; see site.py
    _instruction: int
    scope: str  # path of the module that it was called in

    saves: Any = ()
    view = False  # whether the output may share memory with the first argument
    differentiable = True  # False: backward is never asked for (comparisons and the like)
    name_ = "op"  # the name in error messages: snake_case of the class name
    _plan: tuple = ()
    _attributes: tuple = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name_" not in cls.__dict__:
            cls.name_ = snake_case(cls.__name__)
        cls._plan = tuple(_save_plan(cls))

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError(f"{self.name_}: forward is not written")

    def backward(self, *grads: Any) -> Any:
        raise NotImplementedError(f"{self.name_}: backward is not written")

    def view_args(self, args: tuple) -> Iterable[tuple[Any, tuple]]:
        """For an op whose several outputs are views: (op, args) that make each out of args[0]."""
        raise NotImplementedError(f"{self.name_}: view_args is not written")

    # --------------------------------------------------------------------------------------
    # Forward
    # --------------------------------------------------------------------------------------

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward and record it if a gradient may be asked for.

        Returns a tensor (or a tuple of them); a raw result if no argument is a tensor.
        """
        node = _new(cls)
        raw: list[Any] = []
        edges: list[Any] = []
        tracked = 0  # bit i: argument i needs a gradient
        bit = 1
        any_tensor = False
        for arg in args:
            if isinstance(arg, Variable):
                any_tensor = True
                if arg._view is not None:
                    refresh(arg)
                raw.append(arg.array)
                if arg._tracked:
                    tracked |= bit
                    edges.append(arg._node or arg)
                else:
                    edges.append(None)
            else:
                raw.append(arg)
                edges.append(None)
            bit += bit
        mode = state.mode
        node._kept = None
        node._tracked = tracked = tracked if mode.grad else 0

        token = error_state.set(QUIET)
        try:
            out = node.forward(*raw)
        except Exception as error:
            moved = on_one_device(args)
            if moved is not None:
                return cls.apply(*moved)
            raise anomaly.explain_forward(cls, args, error) from None
        finally:
            error_state.reset(token)

        if type(out) is not ndarray:
            if not any_tensor:
                return out
            if type(out) is tuple:
                return _wrap_outputs(node, out, args, edges)
            if type(out) not in _modules:  # NumPy's reductions return scalars
                out = np.asarray(out)
        elif not any_tensor:
            return out

        tensor: Any = _new(registry.tensor)
        tensor.array = out
        tensor._grad = tensor._writes = tensor._view = tensor._hooks = None
        if tracked and out.dtype.kind == "f":
            tensor._tracked = True
            tensor._node = node
            node._edges = edges
            node._shape = out.shape
            node._dtype = out.dtype
            node._hooks = None
            node._order = _next_order()
            node.scope = mode.scope
            node._code, node._instruction = call_site(sys._getframe(1))
            node._saved = node._save(args, tensor) if cls._plan else ()
        else:
            tensor._tracked = False
            tensor._node = None
        if cls.view and _shares_memory(out, raw[0]):
            tensor._writes = writes_of(args[0])
            tensor._view = View(args[0], cls, args[1:])
        if mode.anomaly:
            anomaly.check_forward(cls, args, tensor)
        return tensor

    def needs(self, i: int) -> bool:
        """Whether a gradient for forward's i-th argument may be asked for."""
        return self._tracked >> i & 1 == 1

    # --------------------------------------------------------------------------------------
    # What backward may look at
    # --------------------------------------------------------------------------------------

    def _save(self, args: tuple, out: Any) -> list:
        """(value, writes, version) for what `saves` declares and a needed gradient asks for."""
        saved: list[tuple] = []
        for place, needed_by in self._plan:
            if not needed_by & self._tracked:
                saved.append((None, NEVER, 0))
                continue
            if place >= 0:
                value = args[place]
            elif place == OUT:
                value = out
            else:
                value = self.__dict__.pop(self._attributes[ATTRIBUTE - place])
            if isinstance(value, Variable):
                writes = value._writes
                if writes is None:
                    writes = value._writes = [0]
                saved.append((value.array, writes, writes[0]))
            else:
                saved.append((value, NEVER, 0))
        return saved

    @property
    def saved(self) -> list:
        """The declared values: raw arrays, or tensors in the graph while grad mode is on.

        None for a value that was not saved, as no gradient that needs it is asked for.
        """
        if self._saved is None:
            raise GradientError(
                f"{self.name_}: backward a second time, but the values it saved are freed; "
                f"give the first backward retain_graph=True{describe_site(self)}"
            )
        values: list[Any] = []
        for value, writes, version in self._saved:
            if writes[0] != version:
                raise anomaly.changed_value(self, len(values))
            values.append(value)
        if state.mode.grad:
            places = [place for place, _ in self._plan]
            return [self._as_tensor(value, place) for value, place in zip(values, places)]
        return values

    def _as_tensor(self, value: Any, place: int) -> Any:
        """A saved array as the tensor that it was, with its place in the graph."""
        if value is None or place <= ATTRIBUTE or type(value) not in _modules:
            return value
        edge = self if place == OUT else self._edges[place]
        if isinstance(edge, Variable):
            return edge
        tensor = wrap(value)
        if edge is not None:
            tensor._tracked = True
            tensor._node = edge
        return tensor

    def keep(self, helper: Callable, *args: Any) -> Any:
        """In forward: helper(*args) on raw arrays, remembered for backward."""
        value = helper(*args)
        if self._tracked:
            if self._kept is None:
                self._kept = {}
            self._kept[helper] = value
        return value

    def recall(self, helper: Callable, *args: Any) -> Any:
        """In backward: what `keep` remembered; derived again, as tensors, in grad mode."""
        return helper(*args) if state.mode.grad else self._kept[helper]

    def fill_missing(self, grads: list) -> list:
        """Zeros for the outputs of a multi-output op that got no gradient."""
        known = next(g for g in grads if g is not None)
        library = xp(known.array if isinstance(known, Variable) else known)
        for i, g in enumerate(grads):
            if g is None and self._dtype[i].kind == "f":
                zeros = library.zeros(self._shape[i], self._dtype[i])
                grads[i] = wrap(zeros) if isinstance(known, Variable) else zeros
        return grads


class Output(Op):
    """One of several outputs of an op: hands its gradient to a numbered slot of the parent."""

    __slots__ = ("parent", "index")

    def __init__(self, parent: Op, index: int, like: Any):
        self.parent, self.index = parent, index
        self._edges, self._order = [parent], _next_order()
        self._shape, self._dtype = like.shape, like.dtype
        self._hooks = self._kept = None
        self._saved = ()
        self._tracked = 1
        self.scope = parent.scope
        self._code, self._instruction = parent._code, parent._instruction

    def function_and_index(self) -> tuple[Any, int]:
        return self.parent, self.index

    def name(self) -> str:
        return self.parent.name()


def _wrap_outputs(node: Op, outs: Iterable, args: tuple, edges: list) -> tuple:
    """Tensors for a tuple of raw outputs, each tracked one with an Output node of its own."""
    tensors = tuple(wrap(out if type(out) in _modules else np.asarray(out)) for out in outs)
    if node._tracked:
        node._edges = edges
        node._order = _next_order()
        node._hooks = None
        node.scope = state.mode.scope
        node._code, node._instruction = call_site(sys._getframe(2))
        node._shape = tuple(t.array.shape for t in tensors)
        node._dtype = tuple(t.array.dtype for t in tensors)
        node._saved = node._save(args, None) if node._plan else ()
        for index, tensor in enumerate(tensors):
            if tensor.array.dtype.kind != "f":
                continue
            tensor._tracked = True
            tensor._node = Output(node, index, tensor.array)
    if node.view:
        for tensor, view_args in zip(tensors, node.view_args(args)):
            tensor._writes = writes_of(args[0])
            tensor._view = View(args[0], *view_args)
    if state.mode.anomaly:
        for tensor in tensors:
            anomaly.check_forward(type(node), args, tensor)
    return tensors


def on_one_device(args: tuple) -> tuple | None:
    """args with 0-d tensors brought from the CPU to the GPU that the others are on, if so."""
    tensors = [arg for arg in args if isinstance(arg, Variable)]
    elsewhere = [t for t in tensors if not isinstance(t.array, ndarray)]
    if not elsewhere:
        return None
    where = device_of(elsewhere[0].array)
    strays = [t for t in tensors if isinstance(t.array, ndarray) and not t.array.ndim]
    moved = {id(t): t.to(where) for t in strays}
    return tuple(moved.get(id(arg), arg) for arg in args) if moved else None


def _shares_memory(out: Any, source: Any) -> bool:
    if not out.size:
        return True  # without elements there is nothing that could differ
    if source.flags.c_contiguous:
        return out is source or out.base is not None
    return _modules[type(out)].may_share_memory(out, source)
