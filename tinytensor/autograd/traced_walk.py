"""trace_backward: the backward walk, one step at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .engine import roots_of
from .mode import run_in_mode
from .op import Op
from .outputs import Output
from .variable import Variable, own_copy, wrap
from .walk import Gradients, collect, fit, walk


class Contribution(NamedTuple):
    """What one step adds to the gradient of one of its inputs.

    target    the Op that made the input (an Output, with .parent and .index, if that op has
              several outputs), or the leaf itself
    value     the contribution, in the input's shape
    before    the gradient summed there so far (None at first)
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


class TracedGradients(Gradients):
    """Gradients that note every contribution. They add out of place, so that notes stay valid."""

    __slots__ = ("notes",)

    def __init__(self, roots: dict[Any, Any]):
        super().__init__(roots, in_place=False)
        self.notes: list[Contribution] = []

    def add(self, node: Op, g: Any, results: tuple) -> None:
        for edge, value in zip(node._edges, results):
            if edge is not None and value is not None:
                value, before = fit(value, edge, node), self.of.get(edge)
                self.of[edge] = value if before is None else before + value
                self.notes.append(Contribution(edge, value, before, self.of[edge]))

    def deliver(self, leaf: Any, g: Any) -> None:
        before = None if leaf._grad is None else leaf._grad.clone()
        super().deliver(leaf, g)
        if leaf._grad is not None:
            self.notes.append(Contribution(leaf, g, before, leaf._grad.clone()))

    def take_notes(self) -> list[Contribution]:
        """The contributions since the last call."""
        notes, self.notes = self.notes, []
        return notes


def trace_backward(
    loss: Any, gradient: Any = None, retain_graph: bool = True, accumulate: bool = True
) -> Iterator[Step]:
    """Run `loss.backward()` step by step: yields a Step for each node, in the order of the walk.

    Gradients in the steps are tensors; leaves' `.grad` is filled as the walk reaches them, or left
    as it is with accumulate=False.

        for step in trace_backward(loss):
            print(step.node, step.gradient, step.contributions)
    """
    grads = TracedGradients(roots_of("trace_backward", (loss,), (gradient,), False))
    wanted = None
    if not accumulate:
        wanted = {node: None for node in collect(grads.of) if node._order == 0}
    return _steps(grads, wanted, retain_graph)


def _steps(grads: TracedGradients, wanted: dict | None, retain_graph: bool) -> Iterator[Step]:
    """The steps of the walk. Its grad mode holds only while it runs, not between steps."""
    visits = walk(grads, wanted, retain_graph)
    while (visit := run_in_mode(False, lambda: next(visits, None))) is not None:
        step = Step(visit[0], visit[1], grads.take_notes())
        if step.contributions or not isinstance(step.node, (Output, Variable)):
            yield _as_tensors(step)  # not for an Output: the step of its op shows its gradient
    for leaf, g in reversed((wanted or {}).items()):
        if g is not None:
            yield _as_tensors(Step(leaf, g, [Contribution(leaf, g, None, g)]))


def _as_tensors(step: Step) -> Step:
    """Copy the walk's arrays in a step into tensors."""
    contributions = [
        Contribution(c.target, _as_tensor(c.value), _as_tensor(c.before), _as_tensor(c.after))
        for c in step.contributions
    ]
    g = step.gradient
    gradient = [_as_tensor(v) for v in g] if isinstance(g, list) else _as_tensor(g)
    return Step(step.node, gradient, contributions)


def _as_tensor(value: Any) -> Any:
    return value if value is None or isinstance(value, Variable) else wrap(own_copy(value))
