"""The backward walk: collect the graph, then visit its nodes from the newest to the oldest.

Every op is newer than its inputs, so in that order a node's gradient is complete when its turn comes.
Nothing here is recursive, and memory is freed as the walk goes: a node's saved values when its rule
has run, its gradient when it has been passed on.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from ..backend import _modules, error_state, QUIET
from ..errors import GradientError
from . import anomaly
from .hooks import run_hooks
from .mode import state
from .op import Op, Output
from .site import describe_site
from .variable import Variable, counter_of, edge_of, own_copy, refresh, unwrap, wrap

_order = attrgetter("_order")


class Contribution(NamedTuple):
    """What one step adds to the gradient of one of its inputs.

    target    the Op that made the input, or the leaf itself
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

    For a leaf, the one contribution is what is added to its `.grad`.
    """

    node: Any
    gradient: Any
    contributions: list[Contribution]


def collect(roots: Sequence[Any]) -> list:
    """All nodes and tracked leaves that the roots depend on, oldest first."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for edge in stack.pop()._edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return sorted(seen, key=_order)


def walk(
    roots: dict[Any, Any],
    wanted: dict[Any, Any] | None,
    retain_graph: bool,
    create_graph: bool,
    trace: bool = False,
) -> Iterator[Step]:
    """Run backward from `roots` {node or leaf: gradient}.

    wanted is None to accumulate into the leaves' `.grad`; otherwise a dict whose keys are the nodes
    and leaves whose gradients are asked for, and which the walk fills. Gradients are raw arrays, or
    tensors with create_graph. Yields only when `trace` is set: untraced, it runs through at once.
    """
    pending = collect(tuple(roots))
    needed = None if wanted is None else _needed(pending, wanted)
    grads: dict[Any, Any] = dict(roots)
    ours: set = set()  # keys of grads whose buffer was made here, so that it may be added into
    check_values = state.mode.anomaly
    while pending:
        node = pending.pop()
        g = grads.pop(node, None)
        if g is None:
            continue  # no gradient came this way
        if node._hooks:
            g = run_hooks(node, g)
        if wanted is not None:
            if node in wanted:
                wanted[node] = g
            if node not in needed:  # type: ignore[operator]
                continue
        if node._order == 0:
            if wanted is None:
                before = node._grad
                if trace and before is not None:
                    before = before.clone()
                accumulate(node, g, node in ours, create_graph)
                if trace:
                    value = g if isinstance(g, Variable) else wrap(g)
                    step = Contribution(node, value, before, node._grad.clone())
                    yield Step(node, g, [step])
            continue
        if type(node) is Output:
            slots = grads.get(node.parent)
            if slots is None:
                slots = grads[node.parent] = [None] * len(node.parent._shape)
            slots[node.index] = g
            continue

        try:
            if type(g) is list:
                results = node.backward(*_fill(node, g))
            else:
                results = node.backward(g)
        except Exception as error:
            raise anomaly.explain_backward(node, error)
        if not retain_graph:
            node._saved = node._kept = None  # frees their memory now
        if type(results) is not tuple:
            results = (results,)
        if check_values:
            anomaly.check_backward(node, g, results)

        steps = [] if trace else None
        for edge, value in zip(node._edges, results):
            if edge is None or value is None:
                continue
            if value.shape != edge._shape or value.dtype is not edge._dtype:
                value = fit(value, edge, node)
            before = grads.get(edge)
            if before is None:
                grads[edge] = value
            elif edge in ours:
                before += value
                grads[edge] = before
            else:
                grads[edge] = before + value
                if not (create_graph or trace):
                    ours.add(edge)
            if steps is not None:
                steps.append(Contribution(edge, value, before, grads[edge]))
        if steps is not None:
            yield Step(node, g, steps)


def _needed(nodes: list, wanted: dict) -> set:
    """The nodes whose rule must run for a gradient to reach one of `wanted`."""
    needed: set = set()
    for node in nodes:  # oldest first, so inputs are decided before their consumers
        for edge in node._edges:
            if edge is not None and (edge in needed or edge in wanted):
                needed.add(node)
                break
    return needed


def _fill(node: Op, grads: list) -> list:
    """Zeros for the outputs of a multi-output op that got no gradient."""
    known = next(g for g in grads if g is not None)
    library = _modules.get(type(unwrap(known)), np)
    for i, g in enumerate(grads):
        if g is None and np.dtype(node._dtype[i]).kind == "f":
            zeros = library.zeros(node._shape[i], node._dtype[i])
            grads[i] = wrap(zeros) if isinstance(known, Variable) else zeros
    return grads


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
    total = value.sum(axis=tuple(axes), keepdims=True) if axes else value
    if extra < 0 or tuple(total.shape[extra:]) != tuple(shape):
        name = node.name_ if node is not None else "sum_to"
        raise GradientError(
            f"{name}: backward gave a gradient of shape {tuple(value.shape)}, expected "
            f"{tuple(shape)}{describe_site(node)}"
        )
    return total.reshape(shape) if extra else total


def accumulate(leaf: Any, g: Any, ours: bool, create_graph: bool) -> None:
    """Add a gradient to a leaf's `.grad`, which is always an array of the leaf's own."""
    if create_graph:
        leaf._grad = g.clone() if leaf._grad is None else leaf._grad + g
    elif leaf._grad is None:
        leaf._grad = wrap(g if ours and type(g) in _modules else own_copy(g))
    else:
        leaf._grad.array += g
        counter_of(leaf._grad)._writes += 1


# ------------------------------------------------------------------------------------------
# Public calls
# ------------------------------------------------------------------------------------------


def _roots(name: str, outputs: Sequence[Any], grads: Sequence[Any], create_graph: bool) -> dict:
    """{node or leaf: gradient} for the outputs that a walk starts from, checked."""
    roots: dict[Any, Any] = {}
    if len(grads) != len(outputs):
        raise RuntimeError(f"{name}: got {len(grads)} gradients for {len(outputs)} outputs")
    for output, gradient in zip(outputs, grads):
        if output._view is not None:
            refresh(output)
        edge = edge_of(output)
        if edge is None:
            raise GradientError(
                f"{name}: the tensor of shape {tuple(output.shape)} does not require grad and has "
                "no grad_fn; set requires_grad=True on what it is computed from, outside no_grad()"
            )
        array = output.array
        if gradient is None:
            if array.size != 1:
                raise GradientError(
                    f"{name}: grad can be implicitly created only for scalar outputs, got shape "
                    f"{tuple(array.shape)}; reduce it (.sum()) or pass gradient="
                )
            gradient = wrap(_modules[type(array)].ones_like(array))
        elif not isinstance(gradient, Variable):
            gradient = wrap(_modules[type(array)].asarray(gradient, dtype=array.dtype))
        if gradient.array.shape != array.shape:
            raise GradientError(
                f"{name}: gradient has shape {tuple(gradient.shape)}, expected "
                f"{tuple(array.shape)}, the shape of the output"
            )
        if gradient.array.dtype != array.dtype:
            gradient = gradient.to(array.dtype)
        value = gradient if create_graph else gradient.array
        roots[edge] = roots[edge] + value if edge in roots else value
    return roots


def _run(roots: dict, wanted: dict | None, retain_graph: bool | None, create_graph: bool) -> None:
    """A whole walk. Rules run on raw arrays, unless create_graph asks for tensors."""
    mode = state.mode
    grad_before = mode.grad
    token = error_state.set(QUIET)
    mode.grad = create_graph
    try:
        keep = create_graph if retain_graph is None else retain_graph
        for _ in walk(roots, wanted, keep, create_graph):
            pass
    finally:
        mode.grad = grad_before
        error_state.reset(token)


def _as_tuple(value: Any) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add d(tensors)/d(leaf), weighted by grad_tensors, to the `.grad` of each leaf.

    inputs: accumulate only into these.
    """
    outputs = _as_tuple(tensors)
    grads = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    roots = _roots("backward", outputs, grads, create_graph)
    if inputs is None:
        _run(roots, None, retain_graph, create_graph)
        return
    wanted = {edge_of(tensor): None for tensor in _as_tuple(inputs)}
    _run(roots, wanted, retain_graph, create_graph)
    for tensor in _as_tuple(inputs):
        g = wanted[edge_of(tensor)]
        if g is not None:
            accumulate(tensor, g, False, create_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched.

    create_graph: the gradients can be differentiated again. allow_unused: None for an input that
    the outputs do not depend on, instead of an error. materialize_grads: zeros for it.
    """
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched is not there; call grad once per row")
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    grads = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    wanted: dict[Any, Any] = {}
    for i, tensor in enumerate(inputs):
        if tensor._view is not None:
            refresh(tensor)
        if not tensor._tracked:
            raise GradientError(
                f"grad: input {i}, of shape {tuple(tensor.shape)}, does not require grad; "
                "set requires_grad=True before the forward pass"
            )
        wanted[edge_of(tensor)] = None
    _run(_roots("grad", outputs, grads, create_graph), wanted, retain_graph, create_graph)

    results = []
    for i, tensor in enumerate(inputs):
        g = wanted[edge_of(tensor)]
        if g is None and not (allow_unused or materialize_grads):
            raise GradientError(
                f"grad: the outputs do not depend on input {i}, of shape {tuple(tensor.shape)}; "
                "pass allow_unused=True to get None for it"
            )
        if g is None and materialize_grads:
            g = _modules[type(tensor.array)].zeros_like(tensor.array)
        if g is not None and not isinstance(g, Variable):
            g = wrap(own_copy(g))
        results.append(g)
    return tuple(results)


def trace_backward(loss: Any, gradient: Any = None, retain_graph: bool = True) -> Iterator[Step]:
    """Run `loss.backward()` step by step: yields a Step for each node, in the order of the walk.

    Gradients in the steps are tensors; leaves' `.grad` is filled as the walk reaches them.

        for step in trace_backward(loss):
            print(step.node, step.gradient, step.contributions)
    """
    roots = _roots("trace_backward", (loss,), (gradient,), False)
    mode = state.mode
    steps = walk(roots, None, retain_graph, False, trace=True)
    while True:
        grad_before, mode.grad = mode.grad, False
        token = error_state.set(QUIET)
        try:
            step = next(steps, None)
        finally:
            mode.grad = grad_before
            error_state.reset(token)
        if step is None:
            return
        yield _as_tensors(step)


def _as_tensors(step: Step) -> Step:
    def tensor(value: Any) -> Any:
        if value is None or isinstance(value, Variable):
            return value
        if isinstance(value, list):
            return [tensor(v) for v in value]
        return wrap(own_copy(value))

    contributions = [
        Contribution(c.target, tensor(c.value), tensor(c.before), tensor(c.after))
        for c in step.contributions
    ]
    return Step(step.node, tensor(step.gradient), contributions)
