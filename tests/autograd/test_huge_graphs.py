"""Graphs of very many nodes: work grows linearly with them, and nothing recurses on them.

Work is counted, not timed: calls of Python and C functions, at one size and at twice that size.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import tinytensor as tt

# ------------------------------------------------------------------------------------------
# Linear work
# ------------------------------------------------------------------------------------------


def leaf() -> Any:
    return tt.ones(4, requires_grad=True)


def chain(n: int) -> Any:
    y = x = leaf()
    for _ in range(n):
        y = (y * 1.0001 + x).tanh()
    return y


def fan_out(n: int) -> Any:
    x = leaf()
    return tt.stack([x * 1.0 for _ in range(n)])


def one_leaf_often(n: int) -> Any:
    return tt.cat([leaf()] * n)


def several_outputs(n: int) -> Any:
    rows, total = (tt.ones(n, 4, requires_grad=True) * 1.0).unbind(), tt.zeros(4)
    for row in rows:
        total = total + row
    return total


def writes(n: int) -> Any:
    y = leaf() * 1.0
    for _ in range(n):
        y.add_(1.0)
    return y


def writes_into_a_view(n: int) -> Any:
    y = leaf() * 1.0
    view = y[1:3]
    for _ in range(n):
        view.mul_(1.0001)
    return y


def writes_by_turns(n: int) -> Any:
    y = leaf() * 1.0
    view = y[1:3]
    for _ in range(n):
        y.mul_(1.0001)
        view.mul_(1.0001)
    return y


def writes_of_rows(n: int) -> Any:
    x, y = leaf(), tt.zeros(n, 4)
    for i in range(n):
        y[i] = x
    return y


def views_of_views(n: int) -> Any:
    y = leaf() * 1.0
    for _ in range(n):
        y = y.view(2, 2).view(4)
    return y


def a_write_at_the_end_of_views(n: int) -> Any:
    view = views_of_views(n)
    view.mul_(2.0)
    return view.mul_(2.0)


def many_views_of_one_write(n: int) -> Any:
    y = leaf() * 1.0
    views = [y[i % 4] for i in range(n)]
    y.mul_(2.0)
    return tt.stack(views)


SHAPES: list[Callable] = [
    chain, fan_out, one_leaf_often, several_outputs, writes, writes_into_a_view, writes_by_turns,
    writes_of_rows, views_of_views, a_write_at_the_end_of_views, many_views_of_one_write,
]  # fmt: skip


def calls_of(function: Callable) -> int:
    """How many functions, of Python and of C, are called."""
    count = 0

    def look(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("build", SHAPES, ids=lambda f: f.__name__)
def test_work_is_linear_in_the_number_of_nodes(build: Callable) -> None:
    def step(n: int) -> Callable:
        return lambda: build(n).sum().backward()

    step(10)()  # what is done once
    some, twice = (calls_of(step(n)) for n in (150, 300))
    assert some > 150 and twice <= 2.05 * some


def test_which_arguments_need_gradients_is_a_small_number_for_any_count() -> None:
    """A bit for each of 10,000 tensors would cost 10,000 times a thousand bytes to set."""
    x = leaf()
    joined = tt.cat([tt.ones(1)] * 100 + [x])
    assert joined.grad_fn._tracked.bit_length() <= 62
    assert joined.grad_fn.needs(101) and not joined.grad_fn.needs(5)
    joined.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


# ------------------------------------------------------------------------------------------
# Freeing
# ------------------------------------------------------------------------------------------

MANY = 30_000  # a recursion this deep would overflow the C stack


def with_hooks(n: int) -> Any:
    y = leaf()
    for _ in range(n):
        y = y * 1.0001
        y.register_hook(lambda g: None)
    return y


def of_a_gradient(n: int) -> Any:
    """A graph made by a backward with create_graph."""
    x = leaf()
    y = x
    for _ in range(n // 3):
        y = y.sin()
    return tt.autograd.grad(y.sum(), x, create_graph=True)[0]


def of_outputs(n: int) -> Any:
    y = leaf()
    for _ in range(n // 3):
        first, second = y.split(2)
        y = tt.cat([second, first])
    return y


FREED = [chain, with_hooks, of_a_gradient, of_outputs, writes, views_of_views, writes_into_a_view]


@pytest.mark.parametrize("build", FREED, ids=lambda f: f.__name__)
def test_a_deep_graph_is_freed_without_recursion(build: Callable) -> None:
    y = build(MANY // 3)
    del y  # never walked
    y = build(MANY // 3)
    y.sum().backward()
    del y


def test_a_deep_graph_is_no_burden_to_its_tensors() -> None:
    y = chain(MANY // 3)
    assert repr(y.grad_fn) == "<TanhBackward>" and "grad_fn" in repr(y)
    assert pickle.loads(pickle.dumps(y.detach())).tolist() == y.tolist()
    assert copy.deepcopy(y.detach()).tolist() == y.tolist()


# ------------------------------------------------------------------------------------------
# A million nodes
# ------------------------------------------------------------------------------------------

PROGRAM = """
import sys
if sys.argv[1] == "torch":
    import torch as lib
    lib.set_num_threads(1)
else:
    import tinytensor as lib
n = int(sys.argv[2])

def chain(n):
    y = x = lib.ones(4, requires_grad=True)
    for _ in range(n // 2):
        y = y * 1.0001 + x
    return x, y

def peak():
    # Not getrusage: its figure begins with that of the process that started this one.
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))

x, y = chain(100)
y.sum().backward()
before = peak()
x, y = chain(n)
y.sum().backward()
assert abs(x.grad[0].item()) > 0
del y
print((peak() - before) / n)
"""


def bytes_per_node(library: str, nodes: int) -> float:
    """The peak of a forward and a backward pass in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, library, str(nodes)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_a_million_nodes_take_no_more_memory_than_in_pytorch() -> None:
    """PyTorch's share for each node is the same at a tenth of the size, and quicker to find."""
    pytest.importorskip("torch")
    assert bytes_per_node("tinytensor", 1_000_000) <= bytes_per_node("torch", 100_000)
