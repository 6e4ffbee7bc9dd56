"""Functions in forward mode: `jvp(ctx, *tangents)`, the user's rule for the tangents of outputs."""

from __future__ import annotations

from typing import Any

from .forward_ad import Level, aside
from .function_ctx import FunctionCtx, position
from .mode import state
from .variable import Variable, wrap, writes_of
from .views import root_of


def push_function(
    level: Level, node: FunctionCtx, args: tuple, outputs: tuple, results: tuple
) -> None:
    """Give `results`, the outputs after they were recorded, the tangents that jvp returns."""
    known = [level.tangent_of(arg) for arg in args]
    if all(t is None for t in known):
        return
    tangents = tuple(_filled(node, arg, t) for arg, t in zip(args, known))
    versions = [None if t is None else writes_of(t)[0] for t in tangents]
    with aside(state.mode.grad):
        found = node.push_forward(tangents)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise RuntimeError(
            f"{node.op_name}: jvp returned {len(found)} tangents, expected {len(outputs)}, one for "
            "each output"
        )
    for i, (out, tangent) in enumerate(zip(outputs, found)):
        if tangent is None:
            continue
        _check(node, i, out, tangent)
        place = position(out, args)
        if place >= 0 and position(out, node._dirty) >= 0:
            same = tangent is tangents[place] and writes_of(tangent)[0] != versions[place]
            if not same:
                raise RuntimeError(
                    f"{node.op_name}: jvp returned a new tangent for output {i}, which forward "
                    "writes in place (mark_dirty); expected the input's tangent, changed in place"
                )
        else:
            _check_view(node, i, out, tangent, args, tangents)
        level.set(results[i], tangent)


def _filled(node: FunctionCtx, arg: Any, tangent: Any) -> Any:
    """The tangent; zeros if a floating point argument has none, unless that was switched off."""
    if tangent is not None or not isinstance(arg, Variable) or not node._materialize:
        return tangent
    return wrap(arg.array * 0) if arg.array.dtype.kind in "fVc" else None


def _check(node: FunctionCtx, i: int, out: Any, tangent: Any) -> None:
    if not isinstance(tangent, Variable):
        raise TypeError(
            f"{node.op_name}: jvp returned {type(tangent).__name__} for output {i}, expected a "
            "Tensor or None"
        )
    constant = not isinstance(out, Variable) or position(out, node._constant) >= 0
    if constant or out.array.dtype.kind not in "fVc":
        raise RuntimeError(
            f"{node.op_name}: jvp returned a tangent for output {i}, which is not differentiable, "
            "expected None"
        )
    if tangent.array.shape != out.array.shape:
        raise RuntimeError(
            f"{node.op_name}: jvp returned a tangent of shape {tuple(tangent._shape)} for output "
            f"{i}, expected {tuple(out._shape)}"
        )


def _check_view(
    node: FunctionCtx, i: int, out: Any, tangent: Any, args: tuple, tangents: tuple
) -> None:
    """The tangent of an output that is a view of an input must be a view of the input's tangent."""
    bases = [
        t
        for arg, t in zip(args, tangents)
        if t is not None
        and (arg is out or (out._view is not None and root_of(out) is root_of(arg)))
    ]
    if bases and (tangent._view is None or all(root_of(tangent) is not root_of(b) for b in bases)):
        raise RuntimeError(
            f"{node.op_name}: forward returned a view of an input (or the input itself) as output "
            f"{i}, but jvp did not return a view of that input's tangent; use the same view in "
            "jvp, x.view_as(x) for the input itself"
        )
