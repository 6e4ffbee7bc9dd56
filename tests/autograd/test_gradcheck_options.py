"""gradcheck's batched options, and PyTorch's old Jacobian functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import gradcheck
from tinytensor.autograd.gradcheck import get_analytical_jacobian, get_numerical_jacobian
from tinytensor.errors import GradcheckError


def double(*shape: int, dtype: Any = tt.float64) -> tt.Tensor:
    values = np.random.default_rng(0).normal(size=shape)
    return tt.tensor(values, dtype=dtype, requires_grad=True)


FUNCTIONS: dict[str, tuple[Callable, tuple]] = {
    "one input": (lambda x: x.sin() * x, (double(3),)),
    "a matrix": (lambda x: x @ x.T, (double(2, 3),)),
    "a number beside it": (lambda x, n: x * n, (double(2), 3)),
    "two outputs": (lambda x: (x.exp(), x.sum()), (double(2),)),
    "an unused input": (lambda x, y: x * 2, (double(2), double(3))),
    "an untracked input": (lambda x, y: x * y, (double(2), double(2).detach())),
    "complex": (lambda x: x * x, (double(2, dtype=tt.complex128),)),
    "0-d": (lambda x: x.tanh(), (double(),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batched_options_accept_right_rules(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    options = {"check_batched_grad": True, "check_batched_forward_grad": True}
    assert gradcheck(function, inputs, check_forward_ad=True, **options)


class Random(tt.autograd.Function):
    """y = 2x, with random numbers drawn in its rules."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        tt.randn(2)
        return g * 2

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        tt.randn(2)
        return t * 2


class ByCalls(tt.autograd.Function):
    """y = x; the rules return twice the gradient after some calls."""

    calls = limit = 0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ByCalls.calls += 1
        return g * (2 if ByCalls.calls > ByCalls.limit else 1)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        ByCalls.calls += 1
        return t * (2 if ByCalls.calls > ByCalls.limit else 1)


@pytest.mark.parametrize("forward", [False, True])
def test_a_rule_that_differs_in_a_batch_is_noticed(forward: bool) -> None:
    x = double(1)
    options = {"check_forward_ad": forward, "check_backward_ad": not forward}
    if forward:
        with pytest.raises(GradcheckError, match="forward of a batch .vmap. failed"):
            gradcheck(Random.apply, (x,), check_batched_forward_grad=True, **options)
        assert gradcheck(Random.apply, (x,), **options)
    # The check itself takes one call (backward: two), the loop two, then comes the batch.
    ByCalls.calls, ByCalls.limit = 0, 3 if forward else 4
    batched = {"check_batched_grad": not forward, "check_batched_forward_grad": forward}
    with pytest.raises(GradcheckError, match="differs between a batch"):
        gradcheck(ByCalls.apply, (x,), **batched, **options)
    ByCalls.calls = 0
    assert not gradcheck(ByCalls.apply, (x,), raise_exception=False, **batched, **options)
    ByCalls.calls = 0
    assert gradcheck(ByCalls.apply, (x,), **options)


def test_old_jacobians_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(1).normal(size=(2, 2, 2))

    def run(library: Any, numerical: Callable, analytical: Callable) -> list:
        a, b = (library.tensor(v, requires_grad=True) for v in values)

        def function(x: Any, y: Any) -> Any:
            return x.exp() * y, x + 2 * y

        with pytest.warns(FutureWarning, match="was part of PyTorch's private API"):
            first = numerical(lambda pair: function(*pair), (a, b), eps=1e-6)
            of_a = numerical(lambda pair: function(*pair), (a, b), target=a, eps=1e-6)
            found, *flags = analytical((a, b), function(a, b)[0])
            with pytest.raises(ValueError, match="Expected grad_out to be 1.0"):
                numerical(lambda pair: function(*pair), (a, b), grad_out=2.0)
            with pytest.raises(ValueError, match="Expected grad_out to be 1.0"):
                analytical((a, b), function(a, b)[0], grad_out=2.0)
        return [*first, of_a[0], *found, np.array(flags)]

    theirs = torch.autograd.gradcheck.__globals__
    expected = run(torch, theirs["get_numerical_jacobian"], theirs["get_analytical_jacobian"])
    found = run(tt, get_numerical_jacobian, get_analytical_jacobian)
    assert len(expected) == len(found)
    for a, b in zip(expected, found):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-8)


def test_an_analytical_jacobian_that_is_not_reproducible() -> None:
    class Noisy(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (1 + tt.rand_like(g) * 1e-3)

    x = double(2)
    with pytest.warns(FutureWarning):
        assert not get_analytical_jacobian((x,), Noisy.apply(x))[1]
        assert get_analytical_jacobian((x,), Noisy.apply(x), nondet_tol=1e-2)[1]


def test_vmap_under_its_old_path() -> None:
    from tinytensor._vmap_internals import _vmap

    x = double(3, 2)
    np.testing.assert_allclose(
        _vmap(lambda v: v.sum() * v, 0, 0)(x).detach().numpy(),
        (x.sum(1, keepdim=True) * x).detach().numpy(),
    )


def test_samples_of_vmap_can_be_written_to() -> None:
    def function(v: Any) -> Any:
        v.mul_(2)
        return v + 1

    x = double(3, 2)
    tt.func.vmap(function)(x * 1).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((3, 2), 2.0))
