"""The backward walk: collect the graph, then visit its nodes from the newest to the oldest.

    for node in newest first:
        g = grads.pop(node)
        for edge, value in zip(node.edges, node.backward(g)):
            grads[edge] = grads[edge] + value if edge in grads else value

Every op is newer than its inputs, so in that order a node's gradient is complete when its turn
comes. What `walk` adds to these lines: leaves keep their gradient; an op with several outputs
waits for a gradient of each; hooks; and the steps that `trace_backward` shows.

Nothing here is recursive, and memory is freed as the walk goes: a node's saved values when its rule
has run, its gradient when it has been passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from ..backend import _modules, sum_over
from ..errors import GradientError
from . import anomaly
from .hooks import run_after_accumulation, run_hooks
from .mode import state
from .op import Op, Output
from .site import describe_site
from .variable import Variable, own_copy, refresh, unwrap, wrap, writes_of

_order = attrgetter("_order")


class Contribution(NamedTuple):
    """What one step adds to the gradient of one of its inputs.

    target    the Op that made the input (an Output, with .parent and .index, if that op has
              several outputs), or the leaf itself
    value     the contribution, in the input's shape
    before    the gradient gathered there so far (None at first)
    after     before + value
    """

    target: Any
    value: Any
    before: Any
    after: Any


class Step(NamedTuple):
    """One step of the walk: a node, its complete gradient, and what its rule passes on.

    An op with several outputs has a list of gradients, one for each. For a leaf, the one
    contribution is what is added to its `.grad`.
    """

    node: Any
    gradient: Any
    contributions: list[Contribution]


def collect(roots: Iterable[Any], since: int = -1) -> list:
    """All nodes and tracked leaves that the roots depend on, oldest first.

    Nodes that are not newer than the moment `since` are ends: what they came from is left out.
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
    roots: dict[Any, Any],
    wanted: dict[Any, Any] | None,
    retain_graph: bool,
    create_graph: bool,
    trace: bool = False,
    since: int = -1,
) -> Iterator[Step]:
    """Run backward from `roots` {node or leaf: gradient}.

    wanted is None to accumulate into the leaves' `.grad`; otherwise a dict whose keys are the nodes
    and leaves whose gradients are asked for, and which the walk fills. Gradients are raw arrays, or
    tensors with create_graph. Yields only when `trace` is set: untraced, it runs through at once.
    With `since`, only nodes made after that moment run, and their hooks; older ones are ends.
    """
    pending = collect(roots, since)
    needed = set() if wanted is None else _needed(pending, wanted, since)
    grads: dict[Any, Any] = dict(roots)
    ours: set = set()  # keys of grads whose buffer was made here, so that it may be added into
    check_values = state.mode.anomaly
    while pending:
        node = pending.pop()
        g = grads.pop(node, None)
        if g is None:
            continue  # no gradient came this way
        if wanted is not None and node not in needed and node not in wanted:
            continue  # on no way to what is wanted: its hooks do not run either
        if node._hooks and node._order > since:
            g = run_hooks(node, g)
            ours.discard(node)  # a hook may have kept it
        if wanted is not None:
            if node in wanted:
                wanted[node] = g
            if node not in needed:
                continue
        if node._order == 0:  # a leaf
            if wanted is None and is_still_leaf(node):
                before = node._grad.clone() if trace and node._grad is not None else None
                accumulate(node, g, node in ours, create_graph)
                if trace:
                    yield Step(node, g, [Contribution(node, g, before, node._grad.clone())])
            continue
        if type(node) is Output:
            _pass_to_slot(node, g, grads)
            continue

        try:
            several = type(g) is list
            results = node.backward(*node.fill_missing(g)) if several else node.backward(g)
        except Exception as error:
            anomaly.explain_backward(node, error)
            raise
        if not retain_graph:
            node._saved = node._kept = None  # frees their memory now
        if type(results) is not tuple:
            results = (results,)
        if check_values:
            anomaly.check_backward(node, g, results)

        contributions: Any = [] if trace else None
        fresh = node.fresh and not (create_graph or trace)
        for edge, value in zip(node._edges, results):
            if edge is None or value is None:
                continue
            if value.shape != edge._shape or value.dtype is not edge._dtype:
                value = fit(value, edge, node)
            before = grads.get(edge)
            if before is None:
                grads[edge] = value
                if fresh and value is not g:
                    ours.add(edge)
            elif edge in ours:
                before += value
                grads[edge] = before
            elif fresh and value is not g:
                value += before
                grads[edge] = value
                ours.add(edge)
            else:
                grads[edge] = before + value
                if not (create_graph or trace):
                    ours.add(edge)
            if trace:
                contributions.append(Contribution(edge, value, before, grads[edge]))
        if trace:
            yield Step(node, g, contributions)


def _pass_to_slot(output: Output, g: Any, grads: dict) -> None:
    """Hand the gradient of one of several outputs to the list that the op gets them in."""
    slots = grads.get(output.parent)
    if slots is None:
        slots = grads[output.parent] = [None] * len(output.parent._shape)
    known = slots[output.index]  # set if the output was made again for a second derivative
    slots[output.index] = g if known is None else known + g


def _needed(nodes: list, wanted: dict, since: int) -> set:
    """The nodes, newer than `since`, whose rule must run for a gradient to reach `wanted`."""
    needed: set = set()
    for node in nodes:  # oldest first, so inputs are decided before their consumers
        if node._order <= since:
            continue
        for edge in node._edges:
            if edge is not None and (edge in needed or edge in wanted):
                needed.add(node)
                break
    return needed


def fit(value: Any, edge: Any, node: Op) -> Any:
    """Bring a contribution to its input's shape (undo broadcasting) and dtype, or refuse it."""
    shape, dtype = edge._shape, edge._dtype
    if value.shape != shape:
        value = sum_to(value, shape, node)
    found = unwrap(value).dtype
    if found != dtype:
        if found.kind != "f":
            raise GradientError(
                f"{node.name_}: backward gave a gradient of dtype {found}, expected {dtype}"
                f"{describe_site(node)}"
            )
        value = value.to(dtype) if isinstance(value, Variable) else value.astype(dtype)
    return value


def sum_to(value: Any, shape: tuple, node: Op | None = None) -> Any:
    """Sum out the axes along which `shape` was broadcast to value.shape."""
    extra = len(value.shape) - len(shape)
    axes = list(range(extra))
    for i, n in enumerate(shape, extra):
        if n == 1 and i >= 0 and value.shape[i] != 1:
            axes.append(i)
    total = sum_over(value, tuple(axes), keepdims=True) if axes else value
    if extra < 0 or tuple(total.shape[extra:]) != tuple(shape):
        name = node.name_ if node is not None else "sum_to"
        raise GradientError(
            f"{name}: backward gave a gradient of shape {tuple(value.shape)}, expected "
            f"{tuple(shape)}{describe_site(node)}"
        )
    return total.reshape(shape) if extra else total


def is_still_leaf(leaf: Any) -> bool:
    """Whether a gradient is wanted in a leaf's `.grad`: not if it was detached in the meantime.

    Refuses a leaf that is a view and got a history, as another view of its memory was written to.
    """
    if leaf._view is not None:
        refresh(leaf)
    if leaf._node is not None:
        raise GradientError(
            f"backward: a leaf of shape {tuple(leaf._shape)} is a view of a tensor that was "
            "written to after the leaf was used, and is no leaf any more; set requires_grad on a "
            "clone()"
        )
    return leaf._tracked


def accumulate(leaf: Any, g: Any, ours: bool, create_graph: bool) -> None:
    """Add a gradient to a leaf's `.grad`, which is always an array of the leaf's own."""
    if create_graph:
        leaf._grad = g.clone() if leaf._grad is None else leaf._grad + g
    elif leaf._grad is None:
        whole = ours and type(g) in _modules and g.flags.c_contiguous
        leaf._grad = wrap(g if whole else own_copy(g))
    else:
        writes_of(leaf._grad)[0] += 1  # first: what Ctrl-C leaves half done is counted too
        leaf._grad.array += g
    if leaf._hooks:
        run_after_accumulation(leaf)
