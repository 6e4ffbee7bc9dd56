"""Gradients for a batch of output gradients: `grad(…, is_grads_batched=True)`."""

from __future__ import annotations

from typing import Any

from ..autograd.engine import as_tuple, grad
from ..autograd.mode import outside
from ..autograd.variable import Variable
from ..ops import stack


def batched_grad(
    outputs: tuple,
    inputs: tuple,
    grad_outputs: Any,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple:
    """The gradients for each row of grad_outputs, (B, *output), stacked: (B, *input)."""
    batches = as_tuple(grad_outputs)
    sizes = {len(g) for g in batches if isinstance(g, Variable) and g.array.ndim}
    if len(batches) != len(outputs) or len(sizes) != 1 or 0 in sizes:
        raise RuntimeError(
            "grad: is_grads_batched needs grad_outputs with one leading batch dimension, of the "
            f"same size for all {len(outputs)} outputs; got sizes {sorted(sizes)}"
        )
    (size,) = sizes
    keep = create_graph if retain_graph is None else retain_graph
    rows = [
        grad(
            outputs,
            inputs,
            [None if g is None else g[row] for g in batches],
            retain_graph=keep or row + 1 < size,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
        for row in range(size)
    ]
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))


outside.batched_grad = batched_grad
