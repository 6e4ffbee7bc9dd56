"""What a Function and a packed value keep alive, and which object they give back."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.autograd.graph import saved_tensors_hooks
from tinytensor.utils.checkpoint import checkpoint


class KeepsSecond(tt.autograd.Function):
    """y = x; keeps its second argument."""

    seen: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(y)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (KeepsSecond.seen,) = ctx.saved_tensors
        return g, None


@pytest.mark.parametrize("how", ["plain", "checkpoint", "packed"])
def test_a_saved_tensor_that_is_not_tracked_is_the_same_object(how: str) -> None:
    a, b = tt.ones(2, requires_grad=True), tt.ones(2)
    packed = []
    if how == "checkpoint":
        out = checkpoint(KeepsSecond.apply, a, b, use_reentrant=False)
    elif how == "packed":
        with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
            out = KeepsSecond.apply(a, b)
        assert packed[0] is b
    else:
        out = KeepsSecond.apply(a, b)
    out.sum().backward()
    assert KeepsSecond.seen is b or how == "packed"
    assert KeepsSecond.seen.tolist() == [1.0, 1.0]


def test_a_saved_tensor_that_was_dropped_or_replaced() -> None:
    a, b = tt.ones(2, requires_grad=True), tt.full((2,), 3.0)
    out = KeepsSecond.apply(a, b)
    del b
    out.sum().backward()
    assert KeepsSecond.seen.tolist() == [3.0, 3.0]
    b = tt.full((2,), 3.0)
    out = KeepsSecond.apply(a, b)
    b.data = tt.zeros(2)
    out.sum().backward()
    assert KeepsSecond.seen is not b and KeepsSecond.seen.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("as_view", [True, False])
def test_a_saved_input_that_was_written_to_is_freed(as_view: bool) -> None:
    class Dirty(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    def scope() -> Any:
        x = tt.tensor(1.0, requires_grad=True).clone()
        x = x.view_as(x) if as_view else x
        Dirty.apply(x)
        return weakref.ref(x)

    gc.disable()
    try:
        assert scope()() is None
    finally:
        gc.enable()


def test_an_unpack_hook_that_enters_a_block_and_does_not_leave_it() -> None:
    def scope() -> Any:
        def unpack(x: Any) -> Any:
            inner().__enter__()
            return x

        hooks = saved_tensors_hooks(lambda x: x, unpack)
        inner = weakref.ref(hooks)
        x = tt.randn(3, 3, requires_grad=True)
        with hooks:
            x.sin().sum().backward()
        assert x.grad is not None
        return weakref.ref(unpack)

    gc.disable()
    try:
        assert scope()() is None
    finally:
        gc.enable()
    y = tt.ones(2, requires_grad=True) * 2
    assert y.grad_fn._raw_saved_other.unpack_hook is None
