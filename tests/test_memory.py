"""Memory: no recursion, no reference cycles, nothing kept longer than a rule needs it."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import Function, Op, grad, trace_backward
from tinytensor.utils.checkpoint import checkpoint


def leaf(*shape: int) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)


# ------------------------------------------------------------------------------------------
# Long chains
# ------------------------------------------------------------------------------------------


def test_a_chain_of_200_000_ops() -> None:
    """Forward, backward and deletion, all without recursion."""
    x = tt.ones(1, dtype=tt.float64, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + x
    y.sum().backward()
    assert x.grad.tolist() == [200_001.0]
    del y


def test_a_long_chain_is_dropped_without_backward() -> None:
    x = tt.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y.tanh()
    del y


def test_a_long_chain_of_views() -> None:
    x = tt.ones(2, 3, dtype=tt.float64, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y = y.transpose(0, 1)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2
    del y


def test_many_views_and_in_place_writes() -> None:
    x = tt.ones(4, dtype=tt.float64, requires_grad=True)
    y = x * 1
    for _ in range(2_000):
        y.view(2, 2)[0].mul_(1.0)
        y.add_(0.0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


# ------------------------------------------------------------------------------------------
# Reference cycles
# ------------------------------------------------------------------------------------------


@contextmanager
def no_garbage() -> Iterator[None]:
    """With the garbage collector off, the block must leave nothing for it to find."""
    gc.collect()
    gc.disable()
    try:
        yield
        found = gc.collect()
        assert found == 0, f"the garbage collector found {found} objects"
    finally:
        gc.enable()


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x
        ctx.save_for_backward(x, y, y.view(-1))
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y, _ = ctx.saved_tensors
        return g * 2 * x + 0 * y


class Both(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        a, b = x * 2, x * 3
        ctx.save_for_backward(a, b)
        return a, b

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        assert len(ctx.saved_tensors) == 2
        return g * 2 + h * 3


def mlp() -> tt.Tensor:
    x, w, v = leaf(8, 4), leaf(4, 16), leaf(16, 2)
    h = (x @ w).tanh()
    y = (h @ v + 1).relu().softmax(-1)
    return (y.log() * tt.ones(8, 2, dtype=tt.float64)).mean() + h.max(dim=1)[0].sum()


def run_plain() -> None:
    mlp().backward()


def run_forward_only() -> None:
    mlp()


def run_retained() -> None:
    loss = mlp()
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)


def run_hooks() -> None:
    x = leaf(3)
    h = x.tanh()
    h.register_hook(lambda g: g * 2)
    h.retain_grad()
    h.grad_fn.register_hook(lambda gi, go: None)
    x.register_hook(lambda g: None)
    x.register_post_accumulate_grad_hook(lambda p: None)
    (h * h).sum().backward()


def run_create_graph() -> None:
    x, w = leaf(3), leaf(3)
    first = grad((x * w).tanh().sum(), (x, w), create_graph=True)
    second = grad(sum((g * g).sum() for g in first), (x, w), create_graph=True)
    sum(g.sum() for g in second).backward()


def run_function() -> None:
    x = leaf(3)
    a, b = Both.apply(Square.apply(x))
    (a * b).sum().backward()


def run_function_forward_only() -> None:
    a, b = Both.apply(Square.apply(leaf(3)))
    (a * b).sum()


def run_function_twice() -> None:
    x = leaf(3)
    (g,) = grad(Both.apply(Square.apply(x))[0].sum(), x, create_graph=True)
    g.sum().backward()


def run_checkpoint() -> None:
    x, w, flag = leaf(3), leaf(3), {"use_reentrant": False}
    y = checkpoint(lambda v: checkpoint(lambda u: (u * w).tanh(), v * 2, **flag) * w, x, **flag)
    y.sum().backward()


def run_checkpoint_forward_only() -> None:
    w = leaf(3)
    checkpoint(lambda v: (v * w).tanh(), leaf(3), use_reentrant=False)


def run_in_place() -> None:
    x = leaf(4)
    h = x * 1
    v = h[1:3]
    v.mul_(2)
    h.add_(1)
    h[0] = 5
    (h.detach() * h).sum().backward()


def run_trace() -> None:
    for step in trace_backward(mlp()):
        str(step.node)


def run_error() -> None:
    y = leaf(2).tanh()
    with suppress(RuntimeError):
        y.backward()


def run_func() -> None:
    tt.func.hessian(lambda v: (v.tanh() * v).sum())(leaf(3).detach())


RUNS = [run_plain, run_forward_only, run_retained, run_hooks, run_create_graph, run_function,
        run_function_forward_only, run_function_twice, run_checkpoint, run_checkpoint_forward_only,
        run_in_place, run_trace, run_error, run_func]  # fmt: skip


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_reference_counting_alone_frees_everything(run: Any) -> None:
    run()  # once for what is made on first use
    with no_garbage():
        for _ in range(3):
            run()


def test_the_test_can_fail() -> None:
    with pytest.raises(AssertionError, match="found"), no_garbage():
        cycle: list = []
        cycle.append(cycle)
        del cycle


# ------------------------------------------------------------------------------------------
# Peak memory, in arrays of the size at hand
# ------------------------------------------------------------------------------------------

SIZE = 50_000
UNIT = SIZE * 8


def large() -> tt.Tensor:
    return tt.ones(SIZE, dtype=tt.float64, requires_grad=True)


def peak(run: Any) -> float:
    """The highest point of memory during run(), beyond what was there before, in arrays."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        run()
        return (tracemalloc.get_traced_memory()[1] - before) / UNIT
    finally:
        tracemalloc.stop()


def chain(x: Any, step: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        y = step(y)
    return y


def test_ops_that_save_nothing_keep_nothing() -> None:
    x, c = large(), tt.ones(SIZE, dtype=tt.float64)
    assert peak(lambda: chain(x, lambda y: y + c, 50)) < 4
    x.grad = None
    assert peak(lambda: chain(x, lambda y: y + c, 50).sum().backward()) < 6


def test_ops_that_save_their_output_keep_one_array_each() -> None:
    x = large()
    assert 40 <= peak(lambda: chain(x, tt.tanh, 40)) < 44
    assert 40 <= peak(lambda: chain(x, tt.tanh, 40).sum().backward()) < 46


def test_only_what_a_needed_gradient_asks_for_is_saved() -> None:
    x, c = large(), tt.ones(SIZE, dtype=tt.float64)
    # y·c for a constant c saves c, which is one array however long the chain is.
    assert peak(lambda: chain(x, lambda y: y * c, 40)) < 4


def test_memory_is_freed_during_the_walk() -> None:
    """Each rule allocates: were nothing freed on the way, the walk would need twice the memory."""
    x = large()
    y = chain(x, tt.tanh, 40).sum()
    assert peak(lambda: y.backward()) < 6

    class Watch(Op):
        """y = x; notes how much memory is in use when its rule runs"""

        def forward(self, x: Any) -> Any:
            return x + 0

        def backward(self, g: Any) -> Any:
            levels.append(tracemalloc.get_traced_memory()[0] / UNIT)
            return g

    levels: list[float] = []
    gc.collect()
    tracemalloc.start()
    try:
        y = chain(x, lambda y: Watch.apply(y.tanh()), 20).sum()
        y.backward()
    finally:
        tracemalloc.stop()
    drops = [a - b for a, b in zip(levels, levels[1:])]
    assert len(levels) == 20 and all(drop > 0.9 for drop in drops[1:])


def test_a_retained_graph_keeps_its_arrays() -> None:
    x = large()
    gc.collect()
    tracemalloc.start()
    try:
        y = chain(x, tt.tanh, 20).sum()
        y.backward(retain_graph=True)
        kept = tracemalloc.get_traced_memory()[0] / UNIT
        y.backward()
        freed = tracemalloc.get_traced_memory()[0] / UNIT
    finally:
        tracemalloc.stop()
    assert kept > 20 and freed < 4


def test_no_grad_keeps_nothing() -> None:
    x = large()
    with tt.no_grad():
        assert peak(lambda: chain(x, tt.tanh, 40)) < 4


def test_detached_results_do_not_keep_their_graph() -> None:
    x = large()

    def run() -> None:
        state = x
        for _ in range(20):  # truncated backpropagation, without any backward
            state = chain(state, tt.tanh, 3).detach()

    assert peak(run) < 7


# ------------------------------------------------------------------------------------------
# Training for long
# ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_thousand_training_steps_leave_memory_flat() -> None:
    rng = np.random.default_rng(0)
    inputs = tt.tensor(rng.normal(size=(8, 2)))
    targets = tt.tensor(rng.normal(size=(8, 1)))
    w1, b1, w2 = leaf(2, 8), leaf(8), leaf(8, 1)

    def step() -> None:
        loss = (((inputs @ w1 + b1).tanh() @ w2 - targets) ** 2).mean()
        loss.backward()
        with tt.no_grad():
            for p in (w1, b1, w2):
                p.sub_(p.grad * 0.01)
                p.grad = None

    for _ in range(500):
        step()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(100):
            step()
        gc.collect()  # also empties Python's stores of freed tuples and floats
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(10_000):
            step()
        found = gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert abs(after - before) < 4_000, f"memory grew by {after - before} bytes"
    assert found == 0
