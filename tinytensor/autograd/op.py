"""Op: one differentiable operation, its forward and its backward side by side.

Each call of an op makes an instance, which is a node of the graph. `forward` runs on raw arrays.
`backward` takes g, the gradient of the output, and returns the gradient of each argument. It runs
on raw arrays, or on tensors when the gradient itself is differentiated:

    class Exp(Op):
        '''y = eˣ;  dx = g·y'''

        saves = ("out",)

        def forward(self, x):
            return xp(x).exp(x)

        def backward(self, g):
            (y,) = self.saved
            return g * y

`saves` names what backward may use: arguments of forward, "out", or constants that forward sets as
attributes. `{"a": "b", "b": "a"}` saves a only if b needs a gradient, and vice versa. Intermediate
values that depend on an input go through `keep` and `recall`. Backward must not write into g or a
saved value. It need not undo broadcasting: the engine does. See docs/adding_an_op.md.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..backend import QUIET, error_state, libraries, warn_again
from .mode import outside, state
from .variable import Variable, as_array, made_by, wrap

_new = object.__new__
ndarray = np.ndarray
next_order = itertools.count(1).__next__  # numbers nodes in the order they are made

LAST = 61  # arguments from this one on share one bit
LAST_BIT = 1 << LAST

NEVER = [0]  # the version of constants, which are never written to
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
        """Call hook(grad_inputs, grad_outputs) after this rule; it may return other grad_inputs."""
        return outside.add_node_hook(self, hook, "after")

    def register_prehook(self, hook: Callable) -> Any:
        """Call hook(grad_outputs) before this rule; it may return other grad_outputs."""
        return outside.add_node_hook(self, hook, "before")

    def __call__(self, *grads: Any) -> Any:
        return outside.node_attribute(self, "apply_rule")(*grads)

    def __getattr__(self, name: str) -> Any:
        return outside.node_attribute(self, name)

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class Op(Node):
    """A differentiable operation; the module docstring shows how to write one."""

    __slots__ = ("_order", "_tracked", "_shape", "_dtype", "_saved", "_kept",
                 "_code", "_instruction", "scope", "__dict__", "__weakref__")  # fmt: skip

    _order: int  # creation number, higher than that of every input
    _tracked: int  # bit i: argument i needs a gradient
    _shape: Any  # of the output; a list if there are several
    _dtype: Any
    _saved: Any  # [(value, writes, version), …]; None once freed
    _kept: Any  # {name of the helper: value}; see keep
    _code: Any  # with _instruction, where the op was called; see site.py
    _instruction: int
    scope: str  # path of the module it was called in

    saves: Any = ()
    view = False  # whether the output may share memory with the first argument
    differentiable = True  # False: it has no gradient (comparisons, for example)
    fresh = False  # True if backward returns a new array per input, or g; for ops with one output
    one_of_several = False  # whether it is one output of an op with several (outputs.py)
    in_kernel = False  # whether forward ran as a kernel (kernels/machinery/route.py)
    op_name = "op"  # the name in error messages: snake_case of the class name
    _plan: tuple = ()  # `saves`, resolved once per class; see _save_plan

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "op_name" not in cls.__dict__:
            cls.op_name = snake_case(cls.__name__)
        cls._plan = tuple(cls._save_plan())

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError(f"{self.op_name}: forward is not implemented")

    def backward(self, *grads: Any) -> Any:
        raise NotImplementedError(f"{self.op_name}: backward is not implemented")

    def view_args(self, args: tuple) -> Iterable[tuple[Any, tuple]]:
        """For an op whose outputs are views: the (op, args) that make each from args[0]."""
        raise NotImplementedError(f"{self.op_name}: view_args is not implemented")

    def fill_missing(self, grads: list) -> list:
        """Zeros for those of several outputs that got no gradient."""
        return outside.fill_missing(self, grads)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward, and record it if an argument requires grad, in four steps.
        Returns a tensor, a tuple of them, or a raw result if no argument is a tensor."""
        # 1. The arguments: raw arrays for forward, edges for the graph.
        node, raw, edges = _new(cls), [], []
        tracked, bit, any_tensor = 0, 1, False  # bit i of tracked: argument i needs a gradient
        for arg in args:
            edge = None
            if isinstance(arg, Variable):
                any_tensor = True
                if arg._view is not None and arg._view.count != arg._writes[0]:
                    outside.refresh(arg)  # the memory of a view was written to
                if arg._tracked:
                    tracked |= bit
                    edge = arg._node or arg
                arg = arg.array
            raw.append(arg)
            edges.append(edge)
            if bit < LAST_BIT:
                bit += bit
        mode = state.mode
        node._kept = None
        node._tracked = tracked = tracked if mode.grad else 0

        # 2. Forward, without NumPy's warnings.
        token = None
        try:
            token = error_state.set(QUIET)
            out = node.forward(*raw)
        except Exception as error:
            return outside.after_error(cls, args, error)
        finally:
            if token is not None:
                error_state.reset(token)
            else:
                warn_again()  # Ctrl-C struck before the token was stored

        # 3. The result as a tensor.
        if not any_tensor:
            return out
        if type(out) is not ndarray:
            if type(out) is tuple:
                return outside.wrap_outputs(node, out, args, edges)
            out = as_array(out)  # NumPy's reductions return scalars
        tensor: Any = _new(outside.tensor)
        tensor.array, tensor._writes, tensor._tracked = out, mode.inference, False
        tensor._grad = tensor._node = tensor._view = tensor._hooks = None

        # 4. The node in the graph.
        if tracked and (kind := out.dtype.kind) in "fVc":
            tensor._tracked, tensor._node = True, node
            node._record(args, edges, tensor, out.shape, out.dtype)
            if kind == "c":
                outside.conjugate_rule(node)
        if cls.view:
            outside.note_view(tensor, args[0], cls, args[1:])
        if mode.watched:
            outside.watch(node, args, (tensor,))
        return tensor

    def needs(self, i: int) -> bool:
        """Whether the i-th argument of forward needs a gradient."""
        return self._tracked >> (i if i < LAST else LAST) & 1 == 1

    @classmethod
    def _save_plan(cls) -> Iterator[tuple[int, str, int]]:
        """(place, name, bits of the inputs whose gradients need it) for each name in `saves`.

        The place is the position among forward's arguments; -1 for "out" and attributes.
        """
        code = inspect.unwrap(cls.forward).__code__
        arguments = code.co_varnames[1 : code.co_argcount]
        saves = (cls.saves,) if isinstance(cls.saves, str) else cls.saves
        for name in saves:
            needed_by = -1  # all bits: every gradient needs it
            if isinstance(saves, dict):
                inputs = (saves[name],) if isinstance(saves[name], str) else saves[name]
                needed_by = sum(1 << arguments.index(i) for i in inputs)
            yield arguments.index(name) if name in arguments else -1, name, needed_by

    def _record(self, args: tuple, edges: list, out: Any, shape: Any, dtype: Any) -> None:
        """Put this node into the graph, as its newest one, and save what `saves` declares.
        A saved entry is (value, writes, version), or NOTHING if no gradient needs it."""
        self._edges, self._hooks, self._shape, self._dtype = edges, None, shape, dtype
        self._order = next_order()
        self.scope = state.mode.scope
        self._code, self._instruction = outside.call_site(sys._getframe(2))
        saved = self._saved = []
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
                if not writes:
                    writes = value._writes = [0, value.array] if writes is None else writes.save()
                saved.append((value.array, writes, writes[0]))
            else:
                saved.append((value, NEVER, 0))

    @property
    def saved(self) -> list:
        """The declared values: raw arrays, or tensors in the graph while grad mode is on.

        None for a value that was not saved because no gradient needs it.
        """
        if self._saved is None:
            raise outside.freed_values(self)
        values: list[Any] = []
        for value, writes, version in self._saved:
            if writes[0] != version:
                place, name, _ = self._plan[len(values)]
                what = f"its input '{name}'" if place >= 0 else "its output"
                what += f", of shape {tuple(value.shape)},"
                raise outside.changed_value(self, what, writes[0], version)
            values.append(value)
        if state.mode.grad:
            return [self._as_tensor(v, *p) for v, p in zip(self._saved, self._plan)]
        return values

    def _as_tensor(self, saved: tuple, place: int, name: str, _: int) -> Any:
        """A saved array as a tensor, at its original place in the graph.

        It shares the write counter, so a rule that saves it again also detects later writes.
        """
        value, writes, _ = saved
        if type(value) not in libraries or (place < 0 and name != "out"):
            return value  # None, a number or an attribute: a constant
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
        self.remember(helper.__name__, value)
        return value

    def remember(self, name: str, value: Any) -> None:
        """Like `keep`, for a kernel that computes the value of the helper `name` itself."""
        if self._tracked:
            if self._kept is None:
                self._kept = {}
            self._kept[name] = value

    def recall(self, helper: Callable, *args: Any) -> Any:
        """In backward: the kept value; helper(*args) in grad mode or if nothing was kept."""
        if self._kept is None or state.mode.grad:
            return helper(*args)
        value = self._kept.get(helper.__name__)
        return helper(*args) if value is None else value

    def kept(self, name: str) -> Any:
        """In a kernel's backward: the kept value, or None."""
        return None if self._kept is None else self._kept.get(name)


_plain: Any = Op.apply.__func__  # type: ignore[attr-defined]
_wrappers: list[Callable] = []  # 16-bit dtypes, forward mode


def wrap_apply(wrapper: Callable, on: bool) -> None:
    """Install a wrapper around `Op.apply`, or remove it: wrapper(apply, op, *args).

    It calls apply(op, *args) itself. The last one installed runs first. Without any, no cost.
    """
    (_wrappers.append if on else _wrappers.remove)(wrapper)
    apply = _plain
    for outer in _wrappers:
        apply = functools.partial(outer, apply)
    apply.__name__ = "apply"
    Op.apply = classmethod(apply)  # type: ignore[assignment,method-assign]
