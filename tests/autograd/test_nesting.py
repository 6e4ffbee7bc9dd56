"""Walks inside of walks and checkpoints inside of checkpoints, deeper than Python's call stack."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.autograd import nesting
from tinytensor.autograd.mode import state
from tinytensor.autograd.nesting import LEVELS
from tinytensor.utils.checkpoint import checkpoint

DEEP = 1000  # Python's recursion limit


class Reentrant(tt.autograd.Function):
    """y = 2x; its backward runs a walk of its own, `depth` levels deep; `last` is called there."""

    last: Callable = staticmethod(lambda: None)

    @staticmethod
    def forward(ctx: Any, x: Any, depth: int) -> Any:
        ctx.depth = depth
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if not ctx.depth:
            Reentrant.last()
            return g * 2, None
        with tt.enable_grad():
            x = tt.ones(2, requires_grad=True)
            Reentrant.apply(x, ctx.depth - 1).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        return g * x.grad, None


def run(depth: int, last: Callable = lambda: None) -> Any:
    """The gradient of a Reentrant of that depth."""
    x = tt.ones(2, requires_grad=True)
    Reentrant.last = staticmethod(last)
    try:
        Reentrant.apply(x, depth).sum().backward()
    finally:
        Reentrant.last = staticmethod(lambda: None)
    return x.grad


def nested_checkpoints(depth: int, innermost: Callable, **options: Any) -> Callable:
    function, options = innermost, {"use_reentrant": False, **options}
    for _ in range(depth):
        function = lambda x, inner=function: checkpoint(inner, x, **options)  # noqa: E731
    return function


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Any:
    before = threading.active_count()
    yield
    assert threading.active_count() == before and state.level == 0


def test_a_backward_inside_a_backward_a_thousand_deep() -> None:
    assert sys.getrecursionlimit() <= DEEP
    assert run(DEEP).tolist() == [2.0, 2.0]


def test_grad_inside_grad() -> None:
    class Nested(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.depth:
                with tt.enable_grad():
                    x = tt.ones(1, requires_grad=True)
                    (g,) = tt.autograd.grad(Nested.apply(x, ctx.depth - 1).sum(), x)
            return g, None

    x = tt.ones(1, requires_grad=True)
    (g,) = tt.autograd.grad(Nested.apply(x, DEEP).sum(), x)
    assert g.tolist() == [1.0]


@pytest.mark.parametrize(
    ("depth", "use_reentrant"),
    [(150, True), (150, False), pytest.param(DEEP, True, marks=pytest.mark.slow)],
)
def test_a_checkpoint_inside_a_checkpoint(depth: int, use_reentrant: bool) -> None:
    """Each level runs all inside of it again, so the work is quadratic, as PyTorch's is."""
    x = tt.ones(2, requires_grad=True)
    options = {"use_reentrant": use_reentrant, "preserve_rng_state": False}
    y = nested_checkpoints(depth, lambda x: (x * x).exp(), **options)(x)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(2, 2 * np.e), rtol=1e-6)


def test_dropout_in_deep_checkpoints_draws_the_same_numbers_again() -> None:
    tt.manual_seed(0)
    x = tt.ones(1000, requires_grad=True)
    y = nested_checkpoints(3 * LEVELS, lambda x: nn.functional.dropout(x, 0.5))(x)
    y.sum().backward()
    assert tt.equal(x.grad, y.detach())


def test_a_threads_own_generator_goes_along() -> None:
    def draw() -> Any:
        with tt.create.generator.use_generator(tt.Generator().manual_seed(3)):
            return nested_checkpoints(3 * LEVELS, lambda x: x + tt.rand(5))(tt.zeros(5))

    assert tt.equal(draw(), draw())


def test_modes_go_along_and_come_back() -> None:
    found = []

    def look() -> None:
        mode = state.mode
        found.append((threading.current_thread().name, mode.scope, mode.anomaly, mode.grad))
        with tt.enable_grad():
            found.append((tt.ones(2, requires_grad=True) * 2)._node.scope)

    with tt.autograd.detect_anomaly(), tt.autograd.scope("here"):
        run(3 * LEVELS, look)
        assert state.mode.scope == "here" and state.mode.grad and state.mode.anomaly
    (thread, scope, anomaly, grad), made_in = found
    assert thread == "tinytensor nested walk"  # else this test shows nothing
    assert (scope, anomaly, grad, made_in) == ("here", True, False, "here")
    assert state.mode.scope == "" and not state.mode.anomaly


def test_attention_is_captured_in_deep_checkpoints() -> None:
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    with nn.capture_attention() as maps:
        nested_checkpoints(3 * LEVELS, lambda x: attention(x, x, x)[0])(tt.randn(1, 3, 4))
    assert len(maps.calls) == 1


@pytest.mark.parametrize("depth", [1, 3 * LEVELS])
@pytest.mark.parametrize("kind", [ValueError, OSError, SystemExit, KeyboardInterrupt])
def test_an_error_comes_back_as_itself(kind: type[BaseException], depth: int) -> None:
    error = kind("stop")

    def fail() -> None:
        raise error

    gc.collect()
    with pytest.raises(kind) as caught:
        run(depth, fail)
    assert caught.value is error and str(error.args[0]).startswith(("stop", "backward of"))
    assert state.mode.grad
    assert run(3).tolist() == [2.0, 2.0]


def test_ctrl_c_reaches_the_walk_that_runs() -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread handles signals")
    me = threading.get_ident()
    running = threading.Event()
    stopped = []

    def interrupted() -> None:
        try:
            running.set()  # from here on the signal may come
            for _ in range(2000):  # until it arrives; not for ever if it does not
                time.sleep(0.01)
        except KeyboardInterrupt:
            stopped.append(threading.current_thread().name)
            raise

    def press() -> None:
        running.wait()
        signal.pthread_kill(me, signal.SIGINT)

    key = threading.Thread(target=press)
    key.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(3 * LEVELS, interrupted)
    finally:
        key.join()
    assert stopped == ["tinytensor nested walk"]
    assert run(3 * LEVELS).tolist() == [2.0, 2.0]


def test_without_threads_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run(LEVELS)
    monkeypatch.undo()
    assert run(LEVELS).tolist() == [2.0, 2.0]


def test_nothing_is_left_for_the_garbage_collector() -> None:
    run(2)
    gc.collect()
    gc.disable()
    try:
        run(3 * LEVELS)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_shallow_walks_stay_in_their_thread() -> None:
    found = []
    run(LEVELS // 2, lambda: found.append(threading.current_thread()))
    assert found == [threading.current_thread()]


def test_a_walk_without_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nesting, "MOST", 3)
    y = tt.ones(1, requires_grad=True) * 2
    y.grad_fn.register_hook(lambda *_: y.backward(retain_graph=True))
    with pytest.raises(RecursionError, match="never ends"):
        y.backward(retain_graph=True)
