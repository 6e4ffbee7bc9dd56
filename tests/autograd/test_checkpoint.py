"""utils.checkpoint: the same gradients with less memory, by running the function again."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import grad, scope
from tinytensor.errors import GradientError
from tinytensor.utils import checkpoint as module

checkpoint = partial(module.checkpoint, use_reentrant=False)
checkpoint_sequential = partial(module.checkpoint_sequential, use_reentrant=False)


def leaf(*shape: int, seed: int = 0) -> tt.Tensor:
    values = np.random.default_rng(seed).normal(size=shape)
    return tt.tensor(values, requires_grad=True)


W, B = leaf(4, 4, seed=1), leaf(4, seed=2)


def block(x: Any, scale: float = 1.0) -> Any:
    """Uses parameters of its own, and random numbers."""
    h = (x @ W + B).tanh()
    noise = tt.rand(4, dtype=tt.float64) > 0.5
    return h * noise * scale


def gradients_of(run: Any, x: Any, *parameters: Any) -> list[np.ndarray]:
    tt.manual_seed(0)
    y = run(x * 1.5)
    found = grad((y * y).sum(), (x, *parameters))
    return [g.numpy() for g in found]


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradients_are_those_of_the_plain_run(use_reentrant: Any) -> None:
    x = leaf(3, 4)
    plain = gradients_of(block, x, W, B)
    again = gradients_of(lambda v: checkpoint(block, v, use_reentrant=use_reentrant), x, W, B)
    for a, b in zip(plain, again):
        np.testing.assert_array_equal(a, b)


def test_backward_fills_grad_of_inputs_and_parameters() -> None:
    x, w = leaf(3, 4), leaf(4, 4)
    checkpoint(lambda v: (v @ w).tanh(), x, use_reentrant=False).sum().backward()
    found = x.grad.numpy(), w.grad.numpy()
    x.grad = w.grad = None
    (x @ w).tanh().sum().backward()
    np.testing.assert_array_equal(found[0], x.grad.numpy())
    np.testing.assert_array_equal(found[1], w.grad.numpy())


def test_nested() -> None:
    x = leaf(3, 4)

    def two(v: Any) -> Any:
        return checkpoint(block, checkpoint(block, v) * 2)

    plain = gradients_of(lambda v: block(block(v) * 2), x, W, B)
    for run in (two, lambda v: checkpoint(two, v)):
        for a, b in zip(plain, gradients_of(run, x, W, B)):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_keyword_arguments_and_other_values() -> None:
    def function(x: Any, name: str, pair: tuple, *, by: Any, flag: bool) -> Any:
        assert name == "name" and flag
        return (x * pair[0] + pair[1] * by).sum()

    x, a, b = leaf(2), leaf(2, seed=1), leaf(2, seed=2)
    args, options = (x, "name", (a, 3)), {"by": b, "flag": True}
    expected = grad(function(*args, **options), (x, a, b))  # type: ignore[arg-type]
    found = grad(checkpoint(function, *args, **options), (x, a, b))
    for g, h in zip(expected, found):
        np.testing.assert_array_equal(g.numpy(), h.numpy())


def test_outputs_of_any_structure() -> None:
    x = leaf(3)

    def function(v: Any) -> dict:
        h = v * 2
        return {"pair": (h, h.tanh()), "list": [v, v.argmax()], "other": "text", "twice": h}

    out = checkpoint(function, x)
    assert out["other"] == "text" and out["list"][0] is x and not out["list"][1].requires_grad
    assert isinstance(out["pair"], tuple) and out["pair"][1].grad_fn.name() == "CheckpointBackward"
    (out["pair"][1].sum() + out["twice"].sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * (1 - np.tanh(2 * x.detach().numpy()) ** 2) + 2)


def test_tensors_of_the_outer_graph_used_by_the_function() -> None:
    """Their gradient flows on, and through them to what they depend on, once."""
    x, w = leaf(3), leaf(3, seed=1)
    outer = w * w

    def function(v: Any) -> Any:
        return v * outer * w

    expected = grad(function(x * 2).sum(), (x, w), retain_graph=True)
    found = grad(checkpoint(function, x * 2).sum(), (x, w))
    for g, h in zip(expected, found):
        np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-14)


def test_second_derivatives() -> None:
    x, w = leaf(3), leaf(3, seed=1)

    def function(v: Any) -> Any:
        return (v * w).tanh() * v

    results = []
    for run in (function, lambda v: checkpoint(function, v)):
        first = grad(run(x * 2).sum(), (x, w), create_graph=True)
        results.append(grad(sum((g * g).sum() for g in first), (x, w)))
    for g, h in zip(*results):
        np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-12)


def test_random_state() -> None:
    def noisy(v: Any) -> Any:
        return v * tt.rand(50, dtype=tt.float64)

    x = tt.ones(50, dtype=tt.float64, requires_grad=True)
    tt.manual_seed(1)
    y = checkpoint(noisy, x)
    after = tt.rand(3)  # the draws between forward and backward are not disturbed
    y.sum().backward()
    later = tt.rand(3)
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())  # the same noise
    tt.manual_seed(1)
    tt.rand(50, dtype=tt.float64)
    assert after.tolist() == tt.rand(3).tolist() and later.tolist() == tt.rand(3).tolist()

    x.grad = None
    y = checkpoint(noisy, x, preserve_rng_state=False)
    y.sum().backward()
    assert not np.array_equal(x.grad.numpy(), y.detach().numpy())


def test_runs_twice_only_when_differentiated() -> None:
    calls = []

    def function(v: Any) -> Any:
        calls.append(tt.is_grad_enabled())
        return v * v

    x = leaf(2)
    with tt.no_grad():
        assert not checkpoint(function, x).requires_grad
    assert calls == [False]
    assert not checkpoint(function, x.detach()).requires_grad
    assert calls == [False, True]
    checkpoint(function, x).sum().backward()
    assert calls == [False, True, True, True]


def test_context_fn() -> None:
    from contextlib import contextmanager

    log = []

    @contextmanager
    def note(what: str) -> Any:
        log.append(what)
        yield

    y = checkpoint(lambda v: v * 2, leaf(2), context_fn=lambda: (note("first"), note("again")))
    assert log == ["first"]
    y.sum().backward()
    assert log == ["first", "again"]


def test_hooks_of_what_goes_in_run_once() -> None:
    x, w = leaf(2), leaf(2, seed=1)
    seen = []
    h = x * 2
    for name, tensor in (("x", x), ("w", w), ("h", h)):
        tensor.register_hook(lambda g, name=name: seen.append(name))
    h.retain_grad()

    def function(v: Any) -> Any:
        y = v * w
        y.register_hook(lambda g: seen.append("inside"))
        return y * 3

    checkpoint(function, h).sum().backward()
    assert sorted(seen) == ["h", "inside", "w", "x"]
    np.testing.assert_allclose(h.grad.numpy(), 3 * w.detach().numpy())


def test_scope_is_that_of_the_forward_pass() -> None:
    seen = []

    def function(v: Any) -> Any:
        y = v * 2
        seen.append(y.grad_fn.scope)
        return y

    with scope("block"):
        y = checkpoint(function, leaf(2))
    y.sum().backward()
    assert seen == ["block", "block"]


def test_retain_graph_and_a_second_backward() -> None:
    x = leaf(2)
    y = checkpoint(lambda v: v * v, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * x.detach().numpy())
    with pytest.raises(GradientError, match="checkpoint.*second time.*retain_graph"):
        y.backward()


def test_a_changed_input_is_noticed() -> None:
    x = leaf(2)
    h = x * 1
    y = checkpoint(lambda v: v + 1, h)
    with tt.no_grad():
        h.add_(1)
    with pytest.raises(GradientError, match="checkpoint.*changed in place.*version 1, expected 0"):
        y.sum().backward()


def test_a_function_that_does_something_else_is_noticed() -> None:
    x, w = leaf(2), leaf(2, seed=1)
    runs = []

    def function(v: Any) -> Any:
        runs.append(1)
        return v * 2 if len(runs) == 1 else v * w

    with pytest.raises(GradientError, match="checkpoint.*other tensors"):
        checkpoint(function, x).sum().backward()
    shapes = [(2,), (3,)]
    with pytest.raises(GradientError, match=r"checkpoint.*output 0.*\(2,\)"):
        checkpoint(lambda v: v.sum() * tt.ones(shapes.pop(0)), x).sum().backward()


def peak(run: Any) -> int:
    """Bytes at the highest point, beyond what was there before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_less_memory() -> None:
    size, steps, parts = 100_000, 10, 8  # 80 activations of 0.8 MB
    x = tt.ones(size, dtype=tt.float64, requires_grad=True)

    def part(v: Any) -> Any:
        for _ in range(steps):
            v = v.tanh()
        return v

    def plain() -> None:
        y = x
        for _ in range(parts):
            y = part(y)
        y.sum().backward()

    def checkpointed() -> None:
        y = x
        for _ in range(parts):
            y = checkpoint(part, y)
        y.sum().backward()

    unit = x.array.nbytes
    plain()  # once for what is allocated the first time
    x.grad = None
    without = peak(plain) / unit
    x.grad = None
    with_checkpoints = peak(checkpointed) / unit
    assert without >= parts * steps
    assert with_checkpoints <= parts + steps + 8


@pytest.mark.parametrize("segments", [1, 2, 3, 7])
def test_sequential(segments: int) -> None:
    ws = [leaf(4, seed=i) for i in range(7)]
    calls: list[int] = []

    def layer(i: int) -> Any:
        def forward(v: Any) -> Any:
            calls.append(i)
            return (v * ws[i]).tanh()

        return forward

    layers = [layer(i) for i in range(7)]
    x = leaf(4)
    expected = x
    for function in layers:
        expected = function(expected)
    reference = grad(expected.sum(), (x, *ws))
    calls.clear()
    y = checkpoint_sequential(layers, segments, x, use_reentrant=False)
    np.testing.assert_array_equal(y.detach().numpy(), expected.detach().numpy())
    for g, h in zip(reference, grad(y.sum(), (x, *ws))):
        np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-14)
    again = 7 // segments * (segments - 1)  # all parts but the last
    assert len(calls) == 7 + again


def test_sequential_needs_functions_enough() -> None:
    with pytest.raises(ValueError, match="checkpoint_sequential: got 3 segments for 2 functions"):
        checkpoint_sequential([tt.tanh, tt.tanh], 3, leaf(2))


def test_a_hook_of_one_output_may_run_backward_through_another() -> None:
    x = leaf(3)

    def both(x: Any) -> tuple:
        h = x.sin()
        return h, h.exp()

    h, y = checkpoint(both, x, use_reentrant=False)
    calls = []

    def hook(inputs: tuple, outputs: tuple) -> None:
        calls.append((inputs[0].numpy(), outputs[0].numpy()))
        h.backward(tt.ones_like(h), retain_graph=True)

    y.grad_fn.register_hook(hook)
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
    y.sum().backward()
    assert len(calls) == 1
    values = x.detach().numpy()
    expected = np.cos(values) * (1 + 2 * np.exp(np.sin(values)))
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_the_flag_should_be_passed() -> None:
    with pytest.warns(UserWarning, match="checkpoint: the use_reentrant parameter should be"):
        module.checkpoint(lambda v: v * 2, leaf(2))
    with pytest.warns(UserWarning, match="checkpoint_sequential: the use_reentrant parameter"):
        module.checkpoint_sequential([tt.tanh, tt.sin], 2, leaf(2))


@pytest.mark.parametrize("dtype", [tt.bfloat16, tt.float16])
@pytest.mark.parametrize("inside", [True, False])
def test_the_second_run_has_the_autocast_of_the_first(inside: bool, dtype: Any) -> None:
    """Whatever autocast is on when backward runs."""
    x = leaf(3, 3).detach().float().requires_grad_()
    found = []

    def function(v: Any) -> Any:
        y = tt.mm(v, v)
        found.append(y.dtype)
        return y

    with tt.autocast("cpu", dtype=dtype, enabled=inside):
        plain = grad(function(x).float().sum(), x)
        y = checkpoint(function, x).float().sum()
    with tt.autocast("cpu", dtype=dtype, enabled=not inside):
        again = grad(y, x)
        assert tt.is_autocast_enabled("cpu") is not inside
    assert found == [dtype if inside else tt.float32] * 3
    np.testing.assert_array_equal(plain[0].numpy(), again[0].numpy())
