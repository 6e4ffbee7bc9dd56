"""Ops with several outputs: each output has a node that passes its gradient to the op."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backend import xp
from .complex_rules import conjugate_rule
from .mode import outside, state
from .op import Op, next_order
from .variable import as_array, unwrap, wrap, wrap_like, writes_of
from .views import OneOfSeveral


class Output(Op):
    """One of several outputs of an op: passes its gradient to slot `index` of the parent."""

    __slots__ = ("parent", "index")

    one_of_several = True

    def __init__(self, parent: Op, index: int, like: Any):
        self.parent, self.index = parent, index
        self._edges, self._order = [parent], next_order()
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


def wrap_outputs(node: Op, outs: Iterable, args: tuple, edges: list) -> tuple:
    """Wrap a tuple of raw outputs in tensors; each tracked one gets its own Output node."""
    arrays = [as_array(out) for out in outs]
    tensors = tuple(map(wrap, arrays))
    if node._tracked:
        shapes, dtypes = [a.shape for a in arrays], [a.dtype for a in arrays]
        node._record(args, edges, None, shapes, dtypes)
        if any(dtype.kind == "c" for dtype in dtypes):
            conjugate_rule(node)
        for index, tensor in enumerate(tensors):
            if tensor.array.dtype.kind in "fVc":
                tensor._tracked = True
                tensor._node = Output(node, index, tensor.array)
    if node.view:
        for tensor, view_args in zip(tensors, node.view_args(args)):
            tensor._writes = writes_of(args[0])
            tensor._view = OneOfSeveral(args[0], *view_args)
    if state.mode.watched:
        outside.watch(node, args, tensors)
    return tensors


def enter_graph(node: Op, edges: list, shape: Any, dtype: Any) -> None:
    """Put `node`, which saves no argument, into the graph as its newest node."""
    node._record((), edges, None, shape, dtype)


def fill_missing(node: Op, grads: list) -> list:
    """Zeros for the outputs that got no gradient."""
    known = next(g for g in grads if g is not None)
    library = xp(unwrap(known))
    for i, g in enumerate(grads):
        if g is None and node._dtype[i].kind in "fVc":
            grads[i] = wrap_like(library.zeros(node._shape[i], node._dtype[i]), known)
    return grads


outside.wrap_outputs, outside.fill_missing = wrap_outputs, fill_missing
