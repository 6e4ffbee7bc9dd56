"""Op: one differentiable operation, its forward and its backward side by side.

Each call of an op makes an instance, which is a node of the graph. `forward` runs on raw arrays.
`backward` takes g, the gradient of the output, and returns that of each input. It is written once
and runs on raw arrays, or on tensors when the gradient itself is to be differentiated:

    class Tanh(Op):
        '''y = tanh x;  dx = g·(1 − y²)'''

        saves = ("out",)

        def forward(self, x):
            return xp(x).tanh(x)

        def backward(self, g):
            (y,) = self.saved
            return g * (1 - y * y)

    y = Tanh.apply(x)

`saves` declares which values reach backward, as `self.saved`: names of forward's arguments, "out",
or attributes that forward sets (constants such as masks and indices). As a dict {value: inputs}, a
value is saved only when one of those inputs needs a gradient, and is None otherwise:
`{"a": "b", "b": "a"}` for a·b. Plain attributes (`self.dim = dim`) carry numbers and shapes.

An intermediate value that depends on an input is kept by `self.keep(helper, x)` in forward and
taken back by `self.recall(helper, x)` in backward. As an attribute it would be a constant there,
and the second derivative would lose a term.

`backward` returns one gradient for each argument of forward (a single value if there is one; None
where there is none; trailing ones may be left out). It need not undo broadcasting, and must not
write into `g` or a saved value. `self.needs(i)` tells whether anyone asks for the i-th.

An op with several outputs returns a tuple from forward, and backward then takes one g for each. One
whose output may share memory with its first argument sets `view = True`; one that has no gradient
sets `differentiable = False`; one whose gradients are large, and new arrays each, `fresh = True`.

The file goes on as an op's life does: it is called (`apply`), saves values, and gives them back.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..backend import QUIET, error_state, libraries, warn_again
from ..errors import GradientError
from .mode import outside, state
from .variable import Variable, View, made_by, wrap, writes_of

_new = object.__new__
ndarray = np.ndarray
next_order = itertools.count(1).__next__  # the moments at which nodes are made

# Bit i stands for argument i; this one also for all that follow, so that it stays a small integer
# when a thousand tensors are joined.
LAST = 61
LAST_BIT = 1 << LAST

NEVER = [0]  # how often constants were written to
NOTHING = (None, NEVER, 0)  # a value that is not saved


def snake_case(name: str) -> str:
    """LayerNorm → layer_norm."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Node:
    """A node of the graph, with PyTorch's names; `Op` adds forward and backward."""

    __slots__ = ("_edges", "_hooks")

    _edges: Any  # for each argument: the Op that made it, the leaf that it is, or None
    _hooks: dict | None

    def name(self) -> str:
        return f"{type(self).__name__}Backward"

    @property
    def next_functions(self) -> tuple:
        """((node, output number), …): AccumulateGrad for leaves, (None, 0) for constants."""
        return outside.next_functions(self)

    def function_and_index(self) -> tuple[Any, int]:
        """The op at the end of an edge, and which of its outputs the edge leads to."""
        return self, 0

    def register_hook(self, hook: Callable) -> Any:
        """Call hook(grad_inputs, grad_outputs), two tuples, when this node's rule has run.

        It may return other grad_inputs.
        """
        return outside.add_node_hook(self, hook, "after")

    def register_prehook(self, hook: Callable) -> Any:
        """Call hook(grad_outputs), a tuple, before this node's rule; it may return another."""
        return outside.add_node_hook(self, hook, "before")

    def __repr__(self) -> str:
        return f"<{self.name()}>"


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
    fresh = False  # whether backward gives new arrays (or g), which the walk may add into
    one_of_several = False  # whether it stands for one output of another op (outputs.py)
    in_kernel = False  # whether forward ran as a kernel (kernels/route.py)
    name_ = "op"  # the name in error messages: snake_case of the class name
    _plan: tuple = ()  # `saves`, worked out once for the class; see _save_plan

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name_" not in cls.__dict__:
            cls.name_ = snake_case(cls.__name__)
        cls._plan = tuple(cls._save_plan())

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError(f"{self.name_}: forward is not written")

    def backward(self, *grads: Any) -> Any:
        raise NotImplementedError(f"{self.name_}: backward is not written")

    def view_args(self, args: tuple) -> Iterable[tuple[Any, tuple]]:
        """For an op whose several outputs are views: (op, args) that make each out of args[0]."""
        raise NotImplementedError(f"{self.name_}: view_args is not written")

    def fill_missing(self, grads: list) -> list:
        """Zeros for those of several outputs that got no gradient."""
        return outside.fill_missing(self, grads)

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
                    outside.refresh(arg)
                raw.append(arg.array)
                if arg._tracked:
                    tracked |= bit
                    edges.append(arg._node or arg)
                else:
                    edges.append(None)
            else:
                raw.append(arg)
                edges.append(None)
            if bit < LAST_BIT:
                bit += bit
        mode = state.mode
        node._kept = None
        node._tracked = tracked = tracked if mode.grad else 0

        token = None
        try:
            token = error_state.set(QUIET)
            out = node.forward(*raw)
        except Exception as error:
            moved = outside.on_one_device(args)
            if moved is not None:
                return cls.apply(*moved)
            raise outside.explain_forward(cls, args, error) from None
        finally:
            if token is not None:
                error_state.reset(token)
            else:
                warn_again()  # Ctrl-C struck before the token was stored

        if type(out) is not ndarray:
            if not any_tensor:
                return out
            if type(out) is tuple:
                return outside.wrap_outputs(node, out, args, edges)
            if type(out) not in libraries:  # NumPy's reductions return scalars
                out = np.asarray(out)
        elif not any_tensor:
            return out

        tensor: Any = _new(outside.tensor)
        tensor.array = out
        tensor._grad = tensor._writes = tensor._view = tensor._hooks = None
        dtype = out.dtype
        if tracked and dtype.kind == "f":
            tensor._tracked = True
            tensor._node = node
            node._edges = edges
            node._shape = out.shape
            node._dtype = dtype
            node._hooks = None
            node._order = next_order()
            node.scope = mode.scope
            node._code, node._instruction = outside.call_site(sys._getframe(1))
            node._saved = node._save(args, tensor) if cls._plan else ()
        else:
            tensor._tracked = False
            tensor._node = None
        if cls.view and _shares_memory(out, raw[0]):
            tensor._writes = writes_of(args[0])
            tensor._view = View(args[0], cls, args[1:])
        if mode.watched:
            outside.watch(node, args, (tensor,))
        return tensor

    def enter_graph(self, edges: list, shape: Any, dtype: Any) -> None:
        """Take a place in the graph: newer than all nodes there are, called from the user's line.

        `apply` does the same in line, where every call counts.
        """
        self._edges, self._shape, self._dtype = edges, shape, dtype
        self._hooks = None
        self._order = next_order()
        self.scope = state.mode.scope
        self._code, self._instruction = outside.call_site(sys._getframe(1))

    def needs(self, i: int) -> bool:
        """Whether a gradient for forward's i-th argument may be asked for."""
        return self._tracked >> (i if i < LAST else LAST) & 1 == 1

    # --------------------------------------------------------------------------------------
    # What backward may look at
    # --------------------------------------------------------------------------------------

    @classmethod
    def _save_plan(cls) -> Iterator[tuple[int, str, int]]:
        """(place, name, bits of the inputs whose gradients need it) for each name in `saves`.

        The place is that among the arguments of forward, -1 for "out" and attributes.
        """
        code = inspect.unwrap(cls.forward).__code__
        arguments = code.co_varnames[1 : code.co_argcount]
        saves = (cls.saves,) if isinstance(cls.saves, str) else cls.saves
        for name in saves:
            needed_by = -1  # all bits: whichever gradient is asked for
            if isinstance(saves, dict):
                inputs = (saves[name],) if isinstance(saves[name], str) else saves[name]
                needed_by = sum(1 << arguments.index(i) for i in inputs)
            yield arguments.index(name) if name in arguments else -1, name, needed_by

    def _save(self, args: tuple, out: Any) -> list:
        """(value, writes, version) for what `saves` declares and a needed gradient asks for."""
        saved: list[tuple] = []
        tracked = self._tracked
        for place, name, needed_by in self._plan:
            if not needed_by & tracked:
                saved.append(NOTHING)
                continue
            if place >= 0:
                value = args[place]
            elif name == "out":
                value = out
            else:
                value = self.__dict__.pop(name)
            if isinstance(value, Variable):
                writes = value._writes
                if writes is None:
                    writes = value._writes = [0, value.array]
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
            raise freed_values(self)
        values: list[Any] = []
        for value, writes, version in self._saved:
            if writes[0] != version:
                place, name, _ = self._plan[len(values)]
                what = f"its input '{name}'" if place >= 0 else "its output"
                what += f", of shape {tuple(value.shape)},"
                raise changed_value(self, what, writes[0], version)
            values.append(value)
        if state.mode.grad:
            plan = self._plan
            return [self._as_tensor(v, *p) for v, p in zip(self._saved, plan)]
        return values

    def _as_tensor(self, saved: tuple, place: int, name: str, _: int) -> Any:
        """A saved array as the tensor that it was, with its place in the graph.

        It has the counter of its memory: a rule that saves it again notices later writes, too.
        """
        value, writes, _ = saved
        if type(value) not in libraries:
            return value  # None, or a number
        if place < 0 and name != "out":
            return value  # an attribute: a constant
        edge = self if place < 0 else self._edges[place]
        if isinstance(edge, Variable):
            return edge
        tensor = wrap(value) if edge is None else made_by(edge, value)
        if writes is not NEVER:
            tensor._writes = writes
        return tensor

    def keep(self, helper: Callable, *args: Any) -> Any:
        """In forward: helper(*args) on raw arrays, remembered for backward."""
        value = helper(*args)
        self.remember(helper, value)
        return value

    def remember(self, helper: Callable, value: Any) -> None:
        """As `keep`, where a kernel has worked out the value by itself."""
        if self._tracked:
            if self._kept is None:
                self._kept = {}
            self._kept[helper] = value

    def recall(self, helper: Callable, *args: Any) -> Any:
        """In backward: what was kept; derived again, as tensors, in grad mode, or if it was not."""
        if self._kept is None or state.mode.grad:
            return helper(*args)
        value = self._kept.get(helper)
        return helper(*args) if value is None else value

    def kept(self, helper: Callable) -> Any:
        """In a kernel's backward: what was kept, or None."""
        return None if self._kept is None else self._kept.get(helper)


def _shares_memory(out: Any, source: Any) -> bool:
    """Whether `out`, made of `source`, is a view of it or a copy."""
    if not out.size:
        return True  # without elements there is nothing that could differ
    if source.flags.c_contiguous:
        return out is source or out.base is not None
    return libraries[type(out)].may_share_memory(out, source)


def freed_values(node: Op) -> GradientError:
    """The error for a second backward over a node whose saved values are freed."""
    return GradientError(
        f"{node.name_}: backward a second time, but the values it saved are freed; "
        f"give the first backward retain_graph=True{outside.where(node)}"
    )


def changed_value(node: Op, what: str, version: int, expected: int) -> GradientError:
    """The error for a saved value, `what`, that was written over."""
    return GradientError(
        f"{node.name_}: {what} was changed in place after it was saved (version {version}, "
        f"expected {expected}); use an out-of-place op or clone() before the write"
        f"{outside.where(node)}"
    )
