"""trace_backward: the walk step by step, the same numbers as backward() bit for bit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import trace_backward
from tinytensor.autograd.walk import Gradients, walk
from tinytensor.errors import GradientError


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit."""
    return a.array.dtype == b.array.dtype and a.array.tobytes() == b.array.tobytes()


def names(steps: list) -> list[str]:
    return ["leaf" if isinstance(s.node, tt.Tensor) else s.node.name() for s in steps]


def test_steps_of_a_small_graph() -> None:
    x, y = leaf(2.0), leaf(3.0)
    z = (x * y).tanh()
    steps = list(trace_backward(z))
    assert names(steps) == ["TanhBackward", "MulBackward", "leaf", "leaf"]
    tanh, mul, first, second = steps
    slope = 1 - np.tanh(6.0) ** 2
    assert tanh.node is z.grad_fn and tanh.gradient.item() == 1.0
    (c,) = tanh.contributions
    assert c.target is mul.node and c.before is None and c.value.item() == pytest.approx(slope)
    assert same(mul.gradient, c.after)
    assert [c.target for c in mul.contributions] == [x, y]
    assert mul.contributions[0].value.item() == pytest.approx(3 * slope)
    assert {id(first.node), id(second.node)} == {id(x), id(y)}


def test_leaf_steps_show_what_is_added_to_grad() -> None:
    x = leaf([1.0, 2.0])
    (x * 3).sum().backward()
    *_, step = trace_backward((x * x).sum())
    assert step.node is x
    (c,) = step.contributions
    assert c.target is x
    assert c.before.tolist() == [3.0, 3.0] and c.value.tolist() == [2.0, 4.0]
    assert c.after.tolist() == [5.0, 7.0] == x.grad.tolist()
    assert not np.shares_memory(c.after.array, x.grad.array)


def test_a_node_used_twice_gathers_its_gradient() -> None:
    x = leaf(2.0)
    h = x * 1
    steps = list(trace_backward(h * 3 + h * 5))
    into_h = [c for s in steps for c in s.contributions if c.target is h.grad_fn]
    assert [(c.before and c.before.item(), c.value.item(), c.after.item()) for c in into_h] == [
        (None, 5.0, 5.0),
        (5.0, 3.0, 8.0),
    ]


def test_several_outputs() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    values, _ = (x * 1).max(dim=1)
    steps = list(trace_backward(values.sum()))
    several = [s for s in steps if isinstance(s.gradient, list)]
    for step in several:
        assert all(g is None or isinstance(g, tt.Tensor) for g in step.gradient)
    assert x.grad.tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_gradient_argument_and_retained_graph() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    seed = tt.tensor([1.0, 10.0], dtype=tt.float64)
    for _ in range(2):  # retain_graph is the default
        list(trace_backward(y, seed))
    assert x.grad.tolist() == [4.0, 80.0]
    list(trace_backward(y, seed, retain_graph=False))
    with pytest.raises(GradientError, match="second time"):
        list(trace_backward(y, seed))


def test_errors_come_at_the_call() -> None:
    with pytest.raises(GradientError, match="trace_backward.*scalar"):
        trace_backward(leaf([1.0, 2.0]) * 2)
    with pytest.raises(GradientError, match="trace_backward.*does not require grad"):
        trace_backward(tt.ones(1))


def test_the_callers_mode_is_its_own_between_steps() -> None:
    x = leaf(2.0)
    for _ in trace_backward((x * x).tanh()):
        assert tt.is_grad_enabled() and (x * 2).requires_grad


def test_a_walk_may_be_left_half_way() -> None:
    x = leaf(2.0)
    y = (x * x).tanh()
    next(trace_backward(y))
    assert x.grad is None and tt.is_grad_enabled()
    y.backward()
    assert x.grad is not None


def test_steps_are_safe_to_write_to() -> None:
    """What is shown is a copy: changing it does not change the walk."""
    x = leaf([1.0, 2.0])
    for step in trace_backward((x * x + x).sum()):
        for tensor in [step.gradient, *(c.value for c in step.contributions)]:
            tensor.array[...] = 99
    assert x.grad.tolist() == [3.0, 5.0]


def random_graph(seed: int) -> tuple[tt.Tensor, list[tt.Tensor]]:
    """A graph of 30 random ops over 4 leaves of broadcastable shapes."""
    rng = np.random.default_rng(seed)
    leaves = [leaf(rng.normal(size=s)) for s in [(3, 4), (4,), (3, 1), ()]]
    known = list(leaves)
    for _ in range(30):
        a, b = (known[i] for i in rng.integers(len(known), size=2))
        kind = rng.integers(6)
        if kind == 0:
            known.append(a + b)
        elif kind == 1:
            known.append((a * b).tanh())
        elif kind == 2:
            known.append(a - b * 0.5)
        elif kind == 3:
            known.append(a.tanh())
        elif kind == 4:
            known.append(a.sum(-1, keepdim=True) * 0.1 if a.ndim else a * a.tanh())
        else:
            known.append(a.softmax(-1) if a.ndim else a.sigmoid())
    total = known[-1].sum()
    for tensor in known[4:-1:3]:
        total = total + tensor.mean()
    return total, leaves


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_agree_with_backward_bit_for_bit(seed: int) -> None:
    loss, leaves = random_graph(seed)
    twin, twin_leaves = random_graph(seed)
    twin.backward()
    arrived: dict[Any, Any] = {loss.grad_fn: tt.ones((), dtype=tt.float64)}
    order = []
    for step in trace_backward(loss):
        order.append(step.node._order)
        expected = arrived.pop(step.node)
        assert same(step.gradient, expected)  # what came in is the sum of what was passed on
        if isinstance(step.node, tt.Tensor):
            assert same(step.contributions[0].after, step.node.grad)
            continue
        for c in step.contributions:
            assert (c.before is None) == (c.target not in arrived)
            if c.before is None:
                assert same(c.after, c.value)
            else:
                assert same(c.before, arrived[c.target])
                assert same(c.after, c.before + c.value)
            arrived[c.target] = c.after
    assert not arrived
    assert order == sorted(order, reverse=True)  # newest first, leaves last
    for a, b in zip(leaves, twin_leaves):
        assert (a.grad is None) == (b.grad is None)
        assert a.grad is None or same(a.grad, b.grad)


def test_the_order_of_leaves_does_not_change_from_run_to_run() -> None:
    def run() -> list[int]:
        loss, leaves = random_graph(3)
        nodes = [s.node for s in trace_backward(loss) if isinstance(s.node, tt.Tensor)]
        return [next(i for i, x in enumerate(leaves) if x is n) for n in nodes]

    first = run()
    assert len(first) > 1 and all(run() == first for _ in range(5))


def test_a_walk_runs_as_far_as_its_steps_are_taken() -> None:
    x = leaf(2.0)
    y = (x * x).tanh()
    visits = walk(Gradients({y.grad_fn: np.ones(())}, in_place=True), None, retain_graph=False)
    with tt.no_grad():
        assert [type(node).__name__ for node, _ in itertools.islice(visits, 2)] == ["Tanh", "Mul"]
        assert x.grad is None
        assert [node for node, _ in visits] == [x]
    assert x.grad is not None
