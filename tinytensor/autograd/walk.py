"""The backward walk: collect the graph, then visit its nodes from the newest to the oldest.

    for node in newest first:
        g = grads.pop(node)
        for edge, value in zip(node.edges, node.backward(g)):
            grads[edge] += value

Every op is newer than its inputs, so a node's gradient is complete when its turn comes. `walk` adds
to these lines: leaves keep their gradient, an op with several outputs waits for the gradient of
each, hooks run, `wanted` skips nodes that no requested gradient needs, and errors are explained.

Nothing here recurses. Memory is freed along the way: a node's saved values once its rule has run
(unless retain_graph), and its gradient once it has been passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from ..backend import libraries, sum_over
from ..errors import GradientError
from .mode import outside, state
from .op import Op
from .variable import Variable, own_copy, unwrap, wrap, writes_of

_order = attrgetter("_order")


class Gradients:
    """The gradients that are not passed on yet, and which of their arrays the walk owns.

    of    {node or leaf: gradient summed so far}; a list for an op with several outputs
    ours  the keys of `of` whose array the walk made itself. Only these are added to in place:
          another array may be a saved value, too, or the gradient of a second node.
    """

    __slots__ = ("of", "ours", "in_place")

    def __init__(self, roots: dict[Any, Any], in_place: bool):
        self.of, self.in_place = dict(roots), in_place
        self.ours: set[Any] = set()

    def add(self, node: Op, g: Any, results: tuple) -> None:
        """Add `results`, what backward of `node` returned for g, to the gradients of its inputs."""
        of, ours, fresh = self.of, self.ours, self.in_place and node.fresh
        for edge, value in zip(node._edges, results):
            if edge is None or value is None:
                continue
            if value.shape != edge._shape or value.dtype is not edge._dtype:
                value = fit(value, edge, node)
            new = fresh and value is not g  # nothing else refers to the array
            if edge not in of:
                of[edge] = value
                if new:
                    ours.add(edge)
            elif edge in ours:
                of[edge] += value
            elif new:
                value += of[edge]
                of[edge] = value
                ours.add(edge)
            else:
                of[edge] = of[edge] + value
                if self.in_place:
                    ours.add(edge)

    def add_to_slot(self, output: Any, g: Any) -> None:
        """Put the gradient of one of several outputs into the list of their op, output.parent."""
        slots = self.of.get(output.parent)
        if slots is None:
            slots = self.of[output.parent] = [None] * len(output.parent._shape)
        known = slots[output.index]  # set if the output was made again for a second derivative
        slots[output.index] = g if known is None else known + g

    def through_hooks(self, node: Any, g: Any) -> Any:
        """Pass g through the hooks of `node`. They may keep it, so it is no longer ours."""
        self.ours.discard(node)
        return outside.run_hooks(node, g)

    def deliver(self, leaf: Any, g: Any) -> None:
        """Add a complete gradient to the leaf's `.grad`."""
        if leaf._view is not None or leaf._node is not None:
            outside.check_leaf(leaf)
        if leaf._tracked:
            (outside.accumulate_with_hooks if leaf._hooks else accumulate)(
                leaf, g, leaf in self.ours
            )


def collect(roots: Iterable[Any], since: int = -1) -> list:
    """All nodes and tracked leaves that the roots depend on, oldest first.

    A node that is not newer than `since` is included, but not followed to its inputs.
    """
    seen = dict.fromkeys(roots)  # a dict keeps the order in which leaves are found
    stack = list(seen)
    while stack:
        node = stack.pop()
        if node._order > since:
            for edge in node._edges:
                if edge is not None and edge not in seen:
                    seen[edge] = None
                    stack.append(edge)
    return sorted(seen, key=_order)


def walk(
    grads: Gradients, wanted: dict[Any, Any] | None, retain_graph: bool, since: int = -1
) -> Iterator[tuple[Any, Any]]:
    """Run backward from the roots in `grads`. Yields (node, g) once a node has passed g on.

    wanted: None to accumulate into the leaves' `.grad`; otherwise a dict whose keys are the nodes
    and leaves whose gradients are requested, which the walk fills in. since: run only nodes (and
    their hooks) whose order is greater, those that a checkpoint has just recomputed.
    """
    pending = collect(grads.of, since)
    needed = set() if wanted is None else _needed(pending, wanted, since)
    take, add = grads.of.pop, grads.add
    check_values = state.mode.anomaly
    while pending:
        node = pending.pop()
        g = take(node, None)
        if g is None or (wanted is not None and node not in needed and node not in wanted):
            continue
        if node._hooks and node._order > since:
            g = grads.through_hooks(node, g)
        if wanted is not None:
            if node in wanted:
                wanted[node] = g
            if node not in needed:
                continue
        if node._order == 0:
            grads.deliver(node, g)
        elif node.one_of_several:
            grads.add_to_slot(node, g)
        else:
            try:
                one = type(g) is not list
                results = node.backward(g) if one else node.backward(*node.fill_missing(g))
            except Exception as error:
                outside.explain_backward(node, error)
                raise
            if not retain_graph:
                node._saved = node._kept = None
            if type(results) is not tuple:
                results = (results,)
            if check_values:
                outside.check_backward(node, g, results)
            add(node, g, results)
        yield node, g


def _needed(nodes: list, wanted: dict, since: int) -> set:
    """The nodes, newer than `since`, whose rule must run for a gradient to reach `wanted`."""
    needed: set = set()
    for node in nodes:  # oldest first, so inputs are decided before their consumers
        if node._order > since and any(e in needed or e in wanted for e in node._edges):
            needed.add(node)
    return needed


def fit(value: Any, edge: Any, node: Op) -> Any:
    """Convert a contribution to its input's shape (undo broadcasting) and dtype, or raise."""
    shape, dtype = edge._shape, edge._dtype
    if value.shape != shape:
        value = sum_to(value, shape, node) if shape else sum_over(value, None).reshape(())
    found = unwrap(value).dtype
    if found != dtype:
        if found.kind not in "fVc":
            raise GradientError(
                f"{node.op_name}: backward gave a gradient of dtype {found}, expected {dtype}"
                f"{outside.where(node)}"
            )
        value = value.real if found.kind == "c" != dtype.kind else value  # of a real input: real
        value = value.to(dtype) if isinstance(value, Variable) else value.astype(dtype)
    return value


def sum_to(value: Any, shape: tuple, node: Op | None = None) -> Any:
    """Sum out the axes along which `shape` was broadcast to value.shape."""
    extra = len(value.shape) - len(shape)
    axes = [*range(extra)]
    axes += [i for i, n in enumerate(shape, extra) if n == 1 and i >= 0 and value.shape[i] != 1]
    total = sum_over(value, tuple(axes), keepdims=True) if axes else value
    if extra < 0 or tuple(total.shape[extra:]) != tuple(shape):
        name = node.op_name if node is not None else "sum_to"
        raise GradientError(
            f"{name}: backward gave a gradient of shape {tuple(value.shape)}, expected "
            f"{tuple(shape)}{outside.where(node)}"
        )
    return total.reshape(shape) if extra else total


def accumulate(leaf: Any, g: Any, ours: bool) -> None:
    """Add a gradient to a leaf's `.grad`, whose array always belongs to the leaf alone."""
    if isinstance(g, Variable):  # create_graph
        leaf._grad = g.clone() if leaf._grad is None else leaf._grad + g
    elif leaf._grad is None:
        whole = ours and type(g) in libraries and g.flags.c_contiguous
        leaf._grad = wrap(g if whole else own_copy(g))
    else:
        writes_of(leaf._grad)[0] += 1  # first, so that an interrupted write counts too
        leaf._grad.array += g
