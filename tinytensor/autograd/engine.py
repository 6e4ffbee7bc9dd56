"""The calls that start a backward walk: `backward` and `grad`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ..backend import is_array, libraries
from ..errors import GradientError
from .mode import outside, run_in_mode
from .variable import Variable, edge_of, own_copy, wrap
from .walk import Gradients, accumulate, walk


def roots_of(name: str, outputs: Sequence[Any], grads: Any, create_graph: bool) -> dict:
    """Check the outputs a walk starts from and their gradients: {node or leaf: gradient}."""
    roots: dict[Any, Any] = {}
    grads = (None,) * len(outputs) if grads is None else as_tuple(grads)
    if len(grads) != len(outputs):
        raise RuntimeError(f"{name}: got {len(grads)} gradients for {len(outputs)} outputs")
    for i, (output, gradient) in enumerate(zip(outputs, grads)):
        edge = edge_of(output)
        if edge is None:
            raise GradientError(
                f"{name}: the tensor of shape {tuple(output.shape)} does not require grad and has "
                "no grad_fn; set requires_grad=True on what it is computed from, outside no_grad()"
            )
        array = output.array
        if gradient is None:
            if array.size != 1 or array.dtype.kind == "c":
                scalar = "real scalar" if array.dtype.kind == "c" else "scalar"
                raise GradientError(
                    f"{name}: grad can be implicitly created only for {scalar} outputs, got "
                    f"{array.dtype} of shape {tuple(array.shape)}; reduce it or pass gradient="
                )
            gradient = wrap(libraries[type(array)].ones_like(array))
        elif not isinstance(gradient, Variable):
            gradient = wrap(libraries[type(array)].asarray(gradient, dtype=array.dtype))
        if gradient.array.shape != array.shape:
            raise GradientError(
                f"{name}: Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and "
                f"output[{i}] has a shape of {output.shape}."
            )
        if gradient.array.dtype != array.dtype:
            gradient = gradient.to(array.dtype)
        value = gradient if create_graph else gradient.array
        roots[edge] = roots[edge] + value if edge in roots else value
    return roots


def run(
    roots: dict, wanted: dict | None, retain_graph: bool | None, create_graph: bool, since: int = -1
) -> None:
    """Run a whole walk: on raw arrays, or on tensors with create_graph."""
    keep = create_graph if retain_graph is None else retain_graph
    visits = walk(Gradients(roots, in_place=not create_graph), wanted, keep, since)
    outside.nested(run_in_mode, create_graph, lambda: deque(visits, maxlen=0))  # run it to its end


def as_tuple(value: Any) -> tuple:
    """One tensor, or any iterable of them (`model.parameters()`), as a tuple."""
    single = value is None or isinstance(value, (Variable, int, float)) or is_array(value)
    return (value,) if single else outside.as_tensors(value)


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
    outputs = as_tuple(tensors)
    roots = roots_of("backward", outputs, grad_tensors, create_graph)
    if inputs is None:
        run(roots, None, retain_graph, create_graph)
        return
    targets = as_tuple(inputs)
    wanted = _wanted("backward", targets)
    for tensor in targets:
        if tensor._node is not None:
            tensor.retain_grad()  # fills the `.grad` of a non-leaf
    run(roots, wanted, retain_graph, create_graph)
    for edge, g in wanted.items():
        if isinstance(edge, Variable) and g is not None:
            (outside.accumulate_with_hooks if edge._hooks else accumulate)(edge, g, False)


def _wanted(name: str, inputs: Sequence[Any]) -> dict[Any, Any]:
    """{node or leaf: None} for the tensors whose gradients are requested."""
    wanted: dict[Any, Any] = {}
    if not inputs:
        error = RuntimeError if name == "backward" else ValueError
        raise error(f"{name}: inputs is empty; name at least one tensor")
    for i, tensor in enumerate(inputs):
        edge = edge_of(tensor)
        if edge is None:
            raise GradientError(
                f"{name}: input {i}, of shape {tuple(tensor.shape)}, does not require grad; "
                "set requires_grad=True before the forward pass"
            )
        wanted[edge] = None
    return wanted


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched.

    create_graph: the gradients can be differentiated again. allow_unused: return None for an input
    that the outputs do not depend on, instead of raising. materialize_grads: return zeros for it.
    is_grads_batched: grad_outputs has a leading batch dimension, and so have the gradients.
    """
    outputs, inputs = as_tuple(outputs), as_tuple(inputs)
    if is_grads_batched:
        return outside.batched_grad(outputs, inputs, grad_outputs, retain_graph, create_graph,
                                    allow_unused, materialize_grads)  # fmt: skip
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True contradicts allow_unused=False; omit one")
    wanted = _wanted("grad", inputs)
    run(roots_of("grad", outputs, grad_outputs, create_graph), wanted, retain_graph, create_graph)

    results = []
    for i, tensor in enumerate(inputs):
        g = wanted[tensor._node or tensor]
        if g is None and not (allow_unused or materialize_grads):
            raise GradientError(
                f"grad: the outputs do not depend on input {i}, of shape {tuple(tensor.shape)}; "
                "pass allow_unused=True to get None for it"
            )
        if g is None and materialize_grads:
            g = wrap(libraries[type(tensor.array)].zeros_like(tensor.array))
            g._tracked = create_graph  # like the other gradients, it can be differentiated again
        if g is not None and not isinstance(g, Variable):
            g = wrap(own_copy(g))
        results.append(g)
    return tuple(results)
